"""Blocks of rows from the tasks that read them to the tasks that are to have them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.exchange import exchange

pytestmark = pytest.mark.spark

BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def by_remainder(item: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Two blocks for each of three tasks."""
    for half in (0, 1):
        for target in range(3):
            yield target, pa.record_batch({"text": [f"{item}.{half} for {target}"], "list": [[item, half]]})


def texts(blocks: list[pa.RecordBatch], scope: TaskScope) -> tuple[int, list[str]]:
    return scope.task, [text for block in blocks for text in block.column("text").to_pylist()]


def test_blocks_come_to_their_task_in_the_order_of_the_items(spark: SparkSession) -> None:
    before = spark.conf.get(BATCH_ROWS)
    found = exchange(spark, list(range(12)), by_remainder, 5, texts)
    assert sorted(found) == [
        (target, [f"{item}.{half} for {target}" for item in range(12) for half in (0, 1)]) for target in range(3)
    ]
    assert spark.conf.get(BATCH_ROWS) == before


def test_nothing_to_exchange(spark: SparkSession) -> None:
    assert exchange(spark, [], by_remainder, 2, texts) == []
    assert exchange(spark, [1], lambda item: iter(()), 2, texts) == []


def test_what_breaks_in_a_task_is_told_and_settings_are_put_back(spark: SparkSession) -> None:
    def broken(item: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        raise ValueError(f"no rows in {item}")

    before = spark.conf.get(BATCH_ROWS)
    with pytest.raises(PySparkException, match="no rows in 7"):
        exchange(spark, [7], broken, 2, texts)
    assert spark.conf.get(BATCH_ROWS) == before
