"""Rows that don't fit, behind whatever a transformer asks for: Spark must not ask that first, and drop them unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.core.lake import Lake
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.error_rows import PROBLEM, CheckedRows, ErrorReason, problem
from spark_jobs.write.sources.kafka_values import MessageValues

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def messages(spark: SparkSession) -> DataFrame:
    """As Spark's source of Kafka gives them; of three the first is a row."""
    values = ['{"id":1,"ts":1}', '{"id":2,"ts":"soon"}', '{"id":3,"ts":']
    rows = [(value.encode(), "t", 0, offset) for offset, value in enumerate(values)]
    found = spark.createDataFrame(rows, "value binary, topic string, partition int, offset long")
    options = IngestOptions(base_path="/nowhere", source_format="kafka", source_schema="id bigint, ts bigint")
    checked = MessageValues.of(options, None, Lake()).rows(found)
    assert isinstance(checked, CheckedRows)
    return checked.refusing


def columns(rows: DataFrame) -> DataFrame:
    """Rows that are bad where ``ts`` is null, which Parquet's reader can be told to leave out."""
    bad = problem(ErrorReason.CORRUPT_RECORD, None, "bad:", F.col("id").cast("string"))
    return CheckedRows(rows=rows.withColumn(PROBLEM, F.when(F.col("ts").isNull(), bad))).refusing


def test_no_filter_comes_before_what_is_wrong_with_a_row(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1, 4).withColumn("ts", F.when(F.col("id") == 1, F.lit(1)))
    rows.write.parquet(str(tmp_path / "rows"))
    for refusing in (messages(spark), columns(rows), columns(spark.read.parquet(str(tmp_path / "rows")))):
        for wanted in ("ts > 0", "ts IS NOT NULL", "id = 1", "id + 1 < 0"):
            with pytest.raises(PySparkException, match="BadRecordError"):
                refusing.where(wanted).collect()
