"""Commit metadata and write stats: round trips, Hudi's own JSON, and what is refused."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.storage import join
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat
from tests.support.payloads import commit_in, stored

pytestmark = pytest.mark.unit

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NAME = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12).filter(
    lambda text: text not in (".", "..")
)
PARTITION = st.lists(NAME, max_size=2).map("/".join)
COUNT = st.integers(0, 1 << 50)


@st.composite
def write_stats(draw: st.DrawFn) -> WriteStat:
    partition = draw(PARTITION)
    paths = NAME.map(lambda name: join(partition, name))
    plain = {field.name: draw(COUNT) for field in fields(WriteStat) if field.type == "int"}
    common: dict[str, Any] = {
        **plain,
        "file_id": draw(NAME),
        "path": draw(st.none() | paths),
        "partition_path": partition,
        "prev_commit": draw(TEXT),
        "cdc_stats": draw(st.none() | st.dictionaries(paths, COUNT)),
        "min_event_time": draw(st.none() | COUNT),
        "runtime_stats": draw(st.none() | st.dictionaries(TEXT, COUNT)),
    }
    if draw(st.booleans()):
        names = tuple(draw(st.lists(NAME, max_size=3)))
        return WriteStat(**common | {"log_version": draw(COUNT), "base_file": draw(NAME), "log_files": names})
    return WriteStat(**common | {"log_offset": 0})


@given(st.lists(write_stats(), max_size=4), st.sampled_from(OperationType), st.booleans())
def test_round_trip(stats: list[WriteStat], operation: OperationType, compacted: bool) -> None:
    by_partition: dict[str, list[WriteStat]] = {}
    for stat in stats:
        by_partition.setdefault(stat.partition_path, []).append(stat)
    metadata = CommitMetadata(
        write_stats=tuple(stat for some in by_partition.values() for stat in some),
        operation_type=operation,
        compacted=compacted,
        extra_metadata={"schema": "{}", "nothing": None, "é": "你"},
        replaced_file_ids={"p": ("a", "b"), "": ()} if compacted else None,
    )
    assert commit_in(stored(metadata.payload())) == metadata


def test_the_json_of_a_new_base_file() -> None:
    stat = WriteStat(file_id="f-0", path="p/f", partition_path="p", num_writes=3, num_inserts=3)
    raw = json.loads(stored(CommitMetadata(write_stats=(stat,), operation_type=OperationType.INSERT).payload()))
    assert list(raw) == ["partitionToWriteStats", "compacted", "extraMetadata", "operationType"]
    written = raw["partitionToWriteStats"]["p"][0]
    assert written["prevCommit"] == "null"
    assert (written["numWrites"], written["tempPath"], "logVersion" in written) == (3, None, False)


def test_what_hudi_writes_of_an_append() -> None:
    raw = {
        "partitionToWriteStats": {
            "p": [
                {
                    "fileId": "f-0",
                    "path": "p/.f-0_1.log.1_0-1-1",
                    "prevCommit": "1",
                    "numWrites": 2,
                    "partitionPath": "p",
                    "logVersion": 1,
                    "logOffset": 0,
                    "baseFile": "b.parquet",
                    "logFiles": [".f-0_1.log.1_0-1-1"],
                    "recordsStats": {"val": None},
                    "aFieldOfTomorrow": {},
                }
            ]
        },
        "compacted": False,
        "extraMetadata": {"schema": "s"},
        "operationType": "UPSERT",
        "totalLogRecordsCompacted": 0,
    }
    found = commit_in(json.dumps(raw).encode())
    (stat,) = found.write_stats
    assert stat.is_log_append
    assert (stat.file_name, stat.log_files) == (".f-0_1.log.1_0-1-1", (".f-0_1.log.1_0-1-1",))
    assert found.touched_file_groups() == {("p", "f-0")}
    assert found.schema_text == "s"


def test_touched_groups_are_those_written_and_those_replaced() -> None:
    found = CommitMetadata(
        write_stats=(
            WriteStat(file_id="new", path="p/new", partition_path="p"),
            WriteStat(file_id="", path=None, partition_path="p"),
        ),
        replaced_file_ids={"p": ("old",), "q": ("older",)},
    )
    assert found.touched_file_groups() == {("p", "new"), ("p", "old"), ("q", "older")}


def test_an_empty_file_is_an_empty_commit() -> None:
    assert commit_in(b" \n") == CommitMetadata()


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"7",
        b"\xff",
        b'{"operationType": "DANCE"}',
        b'{"partitionToWriteStats": {"p": null}}',
        b'{"partitionToWriteStats": {"p": [1]}}',
    ],
)
def test_what_is_no_commit_metadata(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match=r"1\.commit is not commit metadata"):
        commit_in(data, "1.commit")
