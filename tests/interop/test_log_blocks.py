"""Log files of every kind of block, in turn with real Hudi 0.15.0, and read by hudi-rs.

The tables that Hudi made (``tests/fixtures/make_log_tables.py``) need no Java.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.files.log_block import BlockType, parse_blocks
from spark_jobs.options.choices import Operation, TableType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.ingest import ingest
from tests.interop.hudi_rs import read_by_hudi_rs
from tests.interop.our_reader import read
from tests.interop.ours import COMPACT_AT_ONCE, Ours
from tests.interop.real_hudi import RealHudi
from tests.interop.schema_rows import KEY, PARTITION, PRECOMBINE, typed
from tests.interop.tending import tended_by_hudi

TABLES = Path(__file__).resolve().parents[1] / "fixtures" / "log_tables"
NAMES = sorted(path.stem for path in TABLES.glob("*.zip"))
BLOCK_TYPES = {
    "avro": BlockType.AVRO_DATA_BLOCK,
    "parquet": BlockType.PARQUET_DATA_BLOCK,
    "hfile": BlockType.HFILE_DATA_BLOCK,
}
META = "_hoodie_"
BY_US = {"hoodie.write.markers.type": "TIMELINE_SERVER_BASED"}
"""As Hudi's are by default; direct ones are in all other tests."""


def rows_of(table: pa.Table) -> dict[str, dict[str, Any]]:
    """A table's rows by key, without meta columns and Spark's partition column; maps as dictionaries."""
    names = [name for name in table.column_names if not name.startswith(META)]
    listed = table.select(names).to_pylist(maps_as_pydicts="strict")
    assert len({row[KEY] for row in listed}) == len(listed)
    return {row[KEY]: row for row in listed}


def some_rows(numbers: range, revision: int = 0) -> pa.Table:
    """Rows of all types but a list of structs with timestamps, which hudi-rs 0.5 can't read from Avro records."""
    return typed(numbers, revision).drop_columns(["stops"])


def block_types(path: Path) -> set[BlockType]:
    """The kinds of blocks in a table's log files, its metadata table's left out."""
    found: set[BlockType] = set()
    for log in path.rglob(".*.log.*"):
        if not log.name.endswith(".crc") and ".hoodie" not in log.parts:
            with pa.memory_map(str(log)) as file:
                found |= {block.type for block in parse_blocks(file)}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_we_read_what_hudi_read(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(TABLES / f"{name}.zip") as packed:
        packed.extractall(tmp_path)
    wanted, found = pq.read_table(TABLES / f"{name}.snapshot.parquet"), read(tmp_path / name)
    assert {field.name: field.type for field in found.schema} == {field.name: field.type for field in wanted.schema}
    assert rows_of(found) == rows_of(wanted)
    for column in ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_partition_path", "_hoodie_file_name"):
        assert _by_key(found, column) == _by_key(wanted, column)


def _by_key(table: pa.Table, column: str) -> dict[str, str]:
    return dict(zip(table[KEY].to_pylist(), table[column].to_pylist(), strict=True))


class InTurn:
    """One table of all types, written by both sides in one format of log blocks; ``expected`` are its rows."""

    def __init__(self, path: Path, block_format: str, hudi: RealHudi, spark: SparkSession, ours: Ours) -> None:
        self.path, self.hudi = path, hudi
        self._block_format, self._spark, self._ours = block_format, spark, ours
        self.expected: dict[str, dict[str, Any]] = {}

    def by_us(self, rows: pa.Table, operation: str) -> None:
        source = self.path.with_name(f"{self.path.name}-rows.parquet")
        pq.write_table(rows, source)
        options = IngestOptions(
            base_path=str(self.path),
            table_name=self.path.name,
            source_format="parquet",
            source=(str(source),),
            op=Operation(operation),
            table_type=TableType.MERGE_ON_READ,
            record_key_fields=(KEY,),
            partition_path_fields=(PARTITION,),
            precombine_field=PRECOMBINE,
            hoodie_conf=tuple({**BY_US, "hoodie.logfile.data.block.format": self._block_format}.items()),
        )
        ingest(self._spark, options)
        self._expect(rows, operation)
        self.check(f"after our {operation}")

    def by_hudi(self, rows: pa.Table, operation: str) -> None:
        options = {
            "hoodie.table.name": self.path.name,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": KEY,
            "hoodie.datasource.write.partitionpath.field": PARTITION,
            "hoodie.datasource.write.precombine.field": PRECOMBINE,
            "hoodie.datasource.compaction.async.enable": "true",
            "hoodie.logfile.data.block.format": self._block_format,
        }
        self.hudi.write(self.path, rows, operation, options)
        self._expect(rows, operation)
        self.check(f"after Hudi's {operation}")

    def compacted_by_us(self) -> None:
        self._ours.compact(self.path)
        self.check("after our compaction")
        assert rows_of(read(self.path, "read_optimized")) == self.expected

    def compacted_by_hudi(self) -> None:
        self.hudi.compact(self.path, options=COMPACT_AT_ONCE)
        self.check("after Hudi's compaction")
        assert rows_of(read(self.path, "read_optimized")) == self.expected

    def check(self, when: str) -> None:
        assert rows_of(read(self.path)) == self.expected, f"we, {when}"
        assert rows_of(self.hudi.read(self.path)) == self.expected, f"Hudi, {when}"
        assert rows_of(read_by_hudi_rs(self.path)) == self.expected, f"hudi-rs, {when}"

    def _expect(self, rows: pa.Table, operation: str) -> None:
        if operation == "delete":
            for key in rows_of(rows):
                del self.expected[key]
        else:
            self.expected.update(rows_of(rows))


@pytest.mark.parametrize("block_format", ["avro", "parquet", "hfile"])
def test_logs_of_each_format_in_turn(
    block_format: str, tmp_path: Path, real_hudi: RealHudi, spark: SparkSession, ours: Ours
) -> None:
    """Decimals, timestamps, dates, nested columns; both sides write, merge and compact the other's blocks."""
    table = InTurn(tmp_path / "logs", block_format, real_hudi, spark, ours)
    table.by_us(some_rows(range(30)), "insert")
    table.by_us(some_rows(range(0, 30, 2), 1), "upsert")
    table.by_us(some_rows(range(9, 12), 1), "delete")
    assert block_types(table.path) == {BLOCK_TYPES[block_format], BlockType.DELETE_BLOCK}
    table.compacted_by_hudi()
    table.by_hudi(some_rows(range(0, 30, 5), 2), "upsert")
    table.by_hudi(some_rows(range(15, 17), 2), "delete")
    table.by_us(some_rows(range(0, 30, 6), 3), "upsert")
    table.compacted_by_us()
    table.by_us(some_rows(range(1, 30, 9), 4), "upsert")
    tended_by_hudi(real_hudi, table.path)
    table.check("after Hudi's compaction and cleaning")
