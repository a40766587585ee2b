"""Which index is advised, by literal facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.config.keys.index import IndexType
from spark_jobs.core.index.advice import Facts, LookUp, advise, as_text

pytestmark = pytest.mark.unit

FACTS = Facts(
    records=1000,
    sampled=1000,
    partitions_touched=2,
    partitions=3,
    files=4,
    bytes=400 << 20,
    files_touched=3,
    bytes_touched=300 << 20,
    log_bytes=0,
    overlap=1.0,
    buckets=12,
    bucketed=False,
    record_index=False,
)
NO_BUCKETS = LookUp(kind=IndexType.BUCKET, refused="file group x is no bucket")
NO_RECORDS = LookUp(kind=IndexType.RECORD_INDEX, refused="the table has none")


def look_ups(simple: int, bloom: int) -> list[LookUp]:
    return [
        LookUp(kind=IndexType.SIMPLE, files=("a/1", "a/2", "b/1"), size=simple),
        LookUp(kind=IndexType.BLOOM, files=("a/1",), size=bloom),
        NO_BUCKETS,
        LookUp(kind=IndexType.GLOBAL_SIMPLE, files=("a/1", "a/2", "b/1", "c/1"), size=simple * 2),
        LookUp(kind=IndexType.GLOBAL_BLOOM, files=("a/1", "c/1"), size=bloom * 2),
        NO_RECORDS,
    ]


def test_the_one_that_reads_least_of_the_scope_that_was_asked_for() -> None:
    assert advise(FACTS, IndexType.SIMPLE, look_ups(100, 10)).kind is IndexType.BLOOM
    assert advise(FACTS, IndexType.BLOOM, look_ups(10, 100)).kind is IndexType.SIMPLE
    assert advise(FACTS, IndexType.GLOBAL_SIMPLE, look_ups(100, 10)).kind is IndexType.GLOBAL_BLOOM
    assert advise(FACTS, IndexType.BLOOM, look_ups(10, 10)).kind is IndexType.BLOOM


def test_a_record_index_is_a_global_one() -> None:
    known = [*look_ups(100, 100)[:-1], LookUp(kind=IndexType.RECORD_INDEX, files=("m",), size=5)]
    facts = replace(FACTS, record_index=True)
    assert advise(facts, IndexType.GLOBAL_BLOOM, known).kind is IndexType.RECORD_INDEX
    assert advise(facts, IndexType.SIMPLE, known).kind is IndexType.SIMPLE


def test_a_bucketed_table_stays_one() -> None:
    advice = advise(replace(FACTS, bucketed=True), IndexType.SIMPLE, look_ups(100, 10))
    assert advice.kind is IndexType.BUCKET
    assert "12 file groups" in advice.reasons[1]


def test_a_new_table_gets_what_was_asked_for() -> None:
    facts = replace(FACTS, files=0, files_touched=0)
    assert advise(facts, IndexType.GLOBAL_BLOOM, []).kind is IndexType.GLOBAL_BLOOM


def test_ranges_are_told() -> None:
    side_by_side = advise(replace(FACTS, overlap=0.25), IndexType.SIMPLE, look_ups(100, 10))
    assert "25% of 3 files on average: ranges leave most of them out" in " ".join(side_by_side.reasons)
    large = advise(FACTS, IndexType.SIMPLE, look_ups(64 << 20, 32 << 20))
    assert large.reasons[:2] == (
        "BLOOM reads least to find the keys: 32.0 MB of 1 files",
        "SIMPLE would read 64.0 MB of 3 files",
    )
    assert "hoodie.metadata.record.index.enable" in large.reasons[-1]


def test_text_and_json() -> None:
    told = look_ups(100, 10)
    advice = advise(FACTS, IndexType.SIMPLE, told)
    lines = as_text(FACTS, IndexType.SIMPLE, advice, told)
    assert lines[0] == "1000 records for 2 of 3 partitions (all keys looked at)"
    assert [line[0] for line in lines[2:8]] == [" ", "*", " ", " ", " ", " "]
    assert lines[-1].startswith("use BLOOM (hoodie.index.type is SIMPLE): BLOOM reads least")
    assert told[1].to_dict() == {
        "index": "BLOOM",
        "possible": True,
        "files": 1,
        "bytes": 10,
        "opens": ["a/1"],
        "note": "",
    }
    assert NO_BUCKETS.to_dict() == {"index": "BUCKET", "possible": False, "reason": "file group x is no bucket"}
