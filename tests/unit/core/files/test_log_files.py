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

from spark_jobs.core.errors import CorruptTableError, UnknownInstantError, UnsupportedTableError
from spark_jobs.core.files.log_block import MAGIC, BlockType, HeaderKey, encode_block, parse_blocks
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_reader import LogData, read_blocks, survey_log_files
from spark_jobs.core.files.log_writer import command_block, delete_block, schema_text
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields
from spark_jobs.core.schema.meta_fields import META_FIELDS
from tests.nightly import examples
from tests.unit.core.logs import LogScan, avro_blocks, scan_log_files

pytestmark = pytest.mark.unit

AVRO = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int64()), ("name", pa.string())]), "t"))
SCHEMA = arrow_schema_of(AVRO)
T1, T2, T3, T4, T5 = (f"2024010100000000{number}" for number in range(1, 6))


def rows(*ids: int) -> pa.Table:
    meta = {name: [f"{name}{number}" for number in ids] for name in META_FIELDS}
    return pa.table({**meta, "id": list(ids), "name": [None if number % 2 else "é" * number for number in ids]})


def data(instant: str, *ids: int) -> bytes:
    return avro_blocks(rows(*ids), AVRO, instant)


def deletes(instant: str, *keys: str) -> bytes:
    return delete_block(pa.array(keys, pa.string()), "p", None, instant, schema_text(AVRO))


def scan(
    *files: bytes,
    valid: Callable[[str], bool] = lambda instant: True,
    max_instant: str | None = None,
    schema: pa.Schema = SCHEMA,
    optimized: bool = False,
) -> LogScan:
    named = [
        (f"log.{number}", lambda content=content: pa.BufferReader(content)) for number, content in enumerate(files)
    ]
    return scan_log_files(named, valid, max_instant, schema, optimized=optimized)


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
    whole = avro_blocks(table, AVRO, T1)
    parts = avro_blocks(table, AVRO, T1, max_block_bytes=1000)
    blocks = list(read_blocks(parts))
    assert len(blocks) > 4
    assert all(block.content_length <= 1000 for block in blocks)
    assert scan(parts).records == 40
    assert pa.concat_tables([entry.table for entry in scan(parts).data]).equals(scan(whole).data[0].table)
    assert len(list(read_blocks(avro_blocks(table, AVRO, T1, max_block_bytes=10)))) == 40
    assert avro_blocks(table.slice(0, 0), AVRO, T1) == b""


def test_order_instants_and_bounds() -> None:
    files = data(T1, 1) + deletes(T1, "a") + data(T2, 2), data(T3, 3)
    result = scan(*files)
    assert seen(result) == [(T1, [1]), (T1, ["a"]), (T2, [2]), (T3, [3])]
    assert (result.survey.files, result.survey.blocks, result.survey.corrupt_blocks, result.survey.rollback_blocks) == (
        2,
        4,
        0,
        0,
    )
    assert (result.records, result.survey.bytes) == (3, len(files[0]) + len(files[1]))
    assert result.deletes[0].partitions.to_pylist() == ["p"]
    assert result.deletes[0].orderings == pa.array([0], pa.int32())
    assert seen(scan(*files, valid=lambda instant: instant != T2, max_instant=T2)) == [(T1, [1]), (T1, ["a"])]


def test_a_rollback_takes_back_what_stands_before_it_only() -> None:
    result = scan(data(T1, 1) + data(T2, 2), deletes(T2, "b"), command_block(T3, T2), data(T2, 4))
    assert seen(result) == [(T1, [1]), (T2, [4])]
    assert result.survey.rollback_blocks == 1


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


def test_the_optimized_scan_puts_the_blocks_of_an_instant_together() -> None:
    files = data(T1, 1), data(T2, 2), deletes(T1, "a"), data(T3, 3), command_block(T4, T3), data(T2, 4)
    assert seen(scan(*files)) == [(T1, [1]), (T2, [2]), (T1, ["a"]), (T2, [4])]
    assert seen(scan(*files, optimized=True)) == [(T1, [1]), (T1, ["a"]), (T2, [2]), (T2, [4])]


def test_several_commands_take_back_several_instants_and_an_extra_one_nothing() -> None:
    files = data(T1, 1), data(T2, 2), data(T3, 3), command_block(T4, T2), command_block(T5, T1), command_block(T5, T1)
    result = scan(*files, data(T1, 7))
    assert (seen(result), result.survey.rollback_blocks) == ([(T3, [3]), (T1, [7])], 3)


class Watched:
    """A file in memory that tells how many bytes were read of it."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self.read_bytes = 0

    def seek(self, position: int, whence: int = 0, /) -> int:
        self._at = position
        return position

    def read(self, nbytes: int, /) -> bytes:
        found = self._content[self._at : self._at + nbytes]
        self.read_bytes += len(found)
        return found

    def size(self) -> int:
        return len(self._content)


def test_contents_are_not_read_before_they_are_needed() -> None:
    whole = b"".join(data(instant, *range(1, 120_000, 2)) for instant in (T1, T2))
    file = Watched(whole)
    first, second = parse_blocks(file)
    assert file.read_bytes < 3 * 4096 + 100
    assert len(whole) > 500 * file.read_bytes
    assert read_rows(second).num_rows == 60_000
    assert file.read_bytes < second.content_length + 4 * 4096
    survey = survey_log_files([("log", lambda: pa.BufferReader(whole))], lambda instant: instant == T1, None)
    assert [placed.block.start for placed in survey.valid] == [first.start]
    assert [entry.instant for entry in survey.read(SCHEMA)] == [T1]


def test_a_block_of_an_instant_that_nobody_knows_is_an_error_that_names_it() -> None:
    def knows(instant: str) -> bool:
        if instant == T1:
            raise UnknownInstantError.of(instant, "something")
        return True

    whole = data(T2, 1) + data(T1, 2)
    with pytest.raises(UnknownInstantError, match=f"the block at byte {len(data(T2, 1))} of log is of instant {T1}"):
        survey_log_files([("log", lambda: pa.BufferReader(whole))], knows, None)
    taken_back = whole + command_block(T3, T1)
    survey = survey_log_files([("log", lambda: pa.BufferReader(taken_back))], knows, None)
    assert [placed.block.instant for placed in survey.valid] == [T2]


def test_a_schema_longer_than_the_first_read() -> None:
    columns = pa.schema([(f"column_{number}", pa.int64()) for number in range(500)])
    avro = with_meta_fields(avro_schema_of(columns, "t"))
    [block] = read_blocks(avro_blocks(pa.table({"column_7": [1]}), avro, T1))
    assert json.loads(block.schema_json) == avro
    assert read_rows(block)["column_7"].to_pylist() == [1]


@pytest.mark.parametrize("torn", [MAGIC, MAGIC + b"\0" * 8, data(T1, 1)[:-1]])
def test_many_torn_blocks_take_time_in_proportion(torn: bytes) -> None:
    file = Watched(torn * (300_000 // len(torn)) + data(T3, 3))
    blocks = list(parse_blocks(file))
    assert len(blocks) == 300_000 // len(torn) + 1
    assert blocks[-1].instant == T3
    assert file.read_bytes < len(blocks) * 10_000


def test_each_block_is_resolved_from_its_own_schema() -> None:
    old = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int32()), ("gone", pa.bool_())]), "t"))
    before = avro_blocks(pa.table({"id": pa.array([7], pa.int32()), "gone": [True]}), old, T1)
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
def test_unreadable_blocks_are_named_and_only_when_they_count(kind: BlockType) -> None:
    block = encode_block(kind, {HeaderKey.INSTANT_TIME: T1, HeaderKey.SCHEMA: schema_text(AVRO)}, b"x")
    assert seen(scan(block, data(T2, 2), valid=lambda instant: instant != T1)) == [(T2, [2])]
    with pytest.raises((CorruptTableError, UnsupportedTableError), match=rf"{kind.name} at byte 0 of log\.0"):
        scan(block)
    old = encode_block(BlockType.DELETE_BLOCK, {HeaderKey.INSTANT_TIME: T1}, struct.pack(">ii", 4, 0))
    with pytest.raises(UnsupportedTableError, match="DELETE_BLOCK has content version 4"):
        scan(old)


@pytest.mark.parametrize("cut", [1, 7, 8, 13, 20, 60, 200])
def test_a_block_cut_by_a_crash_is_corrupt_and_the_next_is_read(cut: int) -> None:
    first, middle, last = data(T1, 1), data(T2, 2), data(T3, 3)
    result = scan(first + middle[: len(middle) - cut] + last)
    assert seen(result) == [(T1, [1]), (T3, [3])]
    assert (result.survey.blocks, result.survey.corrupt_blocks) == (3, 1)
    assert seen(scan(first + middle[: len(middle) - cut])) == [(T1, [1])]


def test_damage_is_found_beyond_the_scan_chunk_too() -> None:
    for size in (1 << 20, (1 << 20) - 3, 3 << 20):
        result = scan(data(T1, 1) + MAGIC + b"\0" * size + data(T3, 3))
        assert seen(result) == [(T1, [1]), (T3, [3])]


def test_files_that_are_no_log_files() -> None:
    assert seen(scan(b"")) == []
    assert seen(scan(MAGIC[:4], data(T1, 1))) == [(T1, [1])]
    assert scan(MAGIC).survey.corrupt_blocks == 1
    with pytest.raises(CorruptTableError, match=r"log\.0 is not readable: no log block begins at byte 0"):
        scan(b"PAR1 and more")
    wrong = bytearray(data(T1, 1))
    wrong[17] = 9
    with pytest.raises(UnsupportedTableError, match="log format version 9"):
        scan(bytes(wrong))


@settings(max_examples=examples(400), deadline=None)
@given(at=st.integers(0, 10_000), value=st.integers(0, 255), cut=st.integers(0, 40))
def test_damage_gives_an_error_of_the_table_or_other_rows_but_no_crash(at: int, value: int, cut: int) -> None:
    good = bytearray(data(T1, 1, 2) + deletes(T1, "a") + data(T2, 3))
    good[at % len(good)] = value
    with suppress(CorruptTableError, UnsupportedTableError):
        for entry in scan(bytes(good[: len(good) - cut])).data:
            entry.table.validate(full=True)


PIECES = st.sampled_from([MAGIC, data(T1, 1), deletes(T1, "a"), command_block(T3, T1), b"\0" * 9]) | st.binary(
    max_size=60
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(PIECES, st.integers(0, 200), st.integers(0, 200)), max_size=8))
def test_any_bytes_give_blocks_or_an_error_of_the_table(pieces: list[tuple[bytes, int, int]]) -> None:
    content = b"".join(piece[min(begin, 12) :] if end > 150 else piece[: end or None] for piece, begin, end in pieces)
    with suppress(CorruptTableError, UnsupportedTableError):
        blocks = list(read_blocks(content))
        assert [block.start for block in blocks[1:]] == [block.end for block in blocks[:-1]]
        assert all(block.start < block.end <= len(content) for block in blocks)
        scan(content)


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
        again = avro_blocks(entry.table, avro, str(block.instant))
        [decoded] = scan(again, schema=arrow_schema_of(avro)).data
        assert decoded.table.equals(entry.table)
        if block.type is BlockType.AVRO_DATA_BLOCK:
            assert again == path.read_bytes()
    assert found == {
        "mor-avro-v6_trips_8i1u": BlockType.AVRO_DATA_BLOCK,
        "mor-parquet-v6_complexkeygen_hivestyle": BlockType.PARQUET_DATA_BLOCK,
        "mor-parquet-v6_nonpartitioned": BlockType.PARQUET_DATA_BLOCK,
    }
