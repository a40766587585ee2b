"""Rows that Spark reads are computed once, stand in files until the write is done, and nowhere after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.core.config.keys.write import DRIVER_ROWS
from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.format.folders import SOURCE_FOLDER
from spark_jobs.core.format.instant import Action
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import SourceReader
from spark_jobs.write.ingest import write_frame
from tests.spark.tables import COW, MOR, Jobs, SparkJobs, digests, row, rows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def _held(jobs: Jobs) -> list[str]:
    folder = Path(str(jobs.path)) / SOURCE_FOLDER
    return [str(one) for one in [folder, *folder.rglob("*")] if one.exists()]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_nothing_stays(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    for op, batch in (("insert", rows(range(9))), ("upsert", rows(range(5, 12), "y")), ("upsert", [])):
        jobs.write(op, batch)
        assert _held(jobs) == []
    assert len(jobs.rows()) == 12


def test_nothing_stays_of_a_write_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    """Most of its tasks have written their files, or do so, when the bad row is met."""
    jobs = SparkJobs(spark=spark, path=tmp_path / "t")
    jobs.write("insert", rows(range(9)))
    source = spark.range(0, 400, 1, 12).select(
        F.when(F.col("id") == 399, None).otherwise(F.col("id")).alias("id"),
        F.lit("a").alias("p"),
        F.lit("v").alias("v"),
        F.lit(1).cast("long").alias("ts"),
        F.lit(False).alias("_hoodie_is_deleted"),
    )
    with pytest.raises(BadRecordError, match="1 row doesn't fit"):
        write_frame(spark, source, jobs.options("upsert", []), Progress("test"))
    assert _held(jobs) == []


def test_the_next_write_sweeps_what_dead_ones_left(spark: SparkSession, tmp_path: Path) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t")
    jobs.write("insert", rows(range(3)))
    table = jobs.table()
    first = table.timeline.last_completed()
    assert first is not None
    living = str(int(first.timestamp) + 1)
    request(table.timeline, living, Action.COMMIT)
    table.storage.create(heartbeat_path(table.base_path, living), b"")
    for instant in (first.timestamp, living, "99990101000000000"):
        table.storage.create(f"{table.base_path}/{SOURCE_FOLDER}/{instant}/0-0-0.parquet", b"left")
    jobs.write("upsert", rows(range(3), "y"))
    assert [one.name for one in table.storage.list(f"{table.base_path}/{SOURCE_FOLDER}")] == [living]


@pytest.mark.parametrize("most", [1_000_000, 1], ids=["by this process", "by exchange"])
def test_a_source_that_answers_otherwise_each_time_is_read_once(spark: SparkSession, tmp_path: Path, most: int) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf={DRIVER_ROWS.name: str(most)})
    jobs.write("insert", rows(range(50), partitions="a"))
    source = spark.range(0, 40, 1, 4).select(
        (F.col("id") + F.floor(F.rand() * 1_000_000) * 100).alias("id"),
        F.lit("a").alias("p"),
        F.lit("random").alias("v"),
        F.lit(2).cast("long").alias("ts"),
        F.lit(False).alias("_hoodie_is_deleted"),
    )
    done = write_frame(spark, source, jobs.options("upsert", []), Progress("test"))
    found = jobs.rows()
    assert done.records_in == done.inserts + done.updates == 40
    assert len({one["id"] for one in found}) == len(found) == 50 + done.inserts
    assert sum(one["v"] == "random" for one in found) == 40


NESTED = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.string()),
        ("ts", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("money", pa.decimal128(20, 4)),
        ("raw", pa.binary()),
        ("parts", pa.list_(pa.struct([("a", pa.int32()), ("at", pa.timestamp("us", tz="UTC"))]))),
        ("by", pa.map_(pa.string(), pa.list_(pa.float64()))),
        ("deep", pa.struct([("one", pa.struct([("two", pa.string())])), ("flag", pa.bool_())])),
    ]
)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_values_of_all_types_come_through(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    def values(number: int, ts: int) -> dict[str, Any]:
        return {
            "id": number,
            "p": "ab"[number % 2],
            "ts": ts,
            "at": 1_700_000_000_000_000 + number,
            "local": -number,
            "day": number,
            "money": None if number % 3 else number,
            "raw": bytes([number, 0]),
            "parts": None if number == 1 else [{"a": number, "at": number}, None, {"a": None, "at": ts}],
            "by": {"x": [float(number), None], "": None} if number else {},
            "deep": {"one": {"two": str(number)} if number % 2 else None, "flag": None},
        }

    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    first = [values(number, 1) for number in range(6)]
    second = [values(number, 2) for number in range(4, 9)]
    jobs.write("insert", pa.Table.from_pylist(first, schema=NESTED))
    jobs.write("upsert", pa.Table.from_pylist(second, schema=NESTED))
    found = jobs.table().scan().to_arrow().select(NESTED.names).cast(NESTED).sort_by("id")
    assert found.equals(pa.Table.from_pylist([*first[:4], *second], schema=NESTED))


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "BUCKET"])
@pytest.mark.parametrize("most", [1_000_000, 2], ids=["by arrays", "by exchange"])
def test_a_dry_run_plans_what_the_write_does(spark: SparkSession, tmp_path: Path, index: str, most: int) -> None:
    conf = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", DRIVER_ROWS.name: str(most)}
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf=conf)
    jobs.write("insert", rows(range(12)))
    batch = [*rows(range(8, 20), "y", 2), row(3, "b", "z", 3)]
    before = digests(jobs.path)
    planned = jobs.write("upsert", batch, dry_run=True, source_reader=SourceReader.SPARK)
    assert digests(jobs.path) == before
    assert planned.plan is not None
    done = jobs.write("upsert", batch, source_reader=SourceReader.SPARK)
    by_partition = planned.plan["sizing"]["partitions"].values()
    assert planned.records_in == done.records_in
    inserts = sum(share["records"] for one in by_partition for share in [*one["small_files"], *one["new_file_groups"]])
    assert sum(sum(one["updates"].values()) for one in by_partition) + inserts == len({one["id"] for one in batch})


def test_a_dry_run_of_nothing(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("insert", rows(range(3)))
    planned = jobs.write("upsert", [], dry_run=True)
    assert planned.plan is not None
    assert planned.plan["sizing"]["partitions"] == {}


def test_a_dry_run_of_records_that_leave_their_partition(spark: SparkSession, tmp_path: Path) -> None:
    """Three are later than the stored ones, one is earlier and changes nothing, one is new."""
    payload = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    conf = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.datasource.write.payload.class": payload}
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf=conf)
    jobs.write("insert", rows(range(10), ts=5, partitions="a"))
    before = digests(jobs.path)
    batch = [*(row(number, "b", "y", 6) for number in range(3)), row(3, "b", "late", 4), row(20, "b", "y", 1)]
    planned = jobs.write("upsert", batch, dry_run=True)
    assert digests(jobs.path) == before
    assert planned.plan is not None
    partitions = planned.plan["sizing"]["partitions"]
    assert list(partitions["a"]["updates"].values()) == [3]
    assert [one["records"] for one in partitions["b"]["new_file_groups"]] == [4]
    jobs.write("upsert", batch)
    assert sorted(one["id"] for one in jobs.rows() if one["p"] == "b") == [0, 1, 2, 20]
    assert len(jobs.rows()) == 11
    assert _held(jobs) == []
