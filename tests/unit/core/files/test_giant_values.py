"""Sizes that a schema in a file says, of values that are not there: they take no memory, however many rows."""

from __future__ import annotations

import io
import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files import log_contents
from spark_jobs.core.files.base_file import open_base_file, read_batches
from spark_jobs.core.files.log_block import BlockType, HeaderKey, encode_block
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.metadata_table.records import FILES
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from tests.unit.core.damage import bounded_memory

pytestmark = pytest.mark.unit

GIANT = 2**31 - 1


def records_of(schema: dict[str, Any], record: bytes, count: int) -> bytes:
    """An Avro block with so many equal records."""
    content = struct.pack(">ii", 3, count) + (struct.pack(">i", len(record)) + record) * count
    return encode_block(BlockType.AVRO_DATA_BLOCK, {HeaderKey.SCHEMA: json.dumps(schema)}, content)


def rows_of(block: bytes) -> pa.Table:
    return read_rows(next(iter(read_blocks(block))))


def optional(size: int) -> list[Any]:
    return ["null", {"type": "fixed", "name": "f", "size": size}]


FLAT = optional(GIANT)
IN_STRUCT = ["null", {"type": "record", "name": "s", "fields": [{"name": "f", "type": optional(GIANT)[1]}]}]
IN_ITEMS = {"type": "array", "items": FLAT}
BEYOND_COLUMNS = {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 0}
"""Beside it fastavro reads the records."""


@pytest.mark.parametrize(
    ("kinds", "record"),
    [
        ([FLAT], b"\0"),
        ([IN_STRUCT], b"\0"),
        ([IN_ITEMS], b"\x06\0\0\0\0"),
        ([FLAT, BEYOND_COLUMNS], b"\0\2\7"),
        ([IN_STRUCT, BEYOND_COLUMNS], b"\0\2\7"),
        ([IN_ITEMS, BEYOND_COLUMNS], b"\x06\0\0\0\0\2\7"),
    ],
)
@pytest.mark.parametrize("count", [1, 1000])
def test_giant_values_that_are_all_null_take_no_memory(kinds: list[Any], record: bytes, count: int) -> None:
    fields = [{"name": f"c{number}", "type": kind} for number, kind in enumerate(kinds)]
    block = records_of({"type": "record", "name": "r", "fields": fields}, record, count)
    with bounded_memory(8 << 20), pytest.raises(UnsupportedTableError, match="null values of a fixed size would take"):
        rows_of(block)


def test_giant_values_that_a_block_lacks_take_no_memory() -> None:
    block = records_of({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, b"\2", 1000)
    target = pa.schema([("a", pa.int32()), ("b", pa.struct([("c", pa.binary(GIANT))]))])
    with bounded_memory(8 << 20), pytest.raises(UnsupportedTableError, match="null values of a fixed size would take"):
        read_rows(next(iter(read_blocks(block))), target)


@cache
def _giants(size: int, rows: int) -> bytes:
    """Less than a kilobyte."""
    sink = io.BytesIO()
    table = pa.table({"id": list(range(rows)), "f": pa.nulls(rows, pa.binary(size))})
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return sink.getvalue()


def test_giant_values_of_a_parquet_file_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(_giants(1 << 20, 200))
    with bounded_memory(8 << 20), pytest.raises(UnsupportedTableError, match="null values of a fixed size would take"):
        open_base_file(LocalStorage(), str(path))
    path.write_bytes(_giants(200, 2000))
    assert [batch.num_rows for batch in read_batches(open_base_file(LocalStorage(), str(path)))] == [2000]


def test_giant_values_of_a_parquet_block_take_no_memory() -> None:
    block = encode_block(BlockType.PARQUET_DATA_BLOCK, {HeaderKey.SCHEMA: "{}"}, _giants(1 << 20, 200))
    with bounded_memory(8 << 20), pytest.raises(UnsupportedTableError, match="null values of a fixed size would take"):
        rows_of(block)


def test_equal_values_of_a_parquet_block_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": np.zeros(1 << 20, np.int64)}), sink, compression="zstd")
    block = encode_block(BlockType.PARQUET_DATA_BLOCK, {HeaderKey.SCHEMA: "{}"}, sink.getvalue())
    assert len(block) < 8192
    assert rows_of(block).num_rows == 1 << 20
    monkeypatch.setattr(log_contents, "MOST_BYTES", 4 << 20)
    with bounded_memory(6 << 20), pytest.raises(UnsupportedTableError, match="take more than 4194304 bytes of memory"):
        rows_of(block)


def test_giant_values_that_rows_lack_take_no_memory() -> None:
    with bounded_memory(1 << 20), pytest.raises(UnsupportedTableError, match="2000 null values of the type"):
        conform(pa.table({"a": range(2000)}), pa.schema([("b", pa.binary(1 << 20))]))


@pytest.mark.parametrize("size", [16, 200])
def test_values_of_a_fixed_size_that_are_nearly_always_null(size: int) -> None:
    fields = [{"name": "key", "type": "string"}, {"name": "hash", "type": optional(size)}]
    block = records_of({"type": "record", "name": "r", "fields": fields}, b"\x04k1\0", 2000)
    rows = rows_of(block)
    assert rows.schema.field("hash").type == pa.binary(size)
    assert (rows.num_rows, rows.column("hash").null_count) == (2000, 2000)


def test_a_schema_whose_values_take_no_bytes_is_none() -> None:
    """Sixteen fields of sixteen fields of ...: a record of one byte would be a hundred thousand values."""
    kind: Any = "null"
    for level in range(4):
        inner = {"type": "record", "name": f"r{level}", "fields": [{"name": "a0", "type": kind}]}
        inner["fields"] += [{"name": f"a{n}", "type": f"r{level - 1}" if level else "null"} for n in range(1, 16)]
        kind = inner
    schema = {"type": "record", "name": "top", "fields": [{"name": "a", "type": kind}, {"name": "b", "type": "int"}]}
    with pytest.raises(CorruptTableError, match="an Avro schema has 65536 values that take no bytes"):
        rows_of(records_of(schema, b"\2", 10))
    with pytest.raises(CorruptTableError, match="65536 values that take no bytes"):
        FILES.decode(b"\2", json.dumps(schema), "x")
    with bounded_memory(4 << 20), pytest.raises(CorruptTableError, match="65536 values that take no bytes"):
        decode_payload(container_of(schema, b"\2"), "x")


def container_of(schema: dict[str, Any], record: bytes) -> bytes:
    """An object container file of one record."""
    text = json.dumps(schema).encode()
    length = io.BytesIO()
    fastavro.schemaless_writer(length, {"type": "long"}, len(text))
    meta = b"\2\x16avro.schema" + length.getvalue() + text + b"\0"
    return b"Obj\1" + meta + bytes(16) + bytes([2, 2 * len(record)]) + record + bytes(16)
