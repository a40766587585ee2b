"""Every parser of files, given damaged ones that Hudi or we wrote, and bytes of no kind: an error of ours, soon, and
with memory of a small multiple of the file's size.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError
from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.locks.owner import parse_owner
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.indexes import top_columns
from spark_jobs.core.metadata_table.records import FILES
from spark_jobs.core.schema.avro import arrow_schema_of
from tests.support.parsers import PARSERS, STORAGE, at, kept_inputs, small_parquet
from tests.support.payloads import commit_in
from tests.unit.core.damage import bounded_memory, damaged

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", PARSERS)
def test_whole_files_are_read(name: str) -> None:
    """Or there would be nothing to spoil."""
    for seed in (*PARSERS[name].seeds(), *kept_inputs(name)):
        with suppress(HudiError):  # a lock is held, a key is not in an index
            PARSERS[name].parse(seed)


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=60, deadline=4000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_damage_is_an_error_of_ours(name: str, data: st.DataObject) -> None:
    seeds = PARSERS[name].seeds()
    assert seeds, name
    file = data.draw(st.one_of(damaged(data.draw(st.sampled_from(seeds))), st.binary(max_size=200)))
    with bounded_memory((8 << 20) + 100 * len(file)), suppress(HudiError):
        PARSERS[name].parse(file)


def test_a_column_whose_name_is_no_text_is_damage() -> None:
    with pytest.raises(CorruptTableError, match=r"a\.parquet is not readable \(.*can't decode"):
        at("t/a.parquet", lambda folder: open_base_file(STORAGE, str(folder / "t" / "a.parquet")))(
            small_parquet().replace(b"\x02id", b"\x02i\xdf")
        )


def test_a_chunk_whose_column_is_no_text_is_damage() -> None:
    """Its name stands beside the chunk too. Found by ``tests/fuzz``."""
    schema, _, chunks = small_parquet().rpartition(b"ts")
    with pytest.raises(CorruptTableError, match=r"a\.parquet is damaged \(.*can't decode"):
        at("t/a.parquet", lambda folder: read_footer_stats(STORAGE, str(folder / "t" / "a.parquet"), ["ts"]))(
            schema + b"\x9fs" + chunks
        )


DEEP = 20_000


@pytest.mark.parametrize("name", PARSERS)
def test_json_without_end_is_an_error_of_ours(name: str) -> None:
    for data in (b"[" * DEEP, b'{"a":' * DEEP, b'{"owner":' * DEEP, b'{"schemas":' + b"[" * DEEP):
        with suppress(HudiError):
            PARSERS[name].parse(data)


@pytest.mark.parametrize("depth", [50, 300, 450, 900, 5000])
@pytest.mark.parametrize("part", ["items", "values"])
def test_an_avro_schema_that_is_nested_deeply(depth: int, part: str) -> None:
    kind: object = "int"
    for _ in range(depth):
        kind = {"type": "array" if part == "items" else "map", part: kind}
    with suppress(HudiError):
        arrow_schema_of({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]})


def test_what_is_told_of_json_without_end() -> None:
    with pytest.raises(CorruptTableError, match=r"x is not commit metadata \(maximum recursion depth"):
        commit_in(b"[" * DEEP)
    with pytest.raises(CorruptTableError, match="the schema to index the columns of is none"):
        top_columns("[" * DEEP)
    assert parse_owner(b"[" * DEEP) is None


@pytest.mark.parametrize("kind", ["null", {"type": "record", "name": "e", "fields": []}])
def test_a_schema_of_arrays_that_take_no_bytes_is_none(kind: object) -> None:
    """A count of 2^40 of them would be a loop without end in three bytes."""
    field = {"name": "a", "type": {"type": "array", "items": kind}}
    schema = json.dumps({"type": "record", "name": "r", "fields": [field]})
    with pytest.raises(CorruptTableError, match="no Avro schema"):
        FILES.decode(bytes.fromhex("8080808080808001"), schema, "x")
