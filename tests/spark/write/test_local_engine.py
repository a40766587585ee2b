"""The same sources by ``--engine local`` and by Spark: the same rows, file groups and results."""

from __future__ import annotations

import decimal
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.lake import LAKE
from spark_jobs.engine.spark_task import session_settings
from spark_jobs.options import EngineKind, JobResult
from spark_jobs.write.direct.choose import parquet_source
from spark_jobs.write.direct.source import ParquetSource
from spark_jobs.write.job import run_ingest
from spark_jobs.write.schema import source_schema
from tests.spark.tables import COW, MOR, Jobs, row, rows
from tests.support.jobs import job_context

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
OF_A_RUN = ("instant", "base_path", "bytes_in", "bytes_out", "seconds_by_phase", "extra")


class LocalJobs(Jobs):
    """Whose writes need no session."""

    def write(self, op: str, rows: Any, **more: Any) -> JobResult:
        return run_ingest(self.options(op, rows, engine=EngineKind.LOCAL, **more), job_context(lake=self.lake))


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_both_engines_leave_the_same_table(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    local = LocalJobs(spark=spark, path=tmp_path / "local", table_type=table_type)
    ours = Jobs(spark=spark, path=tmp_path / "spark", table_type=table_type)
    changes = [row(1, "b", "new", 2), row(1, "b", "newer", 3), row(2, "a", "old", 0), row(50, "c", "n", 1)]
    gone = {**row(4, "a", "gone", 2), "_hoodie_is_deleted": True}
    for op, batch, more in (
        ("insert", rows(range(12)), {}),
        ("upsert", [*changes, gone], {"dry_run": True}),
        ("upsert", [*changes, gone], {}),
        ("delete", [row(5, "b", "x"), row(999, "a", "x")], {}),
        ("insert_overwrite", rows(range(30, 33)), {}),
        ("delete_partition", [row(0, "c", "x")], {}),
    ):
        one, other = local.write(op, batch, **more), ours.write(op, batch, **more)
        assert without_run(one) == without_run(other)
        assert {**one.extra, "engine": "spark"} == {**other.extra, "engine": "spark"}
        assert local.rows() == ours.rows()
        assert groups(local) == groups(ours)


def without_run(result: JobResult) -> JobResult:
    """What has to be the same of two writes to two tables; of plans what names no file group."""
    plan = {name: value for name, value in (result.plan or {}).items() if name != "sizing"}
    return replace(result, plan=plan, **dict.fromkeys(OF_A_RUN))


def groups(jobs: Jobs) -> Counter[tuple[str, tuple[int, ...]]]:
    """The keys of each file slice with its partition."""
    found = jobs.table().scan(columns=["_hoodie_partition_path", "_hoodie_file_name", "id"]).to_arrow().to_pylist()
    by_file: dict[tuple[str, str], list[int]] = {}
    for partition, name, key in (one.values() for one in found):
        by_file.setdefault((partition, name.split("_")[0]), []).append(key)
    return Counter((partition, tuple(sorted(keys))) for (partition, _), keys in by_file.items())


def test_columns_have_the_types_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    table = pa.table(
        {
            "i8": pa.array([1], pa.int8()),
            "i16": pa.array([1], pa.int16()),
            "i32": pa.array([1], pa.int32()),
            "i64": pa.array([1], pa.int64()),
            "f32": pa.array([1], pa.float32()),
            "f64": pa.array([1], pa.float64()),
            "b": pa.array([True]),
            "s": pa.array(["x"]).dictionary_encode(),
            "bin": pa.array([b"x"]),
            "d": pa.array([date(2026, 1, 1)]),
            "ms": pa.array([now], pa.timestamp("ms", "UTC")),
            "us": pa.array([now], pa.timestamp("us", "Asia/Tokyo")),
            "ntz": pa.array([now.replace(tzinfo=None)], pa.timestamp("us")),
            "dec": pa.array([decimal.Decimal("1.50")], pa.decimal128(9, 2)),
            "_hoodie_record_key": pa.array(["k"]),
        }
    )
    pq.write_table(table, tmp_path / "arrow.parquet")
    micros = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}  # INT96, the default, is left to Spark
    with session_settings(spark, micros):
        spark.read.parquet(str(tmp_path / "arrow.parquet")).write.parquet(str(tmp_path / "spark"))
    by_spark = next((tmp_path / "spark").glob("*.parquet"))
    for path in (tmp_path / "arrow.parquet", by_spark):
        found = parquet_source(None, [str(path)], LAKE)
        assert isinstance(found, ParquetSource), found
        assert found.schema == source_schema(spark.read.parquet(str(path)))
