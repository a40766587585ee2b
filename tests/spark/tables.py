"""Small tables for the tests: jobs with short options, rows as Python values, and a model of what a table must hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.engine.spark import SparkEngine
from spark_jobs.options.choices import Operation, ServiceMode, TableType
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.write.ingest import ingest, write_frame
from tests.support.folder import Where, lake_of
from tests.support.jobs import job_context

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
Row = dict[str, Any]
SCHEMA = pa.schema(
    [("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64()), ("_hoodie_is_deleted", pa.bool_())]
)
SMALL = {"hoodie.index.bloom.num_entries": "100", "hoodie.write.lock.wait_time_ms": "20000"}
AT_ONCE = {
    **SMALL,
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.cleaner.commits.retained": "1",
}
_number = count()


@dataclass(kw_only=True)
class Jobs:
    """The jobs on one table; options that a test does not give stand here."""

    spark: SparkSession
    path: Where
    table_type: str = COW
    keys: tuple[str, ...] = ("id",)
    partitions: tuple[str, ...] = ("p",)
    conf: Mapping[str, str] = field(default_factory=dict)
    local_services: bool = False
    sources: Path | None = None
    """Where the files to write from lie; beside the table without it, which is for local disks then."""

    def source(self, rows: Sequence[Row] | pa.Table, schema: pa.Schema = SCHEMA) -> str:
        """A Parquet file of the rows, two row groups or more where there are two rows."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=schema)
        folder = self.sources or self.path.parent / f"{self.path.name}-sources"
        folder.mkdir(exist_ok=True)
        path = folder / f"{next(_number)}.parquet"
        pq.write_table(table, str(path), row_group_size=max(1, table.num_rows // 2))
        return str(path)

    def options(self, op: str, rows: Sequence[Row] | pa.Table, **more: Any) -> IngestOptions:
        written = {} if "source" in more else {"source": (self.source(rows),)}
        return IngestOptions(
            **{
                "base_path": str(self.path),
                "table_name": "t",
                "table_type": TableType(self.table_type),
                "op": Operation(op),
                "source_format": "parquet",
                "record_key_fields": self.keys,
                "partition_path_fields": self.partitions,
                "precombine_field": "ts",
                "hoodie_conf": tuple({**SMALL, **self.conf}.items()),
                **written,
                **more,
            }
        )

    def write(self, op: str, rows: Sequence[Row] | pa.Table, **more: Any) -> JobResult:
        return ingest(self.spark, self.options(op, rows, **more), Progress("test"), lake=self.lake)

    def compact(self, mode: str = "scheduleAndExecute", **more: Any) -> JobResult:
        options = CompactionOptions(
            base_path=str(self.path), mode=ServiceMode(mode), hoodie_conf=tuple(AT_ONCE.items()), **more
        )
        return run_compaction(options, job_context(lake=self.lake, engine=self._engine))

    def cluster(self, mode: str = "scheduleAndExecute", **more: Any) -> JobResult:
        conf = {**AT_ONCE, "hoodie.clustering.plan.strategy.sort.columns": "v,id"}
        options = ClusteringOptions(
            base_path=str(self.path), mode=ServiceMode(mode), hoodie_conf=tuple(conf.items()), **more
        )
        return run_clustering(options, job_context(lake=self.lake, engine=self._engine))

    def clean(self) -> JobResult:
        return run_cleaning(CleanOptions(base_path=str(self.path), hoodie_conf=AT_ONCE), job_context(lake=self.lake))

    def table(self) -> HudiTable:
        return HudiTable.open(str(self.path), lake=self.lake)

    def rows(self) -> list[Row]:
        """The rows of a snapshot query without meta columns and deletion flag, sorted by all their values."""
        found = self.table().scan().to_arrow()
        own = [name for name in found.column_names if name not in META_FIELDS and name != "_hoodie_is_deleted"]
        return ordered(found.select(own).to_pylist())

    def rows_with_meta(self) -> list[Row]:
        """As stored, but for the file name, which services may change."""
        return ordered(self.table().scan().to_arrow().drop_columns(["_hoodie_file_name"]).to_pylist())

    @property
    def lake(self) -> Lake:
        return lake_of(self.path)

    @property
    def _engine(self) -> Engine:
        return LocalEngine(SYSTEM_CLOCK) if self.local_services else SparkEngine(self.spark)


@dataclass(kw_only=True)
class SparkJobs(Jobs):
    """Jobs whose records Spark reads and places, as it does for every source but Parquet files."""

    def write(self, op: str, rows: Sequence[Row] | pa.Table, **more: Any) -> JobResult:
        options = self.options(op, rows, **more)
        return write_frame(
            self.spark, self.spark.read.parquet(*options.source), options, Progress("test"), lake=self.lake
        )


def row(key: int, partition: str | None = "a", value: str | None = "x", ts: int = 1, *, deleted: bool = False) -> Row:
    return {"id": key, "p": partition, "v": value, "ts": ts, "_hoodie_is_deleted": deleted}


def rows(keys: Iterable[int], value: str = "x", ts: int = 1, partitions: str = "ab") -> list[Row]:
    """One record for each key, spread over partitions of one letter each."""
    return [row(key, partitions[key % len(partitions)], value, ts) for key in keys]


def shown(records: Iterable[Row]) -> list[Row]:
    """The records that stay, as :meth:`Jobs.rows` gives them."""
    kept = [one for one in records if not one.get("_hoodie_is_deleted")]
    return ordered([{name: value for name, value in one.items() if name != "_hoodie_is_deleted"} for one in kept])


def ordered(records: list[Row]) -> list[Row]:
    return sorted(records, key=lambda one: [(value is None, str(value)) for value in one.values()])


def digests(path: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by relative path; directories have none."""
    return {
        str(one.relative_to(path)): hashlib.sha256(one.read_bytes()).hexdigest() if one.is_file() else ""
        for one in sorted(path.rglob("*"))
    }
