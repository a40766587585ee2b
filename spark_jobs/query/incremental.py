"""The rows that a range of commits wrote, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.core.format.order import AFTER_ALL, BEFORE_ALL, follows, rows_in_range
from spark_jobs.core.schema.meta_fields import COMMIT_TIME
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.spark_task import freeze_loaded


def read_incremental(spark: SparkSession, table: HudiTable, begin: str, end: str) -> DataFrame:
    """Rows that commits after ``begin`` (exclusive) up to ``end`` (inclusive) wrote, as they stood at ``end``.

    A key that several of them wrote is there once, and a deleted one not at all, as in Hudi's incremental query. Files
    that none of these commits made are not opened.

    :raises ConfigError: virtual keys, or cleaning removed files of that moment.
    """
    scan = table.scan(begin=begin, end=end, query="incremental")
    reader, schema = scan.reader(), scan.schema
    first, last = scan.begin or BEFORE_ALL, end
    changed = [one for one in scan.slices() if follows(_last_change(one), first)]
    spark_schema = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    if not changed:
        return spark.createDataFrame([], spark_schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_loaded()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in reader.read(changed[number]):
                    time = rows.column(schema.get_field_index(COMMIT_TIME))
                    yield rows.filter(rows_in_range(time, first, last))

    return spark.range(0, len(changed), 1, len(changed)).mapInArrow(run, spark_schema)


def _last_change(file_slice: FileSlice) -> str:
    """The latest instant that may have put rows into a slice.

    Names of log files have the instant of their base file until table version 8: one that has logs may have changed
    at any time since.
    """
    if file_slice.log_files:
        return AFTER_ALL
    return file_slice.base_file.name.instant if file_slice.base_file is not None else BEFORE_ALL
