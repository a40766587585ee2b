from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_schema import META_FIELDS, arrow_schema_of, avro_schema_of, with_meta_fields
from spark_jobs.core.files.log_block import MAGIC, BlockType, HeaderKey, encode_block
from spark_jobs.core.files.log_reader import LogData, LogScan, read_blocks, scan_log_files
from spark_jobs.core.files.log_writer import command_block, data_block, delete_block, schema_text

AVRO = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int64()), ("name", pa.string())]), "t"))
SCHEMA = arrow_schema_of(AVRO)
T1, T2, T3, T4, T5 = (f"2024010100000000{number}" for number in range(1, 6))


def rows(*ids: int) -> pa.Table:
    meta = {name: [f"{name}{number}" for number in ids] for name in META_FIELDS}
    return pa.table({**meta, "id": list(ids), "name": [None if number % 2 else "é" * number for number in ids]})


def data(instant: str, *ids: int) -> bytes:
    return data_block(rows(*ids), AVRO, instant)


def deletes(instant: str, *keys: str) -> bytes:
    return delete_block(pa.array(keys, pa.string()), "p", None, instant, schema_text(AVRO))


def scan(
    *files: bytes,
    valid: Callable[[str], bool] = lambda instant: True,
    max_instant: str | None = None,
    schema: pa.Schema = SCHEMA,
) -> LogScan:
    named = [
        (f"log.{number}", lambda content=content: pa.BufferReader(content)) for number, content in enumerate(files)
    ]
    return scan_log_files(named, valid, max_instant, schema)


def seen(result: LogScan) -> list[tuple[str, list[Any]]]:
    return [
        (entry.instant, entry.table["id"].to_pylist() if isinstance(entry, LogData) else entry.keys.to_pylist())
        for entry in result.entries
    ]


def test_delete_block_has_the_bytes_of_hudi() -> None:
    content = bytes.fromhex("000000030000000100")
    block = encode_block(BlockType.DELETE_BLOCK, {HeaderKey.INSTANT_TIME: "00000000000000010"}, content)
    assert block.hex() == (
        "2348554449230000000000000042000000010000000100000001000000000000001130303030303030303030303030303031300000"
        "000000000009000000030000000100000000000000000000000048"
    )


def test_command_block_has_the_size_of_hudi() -> None:
    assert len(command_block("2" * 17, "1" * 17)) == 105
    assert len(command_block("2" * 20, "1" * 17)) == 108


def test_data_block_is_read_by_fastavro() -> None:
    [block] = read_blocks(data(T1, 1, 2))
    stream = io.BytesIO(block.read_content())
    assert struct.unpack(">ii", stream.read(8)) == (3, 2)
    parsed, found = fastavro.parse_schema(json.loads(block.schema_json)), []
    for _ in range(2):
        (length,) = struct.unpack(">i", stream.read(4))
        found.append(fastavro.schemaless_reader(io.BytesIO(stream.read(length)), parsed, None))
    assert found == rows(1, 2).to_pylist()
    assert stream.read() == b""
    assert block.instant == T1


def test_blocks_are_split_between_records() -> None:
    table = rows(*range(40))
    whole = data_block(table, AVRO, T1)
    parts = data_block(table, AVRO, T1, max_block_bytes=1000)
    blocks = list(read_blocks(parts))
    assert len(blocks) > 4
    assert all(block.content_length <= 1000 for block in blocks)
    assert scan(parts).records == 40
    assert pa.concat_tables([entry.table for entry in scan(parts).data]).equals(scan(whole).data[0].table)
    assert len(list(read_blocks(data_block(table, AVRO, T1, max_block_bytes=10)))) == 40
    assert data_block(table.slice(0, 0), AVRO, T1) == b""


def test_order_instants_and_bounds() -> None:
    files = data(T1, 1) + deletes(T1, "a") + data(T2, 2), data(T3, 3)
    result = scan(*files)
    assert seen(result) == [(T1, [1]), (T1, ["a"]), (T2, [2]), (T3, [3])]
    assert (result.files, result.blocks, result.corrupt_blocks, result.rollback_blocks) == (2, 4, 0, 0)
    assert (result.records, result.bytes) == (3, len(files[0]) + len(files[1]))
    assert result.deletes[0].partitions.to_pylist() == ["p"]
    assert result.deletes[0].orderings == pa.array([0], pa.int32())
    assert seen(scan(*files, valid=lambda instant: instant != T2, max_instant=T2)) == [(T1, [1]), (T1, ["a"])]


def test_a_rollback_takes_back_what_stands_before_it_only() -> None:
    result = scan(data(T1, 1) + data(T2, 2), deletes(T2, "b"), command_block(T3, T2), data(T2, 4))
    assert seen(result) == [(T1, [1]), (T2, [4])]
    assert result.rollback_blocks == 1


def test_a_command_younger_than_the_query_does_not_stop_the_scan() -> None:
    files = data(T2, 2), command_block(T5, T2), data(T3, 3), data(T4, 4)
    assert seen(scan(*files, max_instant=T4)) == [(T3, [3]), (T4, [4])]
    assert seen(scan(*files, max_instant=T3)) == [(T3, [3])]


def test_log_compacted_blocks_take_the_place_of_the_newest_they_stand_for() -> None:
    [plain] = read_blocks(data(T4, 12))
    headers = {**plain.headers, HeaderKey.COMPACTED_BLOCK_TIMES: f"{T2},{T1}"}
    compacted = encode_block(BlockType.AVRO_DATA_BLOCK, headers, plain.read_content())
    assert seen(scan(data(T1, 1), data(T2, 2), data(T3, 3), compacted)) == [(T4, [12]), (T3, [3])]
    again = encode_block(
        BlockType.AVRO_DATA_BLOCK,
        {**headers, HeaderKey.INSTANT_TIME: T5, HeaderKey.COMPACTED_BLOCK_TIMES: f"{T4},{T3}"},
        plain.read_content(),
    )
    assert seen(scan(data(T1, 1), data(T2, 2), data(T3, 3), compacted, again)) == [(T5, [12])]


def test_each_block_is_resolved_from_its_own_schema() -> None:
    old = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int32()), ("gone", pa.bool_())]), "t"))
    before = data_block(pa.table({"id": pa.array([7], pa.int32()), "gone": [True]}), old, T1)
    result = scan(before, data(T2, 8))
    assert [entry.table.schema for entry in result.data] == [SCHEMA, SCHEMA]
    assert result.data[0].table.select(["_hoodie_record_key", "id", "name"]).to_pylist() == [
        {"_hoodie_record_key": None, "id": 7, "name": None}
    ]


def test_parquet_data_blocks() -> None:
    out = io.BytesIO()
    pq.write_table(rows(1, 2).drop(["name"]), out)
    block = encode_block(BlockType.PARQUET_DATA_BLOCK, {HeaderKey.INSTANT_TIME: T1}, out.getvalue())
    [entry] = scan(block).data
    assert entry.table["id"].to_pylist() == [1, 2]
    assert entry.table["name"].null_count == 2
    with pytest.raises(CorruptTableError, match=r"PARQUET_DATA_BLOCK at byte 0 of log\.0"):
        scan(encode_block(BlockType.PARQUET_DATA_BLOCK, {HeaderKey.INSTANT_TIME: T1}, out.getvalue()[:-9]))


@pytest.mark.parametrize("kind", [BlockType.HFILE_DATA_BLOCK, BlockType.CDC_DATA_BLOCK])
def test_other_blocks_are_named_and_only_when_they_count(kind: BlockType) -> None:
    block = encode_block(kind, {HeaderKey.INSTANT_TIME: T1}, b"x")
    assert seen(scan(block, data(T2, 2), valid=lambda instant: instant != T1)) == [(T2, [2])]
    with pytest.raises(UnsupportedTableError, match=rf"{kind.name} at byte 0 of log\.0"):
        scan(block)
    old = encode_block(BlockType.DELETE_BLOCK, {HeaderKey.INSTANT_TIME: T1}, struct.pack(">ii", 2, 0))
    with pytest.raises(UnsupportedTableError, match="DELETE_BLOCK has content version 2"):
        scan(old)


@pytest.mark.parametrize("cut", [1, 7, 8, 13, 20, 60, 200])
def test_a_block_cut_by_a_crash_is_corrupt_and_the_next_is_read(cut: int) -> None:
    first, middle, last = data(T1, 1), data(T2, 2), data(T3, 3)
    result = scan(first + middle[: len(middle) - cut] + last)
    assert seen(result) == [(T1, [1]), (T3, [3])]
    assert (result.blocks, result.corrupt_blocks) == (3, 1)
    assert seen(scan(first + middle[: len(middle) - cut])) == [(T1, [1])]


def test_damage_is_found_beyond_the_scan_chunk_too() -> None:
    for size in (1 << 20, (1 << 20) - 3, 3 << 20):
        result = scan(data(T1, 1) + MAGIC + b"\0" * size + data(T3, 3))
        assert seen(result) == [(T1, [1]), (T3, [3])]


def test_files_that_are_no_log_files() -> None:
    assert seen(scan(b"")) == []
    assert seen(scan(MAGIC[:4], data(T1, 1))) == [(T1, [1])]
    assert scan(MAGIC).corrupt_blocks == 1
    with pytest.raises(CorruptTableError, match=r"log\.0 is not readable: no log block begins at byte 0"):
        scan(b"PAR1 and more")
    wrong = bytearray(data(T1, 1))
    wrong[17] = 9
    with pytest.raises(UnsupportedTableError, match="log format version 9"):
        scan(bytes(wrong))


@settings(max_examples=400, deadline=None)
@given(at=st.integers(0, 10_000), value=st.integers(0, 255), cut=st.integers(0, 40))
def test_damage_gives_an_error_of_the_table_or_other_rows_but_no_crash(at: int, value: int, cut: int) -> None:
    good = bytearray(data(T1, 1, 2) + deletes(T1, "a") + data(T2, 3))
    good[at % len(good)] = value
    with suppress(CorruptTableError, UnsupportedTableError):
        for entry in scan(bytes(good[: len(good) - cut])).data:
            entry.table.validate(full=True)


def test_log_files_written_by_hudi(hudi_tables: Path) -> None:
    found = {}
    for path in sorted(hudi_tables.glob("mor-*/*/**/.*.log.*")):
        [block] = read_blocks(pa.memory_map(str(path)))
        avro = json.loads(block.schema_json)
        result = scan_log_files(
            [(path.name, lambda path=path: pa.memory_map(str(path)))], lambda instant: True, None, arrow_schema_of(avro)
        )
        [entry] = result.data
        assert entry.table["_hoodie_commit_time"].to_pylist() == [block.instant]
        found[path.relative_to(hudi_tables).parts[0]] = block.type
        again = data_block(entry.table, avro, str(block.instant))
        [decoded] = scan(again, schema=arrow_schema_of(avro)).data
        assert decoded.table.equals(entry.table)
        if block.type is BlockType.AVRO_DATA_BLOCK:
            assert again == path.read_bytes()
    assert found == {
        "mor-avro-v6_trips_8i1u": BlockType.AVRO_DATA_BLOCK,
        "mor-parquet-v6_complexkeygen_hivestyle": BlockType.PARQUET_DATA_BLOCK,
        "mor-parquet-v6_nonpartitioned": BlockType.PARQUET_DATA_BLOCK,
    }
