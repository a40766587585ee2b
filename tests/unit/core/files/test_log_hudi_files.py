"""Log files that Hudi 0.15.0 wrote, to the byte: read, and written again the same."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.files.delete_records import decode_delete_records, encode_delete_records
from spark_jobs.core.files.hfile.records import encode_hfile_content
from spark_jobs.core.files.log_block import BlockType, LogBlock, encode_block
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.log_writer import command_block
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from tests.unit.core.logs import avro_blocks

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
ARCHIVES = [*sorted((FIXTURES / "tables").glob("mor_*.zip")), *sorted((FIXTURES / "log_tables").glob("*.zip"))]

AVRO, PARQUET, HFILE = BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK, BlockType.HFILE_DATA_BLOCK
DELETE, COMMAND, CHANGES = BlockType.DELETE_BLOCK, BlockType.COMMAND_BLOCK, BlockType.CDC_DATA_BLOCK
EXPECTED: dict[str, dict[BlockType, int]] = {
    "mor_logs": {AVRO: 6, DELETE: 6, COMMAND: 2},
    "mor_pending_compaction": {AVRO: 4, DELETE: 2},
    "logs_avro": {AVRO: 3, DELETE: 2},
    "logs_parquet": {PARQUET: 3, DELETE: 2},
    "logs_hfile": {HFILE: 3, DELETE: 2},
    "logs_compacted": {AVRO: 15},
    "logs_rolled_back": {AVRO: 7, COMMAND: 3},
    "logs_change_data": {AVRO: 1, CHANGES: 2},
    "logs_resizing": {AVRO: 22},
}


def log_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            if ".log." in name and "/.hoodie/" not in name and not name.endswith(".crc"):
                yield name, packed.read(name)


def written_again(block: LogBlock) -> bytes:
    """The content of a block, made of what was read of it."""
    schema = json.loads(block.schema_json or "{}")
    if block.type in (BlockType.AVRO_DATA_BLOCK, BlockType.CDC_DATA_BLOCK):
        rows = read_rows(block, arrow_schema_of(schema))
        [again] = read_blocks(avro_blocks(rows, schema, str(block.instant)))
        return again.read_content()
    if block.type is BlockType.HFILE_DATA_BLOCK:
        rows = read_rows(block)
        return encode_hfile_content(rows, rows[RECORD_KEY], schema, block.schema_json)
    if block.type is BlockType.DELETE_BLOCK:
        [deletes] = decode_delete_records(block.read_content())
        return encode_delete_records(deletes.keys, deletes.partitions, deletes.orderings)
    return block.read_content()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.stem)
def test_blocks_are_written_again_to_the_same_bytes(archive: Path) -> None:
    kinds: Counter[BlockType] = Counter()
    for name, content in log_files(archive):
        for block in read_blocks(content):
            kinds[block.type] += 1
            own = encode_block(block.type, block.headers, written_again(block))
            assert own == content[block.start : block.end], f"{block.type.name} at byte {block.start} of {name}"
            if block.is_rollback:
                assert len(command_block(str(block.instant), str(block.target_instant))) == block.end - block.start
            if block.type in (BlockType.PARQUET_DATA_BLOCK, BlockType.CDC_DATA_BLOCK):
                rows = read_rows(block, arrow_schema_of(json.loads(block.schema_json)))
                rows.validate(full=True)
                assert rows.num_rows == read_rows(block).num_rows > 0
    assert not kinds[BlockType.CORRUPT_BLOCK]
    assert kinds == EXPECTED[archive.stem]


def test_the_change_data_of_a_merge() -> None:
    archive = FIXTURES / "log_tables" / "logs_change_data.zip"
    found = [
        (name, read_rows(block))
        for name, content in log_files(archive)
        for block in read_blocks(content)
        if block.type is BlockType.CDC_DATA_BLOCK
    ]
    assert all(name.endswith(".cdc") for name, _ in found)
    rows = pa.concat_tables([rows for _, rows in found])
    assert rows.column_names == ["op", "ts_ms", "before", "after"]
    for row in rows.to_pylist():
        assert row["op"] in ("i", "u")
        assert (row["before"] is None) == (row["op"] == "i")
        assert row["after"]["ts"] == 1
