"""Sources that the tasks read themselves: the same table as through Spark, and a word on who read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.core.config.keys.write import DRIVER_ROWS
from spark_jobs.core.errors import HudiError
from spark_jobs.core.lake import LAKE
from spark_jobs.options.choices import SourceReader
from spark_jobs.write.direct import placed_source
from spark_jobs.write.direct.choose import parquet_source
from spark_jobs.write.direct.source import ParquetSource, RowRange
from spark_jobs.write.schema import source_schema
from tests.spark.tables import COW, MOR, SCHEMA, Jobs, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SPARK: dict[str, Any] = {"source_reader": SourceReader.SPARK}
CHANGES = [
    row(1, "a", "new", 2),
    row(1, "a", "newer", 3),
    row(2, "b", "old", 0),
    row(3, "c", "moved", 2),
    {**row(4, "b", "gone", 2), "_hoodie_is_deleted": True},
    row(6, "a", "six", 2),
    row(100, "a", "n", 1),
    row(101, "d", "n", 1),
    row(101, "d", "later", 2),
]
INDEXES: dict[str, dict[str, str]] = {
    "SIMPLE": {},
    "BLOOM": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "2"},
    "RECORD_INDEX": {"hoodie.metadata.record.index.enable": "true"},
    "GLOBAL_BLOOM": {"hoodie.bloom.index.update.partition.path": "false"},
    "GLOBAL_SIMPLE": {},
}


@pytest.mark.parametrize(
    ("table_type", "index"),
    [
        *((COW, "SIMPLE"), (COW, "BLOOM"), (COW, "RECORD_INDEX"), (MOR, "SIMPLE"), (MOR, "BUCKET")),
        *((COW, "GLOBAL_BLOOM"), (MOR, "GLOBAL_SIMPLE")),
    ],
)
def test_tasks_write_what_spark_would(spark: SparkSession, tmp_path: Path, table_type: str, index: str) -> None:
    conf = {"hoodie.index.type": index, **INDEXES[index]}
    by_tasks = Jobs(spark=spark, path=tmp_path / "tasks", table_type=table_type, conf=conf)
    by_spark = Jobs(spark=spark, path=tmp_path / "spark", table_type=table_type, conf=conf)
    for op, batch in (
        ("insert", rows(range(12))),
        ("upsert", CHANGES),
        ("delete", [row(5, "b", "x"), row(999, "a", "x")]),
    ):
        one, other = by_tasks.write(op, batch), by_spark.write(op, batch, **SPARK)
        assert one.extra["source_reader"] == "tasks"
        assert other.extra["source_reader"] == "spark, as --source-reader asks"
        assert by_tasks.rows() == by_spark.rows()
        assert (one.records_in, one.records_out, one.files_out) == (
            other.records_in,
            other.records_out,
            other.files_out,
        )


@pytest.mark.parametrize(("table_type", "most"), [(COW, 1000), (MOR, 1000), (COW, 5), (MOR, 1)])
def test_tasks_send_the_rows_of_a_large_source_to_each_other(
    spark: SparkSession, tmp_path: Path, table_type: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows alone, or the keys of all before, where the driver is not to hold so many."""
    monkeypatch.setattr(placed_source, "MOST_READ_AGAIN", 0)
    monkeypatch.setattr(placed_source, "FEW_ROWS", 0)
    by_tasks, by_spark = (
        Jobs(spark=spark, path=tmp_path / name, table_type=table_type, conf={DRIVER_ROWS.name: str(most)})
        for name in ("tasks", "spark")
    )
    batches = [
        ("insert", rows(range(12))),
        ("insert", rows(range(20, 24))),
        ("upsert", CHANGES),
        ("delete", CHANGES[:2]),
    ]
    for op, batch in (*batches, ("insert_overwrite", rows(range(30, 33)))):
        one, other = by_tasks.write(op, batch), by_spark.write(op, batch, **SPARK)
        assert one.extra["source_reader"] == "tasks"
        assert by_tasks.rows() == by_spark.rows()
        assert (one.records_in, one.records_out, one.files_out) == (
            other.records_in,
            other.records_out,
            other.files_out,
        )


def test_rows_of_one_key_are_combined_wherever_they_stand(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placed_source, "MOST_READ_AGAIN", 0)
    monkeypatch.setattr(placed_source, "FEW_ROWS", 0)
    conf = {"hoodie.combine.before.insert": "true", "hoodie.copyonwrite.insert.split.size": "2"}
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf={**conf, "hoodie.copyonwrite.insert.auto.split": "false"})
    result = jobs.write(
        "insert", [*rows(range(10)), *(row(number, "ab"[number % 2], "later", 9) for number in range(10))]
    )
    assert result.files_out > 2
    assert jobs.rows() == shown([row(number, "ab"[number % 2], "later", 9) for number in range(10)])


@pytest.mark.parametrize("op", ["bulk_insert", "insert_overwrite", "insert_overwrite_table"])
def test_tasks_write_new_file_groups_as_spark_does(spark: SparkSession, tmp_path: Path, op: str) -> None:
    by_tasks, by_spark = (Jobs(spark=spark, path=tmp_path / name) for name in ("tasks", "spark"))
    for batch in (rows(range(9)), rows(range(5, 7), "y")):
        assert by_tasks.write(op, batch).extra["source_reader"] == "tasks"
        by_spark.write(op, batch, **SPARK)
        assert by_tasks.rows() == by_spark.rows()


def test_records_that_a_payload_merges_on_their_way(spark: SparkSession, tmp_path: Path) -> None:
    payload = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    conf = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.datasource.write.payload.class": payload}
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf=conf)
    jobs.write("insert", [row(1, "a", "x", 5), row(2, "a", "x")])
    assert jobs.write("upsert", [row(2, "a", "y", 2)]).extra["source_reader"] == "tasks"
    moved = jobs.write("upsert", [row(1, "b", "late", 2), row(2, "b", "z", 3)])
    assert moved.extra["source_reader"] == "tasks"
    assert jobs.rows() == shown([row(1, "a", "x", 5), row(2, "b", "z", 3)])


def test_an_insert_drops_what_the_table_has(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf={"hoodie.datasource.write.insert.drop.duplicates": "true"})
    jobs.write("insert", [row(1, "a", "x")])
    result = jobs.write("insert", [row(1, "a", "y", 2), row(2, "a", "y", 2)])
    assert result.extra["dropped_duplicates"] == 1
    assert jobs.rows() == shown([row(1, "a", "x"), row(2, "a", "y", 2)])


def test_null_keys_and_bad_partitions_are_one_line(spark: SparkSession, tmp_path: Path) -> None:
    for op in ("bulk_insert", "upsert"):
        jobs = Jobs(spark=spark, path=tmp_path / op)
        with pytest.raises((HudiError, PySparkException), match=r"a record has no value in its key \(id\)"):
            jobs.write(op, [row(1, "a", "x"), {**row(1, "a", "x"), "id": None}])
        with pytest.raises((HudiError, PySparkException), match="a value of partition column p"):
            jobs.write(op, [row(1, "../up", "x")])
        assert not (tmp_path / op).exists()


def test_a_nested_column_is_read_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    schema = SCHEMA.append(pa.field("tags", pa.list_(pa.string())))
    table = pa.Table.from_pylist([{**row(1, "a", "x"), "tags": ["t"]}], schema=schema)
    assert jobs.write("bulk_insert", table).extra["source_reader"] == "tasks"
    assert jobs.rows() == [{**shown([row(1, "a", "x")])[0], "tags": ["t"]}]


NESTED = pa.table(
    {
        "words": pa.array([["a", None], [], None], pa.list_(pa.string())),
        "grid": pa.array([[[1], None, []], [], None], pa.list_(pa.list_(pa.int32()))),
        "place": pa.array(
            [{"city": "Oslo", "day": 1}, {"city": None, "day": None}, None],
            pa.struct([("city", pa.string()), ("day", pa.date32())]),
        ),
        "by": pa.array([[("k", [{"x": 1}])], [], None], pa.map_(pa.string(), pa.list_(pa.struct([("x", pa.int64())])))),
        "stops": pa.array(
            [[{"n": 1, "tags": ["t"]}, None], [], None],
            pa.list_(pa.struct([("n", pa.int32()), ("tags", pa.list_(pa.string()))])),
        ),
        "one": pa.array([[{"n": 1}], [None], None], pa.list_(pa.struct([("n", pa.int32())]))),
    }
)


@pytest.mark.parametrize("writer", ["arrow", "arrow of old", "spark", "spark of old"])
def test_nested_columns_are_what_spark_has(spark: SparkSession, tmp_path: Path, writer: str) -> None:
    folder = tmp_path / "source"
    if writer.startswith("arrow"):
        folder.mkdir()
        pq.write_table(NESTED, folder / "a.parquet", use_compliant_nested_type=writer == "arrow")
    else:
        legacy = str(writer == "spark of old").lower()
        spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
        try:
            spark.createDataFrame(NESTED).coalesce(1).write.parquet(str(folder))
        finally:
            spark.conf.unset("spark.sql.parquet.writeLegacyFormat")
    frame = spark.read.parquet(str(folder))
    urls = sorted(str(one) for one in folder.glob("*.parquet"))
    by_itself, as_spark_says = parquet_source(None, urls, LAKE), parquet_source(source_schema(frame), urls, LAKE)
    assert isinstance(by_itself, ParquetSource), by_itself
    assert isinstance(as_spark_says, ParquetSource), as_spark_says
    wanted = frame.toArrow().to_pylist()
    for source in (by_itself, as_spark_says):
        (batch,) = source.read(RowRange(0, 3))
        assert batch.to_pylist() == wanted
