"""Spark as the engine: pieces of work as tasks, by DataFrames alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.dealing import dealt, tasks_for
from spark_jobs.engine.exchange import exchange
from spark_jobs.engine.spark_task import freeze_loaded, from_text, session_settings, task_scope, to_text
from spark_jobs.engine.task_watch import let_tasks_end, reporting_tasks

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class SparkEngine:
    """Ships items and work to Python workers, and brings the outcomes back pickled."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    @property
    def slots(self) -> int:
        return parallelism(self.spark)

    def settle(self, bytes_in: int, calls: int = 0) -> str:
        return "spark"

    def run_each(
        self,
        items: Sequence[Item],
        work: Callable[[Item, TaskScope], Outcome],
        advance: Callable[[int], Any] = lambda steps: None,
        sizes: Sequence[int] | None = None,
    ) -> list[Outcome]:
        if not items:
            return []
        held = list(items)
        shares = [[number] for number in range(len(held))]
        if sizes is not None:
            shares = dealt(sizes, tasks_for(sizes, self.slots))

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for share in batch.column(0).to_pylist():
                    scope = task_scope()
                    for number in shares[share]:
                        outcome = to_text(work(held[number], scope))
                        yield pa.RecordBatch.from_pydict({"number": [number], "outcome": [outcome]})

        tasks = self.spark.range(0, len(shares), 1, len(shares)).mapInArrow(run, "number bigint, outcome string")
        found: dict[int, Outcome] = {}
        context = self.spark.sparkContext
        try:
            with reporting_tasks(context, len(shares), len(held), advance):
                for row in tasks.toLocalIterator() if len(shares) > 1000 else tasks.collect():
                    found[row.number] = from_text(row.outcome)
        except Exception:
            let_tasks_end(context)
            raise
        return [found[number] for number in range(len(held))]

    def exchange(
        self,
        items: Sequence[Item],
        split: Callable[[Item], Iterable[tuple[int, pa.RecordBatch]]],
        tasks: int,
        work: Callable[[list[pa.RecordBatch], TaskScope], Outcome],
    ) -> list[Outcome]:
        return exchange(self.spark, items, split, tasks, work)


def rows_of_each(
    spark: SparkSession, items: Sequence[Item], read: Callable[[Item], Iterable[pa.RecordBatch]], schema: pa.Schema
) -> DataFrame:
    """The rows that ``read`` gives of the items, each read by a task of its own.

    :param schema: of the rows, in Arrow's types.
    """
    columns = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    if not items:
        return spark.createDataFrame([], columns)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_loaded()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(items[number])

    return spark.range(0, len(items), 1, len(items)).mapInArrow(run, columns)


def parallelism(spark: SparkSession) -> int:
    """Tasks that the session can run at once, as far as it tells."""
    return max(int(spark.sparkContext.defaultParallelism), 1)


def scan_tasks(spark: SparkSession, sizes: Sequence[int]) -> int:
    """The tasks in which Spark reads files of these sizes in bytes (Spark: FilePartition.maxSplitBytes)."""
    opening = _bytes(spark.conf.get("spark.sql.files.openCostInBytes"))
    most = _bytes(spark.conf.get("spark.sql.files.maxPartitionBytes"))
    least_tasks = int(spark.conf.get("spark.sql.files.minPartitionNum", None) or 0) or parallelism(spark)
    total = sum(sizes) + opening * len(sizes)
    return max(1, math.ceil(total / min(most, max(opening, total // least_tasks))))


def _bytes(text: str | None) -> int:
    """A size as Spark's settings have it, such as 128MB or 134217728b."""
    match = re.fullmatch(r"(\d+)\s*([kmgtp]?)i?b?", (text or "").strip().lower())
    if match is None:
        raise ConfigError(f"{text!r} is no size in bytes", todo="correct spark.sql.files.* in the Spark settings")
    return int(match[1]) << (10 * " kmgtp".index(match[2] or " "))


def parquet_files(spark: SparkSession, paths: Sequence[str], schema: StructType | str) -> DataFrame:
    """Rows of Parquet files by Spark's own scan: paths are taken to the letter, never as patterns, and columns from the
    files alone, whatever the folders are called."""
    reader = spark.read.schema(schema).option("__globPaths__", "false").option("recursiveFileLookup", "true")
    # which Spark 3.5 has to be told: old dates are read as they are
    return reader.options(datetimeRebaseMode="CORRECTED", int96RebaseMode="CORRECTED").parquet(*paths)


@contextmanager
def tuned_for_arrow(spark: SparkSession) -> Iterator[None]:
    """Settings for the time of one write.

    Batches are large enough that the work on a batch outweighs its overhead, still small beside a worker's memory.
    Tagged rows are cached to be read once or twice: compressing them took a quarter of the time of tagging.
    """
    settings = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
    }
    with session_settings(spark, settings):
        yield
