"""Data blocks of all three kinds: what goes in comes out, within the sizes asked for."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, ConfigError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.log_block import BlockType, HeaderKey, LogBlock, encode_block
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_format import DEFAULT_LOG_FORMAT, log_format
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.log_writer import data_blocks, schema_text
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields
from spark_jobs.core.schema.meta_fields import META_FIELDS, RECORD_KEY
from tests.unit.core.files.avro_records import records
from tests.unit.core.logs import scan_log_files

pytestmark = pytest.mark.unit

AVRO, PARQUET, HFILE = BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK, BlockType.HFILE_DATA_BLOCK
KINDS = [AVRO, PARQUET, HFILE]
T1 = "20240101000000001"
SCHEMA_TEXT = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int64()), ("text", pa.string())]), "t"))
ROWS = 3000


def blocks_of(rows: pa.Table, avro: dict[str, Any], kind: BlockType, **changes: Any) -> list[LogBlock]:
    chosen = replace(DEFAULT_LOG_FORMAT, data_block=kind, **changes)
    made = list(data_blocks(rows, avro, T1, chosen))
    content = b"".join(piece for block in made for piece in block.pieces)
    assert sum(block.size for block in made) == len(content)
    found = list(read_blocks(content))
    assert [block.type for block in found] == [kind] * len(made)
    assert [read_rows(block).num_rows for block in found] == [block.records for block in made]
    return found


def keyed(rows: pa.Table) -> pa.Table:
    """The rows with meta columns in front, keys ascending."""
    keys = pa.array([f"k{number:06d}" for number in range(rows.num_rows)], pa.string())
    for name in reversed(META_FIELDS):
        rows = rows.add_column(0, name, keys if name == RECORD_KEY else pa.nulls(rows.num_rows, pa.string()))
    return rows


def some_rows(count: int = ROWS) -> pa.Table:
    texts = [f"text {number * 7919 % 1000003}" for number in range(count)]
    return keyed(pa.table({"id": pa.array(range(count), pa.int64()), "text": texts}))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(drawn=records(depth=2))
def test_any_rows_come_back_equal(kind: BlockType, drawn: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    schema, values = drawn
    avro = with_meta_fields(schema)
    rows = keyed(pa.Table.from_pylist(values, schema=arrow_schema_of(schema)))
    found = blocks_of(rows, avro, kind)
    assert len(found) == min(len(values), 1)
    for block in found:
        assert read_rows(block, arrow_schema_of(avro)).equals(rows.cast(arrow_schema_of(avro)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1, 20_000, 60_000])
def test_blocks_stay_within_the_limit(kind: BlockType, limit: int) -> None:
    rows = some_rows(40 if limit == 1 else ROWS)
    found = blocks_of(rows, SCHEMA_TEXT, kind, max_block_bytes=limit, hfile_compression=Compression.NONE)
    assert len(found) == 40 if limit == 1 else len(found) > 1
    assert all(block.content_length <= limit or read_rows(block).num_rows == 1 for block in found)
    assert (
        pa.concat_tables([read_rows(block) for block in found])
        .select(["id", "text"])
        .equals(rows.select(["id", "text"]))
    )


def test_no_rows_give_no_block() -> None:
    for kind in KINDS:
        assert blocks_of(some_rows(0), SCHEMA_TEXT, kind) == []


def test_columns_are_pruned_and_resolved_in_all_kinds() -> None:
    target = pa.schema([("new", pa.float64()), ("id", pa.string())])
    for kind in KINDS:
        [block] = blocks_of(some_rows(3), SCHEMA_TEXT, kind)
        assert read_rows(block, target).to_pylist() == [{"new": None, "id": str(number)} for number in range(3)]


def test_parquet_blocks_have_the_footer_of_hudi() -> None:
    [block] = blocks_of(some_rows(3), SCHEMA_TEXT, PARQUET)
    with block.open_content() as content:
        file = pq.ParquetFile(content)
        assert file.metadata.metadata == {
            b"parquet.avro.schema": schema_text(SCHEMA_TEXT).encode(),
            b"writer.model.name": b"avro",
        }
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert json.loads(block.schema_json) == SCHEMA_TEXT


def test_parquet_blocks_are_read_by_columns() -> None:
    rows = some_rows(20_000)
    noise = pa.array([f"{number:0200d}" for number in range(20_000)])
    avro = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int64()), ("text", pa.string())]), "t"))
    [block] = blocks_of(rows.set_column(6, "text", noise), avro, PARQUET, codec="uncompressed")
    seen: list[int] = []

    class Counting(pa.BufferReader):
        def read(self, nbytes: int | None = None, /) -> bytes:
            found = super().read(nbytes)
            seen.append(len(found))
            return found

    whole = block.read_content()
    counted = replace(block, file=Counting(whole), content_start=0)  # type: ignore[arg-type]
    assert read_rows(counted, pa.schema([("id", pa.int64())])).num_rows == 20_000
    assert sum(seen) < len(whole) / 5


def test_rows_of_hfile_blocks_are_sorted_by_key_and_unique() -> None:
    rows = some_rows(100)
    [block] = blocks_of(rows.take(pa.array(range(99, -1, -1))), SCHEMA_TEXT, HFILE)
    assert read_rows(block)["id"].to_pylist() == list(range(100))
    with pytest.raises(BadRecordError, match="a key comes twice"):
        blocks_of(pa.concat_tables([rows, rows]), SCHEMA_TEXT, HFILE)


def test_keys_of_hfile_blocks_may_stand_beside_the_rows() -> None:
    rows = some_rows(3).set_column(2, RECORD_KEY, pa.nulls(3, pa.string()))
    log_format = replace(DEFAULT_LOG_FORMAT, data_block=HFILE)
    keys = pa.chunked_array([["c", "a", "b"]])
    [made] = data_blocks(rows, SCHEMA_TEXT, T1, log_format, keys)
    [block] = read_blocks(b"".join(made.pieces))
    assert read_rows(block)["id"].to_pylist() == [1, 2, 0]
    assert read_rows(block)[RECORD_KEY].null_count == 3


def test_a_column_named_key_keeps_its_values_in_hfile_blocks() -> None:
    avro = with_meta_fields(avro_schema_of(pa.schema([("key", pa.string())]), "t"))
    rows = keyed(pa.table({"key": ["k000000", "other", None]}))
    [block] = blocks_of(rows, avro, HFILE)
    assert read_rows(block)["key"].to_pylist() == ["k000000", "other", None]


def test_change_data_is_read_as_a_block_and_is_no_part_of_a_slice() -> None:
    image = {"type": "record", "name": "t", "fields": [{"name": "id", "type": "long"}]}
    avro = {
        "type": "record",
        "name": "CDC",
        "fields": [
            {"name": "op", "type": ["null", "string"], "default": None},
            {"name": "ts_ms", "type": ["null", "string"], "default": None},
            {"name": "before", "type": ["null", image], "default": None},
            {"name": "after", "type": ["null", "t"], "default": None},
        ],
    }
    values = [
        {"op": "u", "ts_ms": T1, "before": {"id": 1}, "after": {"id": 2}},
        {"op": "d", "ts_ms": T1, "before": {"id": 3}, "after": None},
    ]
    [plain] = blocks_of(pa.Table.from_pylist(values, schema=arrow_schema_of(avro)), avro, AVRO)
    content = encode_block(BlockType.CDC_DATA_BLOCK, plain.headers, plain.read_content())
    [block] = read_blocks(content)
    assert read_rows(block).to_pylist() == values
    with pytest.raises(UnsupportedTableError, match="CDC_DATA_BLOCK at byte 0 of log is change data"):
        scan_log_files([("log", lambda: pa.BufferReader(content))], lambda _: True, None, pa.schema([]))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_all_content_versions_of_avro_blocks_are_alike(version: int) -> None:
    [block] = blocks_of(some_rows(2), SCHEMA_TEXT, AVRO)
    content = version.to_bytes(4, "big") + block.read_content()[4:]
    [again] = read_blocks(encode_block(AVRO, block.headers, content))
    assert read_rows(again).equals(read_rows(block))


def test_headers_without_a_schema() -> None:
    for text in ("", "{", '"string"', "[" * 100_000, '{"type": "record", "name": "r", "fields": 1}'):
        headers = {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: text}
        [block] = read_blocks(encode_block(AVRO, headers, b"\0\0\0\3\0\0\0\0"))
        with pytest.raises((CorruptTableError, UnsupportedTableError)):
            read_rows(block, pa.schema([]))


def test_a_schema_that_explodes_when_its_names_are_resolved() -> None:
    fields: list[dict[str, Any]] = [{"name": "x", "type": "int"}]
    for depth in range(60):
        inner = {"type": "record", "name": f"r{depth}", "fields": fields}
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"r{depth}"}]
    text = json.dumps({"type": "record", "name": "top", "fields": fields})
    headers = {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: text}
    [block] = read_blocks(encode_block(AVRO, headers, b"\0\0\0\3\0\0\0\0"))
    with pytest.raises(CorruptTableError, match="more than 100000 types"):
        read_rows(block)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_damaged_contents_give_errors_of_the_table_alone(kind: BlockType, data: st.DataObject) -> None:
    [block] = blocks_of(some_rows(20), SCHEMA_TEXT, kind)
    content = bytearray(block.read_content())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 20))
    [damaged] = read_blocks(encode_block(kind, block.headers, bytes(content[: len(content) - cut])))
    with suppress(CorruptTableError, UnsupportedTableError):
        read_rows(damaged, arrow_schema_of(SCHEMA_TEXT))


def test_the_format_of_a_job() -> None:
    given = {
        "hoodie.logfile.data.block.format": "hfile",
        "hoodie.logfile.data.block.max.size": "1000",
        "hoodie.logfile.max.size": "5000",
        "hoodie.parquet.compression.codec": "gzip",
        "hoodie.hfile.compression.algorithm": "NONE",
    }
    found = log_format(given)
    assert (found.data_block, found.max_block_bytes, found.max_file_bytes) == (HFILE, 1000, 5000)
    assert (found.codec, found.hfile_compression) == ("gzip", Compression.NONE)
    assert log_format({}) == DEFAULT_LOG_FORMAT
    with pytest.raises(ConfigError, match=r"hoodie\.logfile\.data\.block\.format=orc is not valid"):
        log_format({"hoodie.logfile.data.block.format": "orc"})
    assert pc.max(pa.array([DEFAULT_LOG_FORMAT.max_block_bytes, DEFAULT_LOG_FORMAT.max_file_bytes])).as_py() == 1 << 30
