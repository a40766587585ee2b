"""The rows that a range of commits wrote, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.format.order import AFTER_ALL, BEFORE_ALL, follows, rows_in_range
from spark_jobs.core.schema.meta_fields import COMMIT_TIME
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.spark import rows_of_each


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

    def read(one: FileSlice) -> Iterator[pa.RecordBatch]:
        for rows in reader.read(one):
            time = rows.column(schema.get_field_index(COMMIT_TIME))
            yield rows.filter(rows_in_range(time, first, last))

    return rows_of_each(spark, changed, read, schema)


def _last_change(file_slice: FileSlice) -> str:
    """The latest instant that may have put rows into a slice.

    Names of log files have the instant of their base file until table version 8: one that has logs may have changed
    at any time since.
    """
    if file_slice.log_files:
        return AFTER_ALL
    return file_slice.base_file.name.instant if file_slice.base_file is not None else BEFORE_ALL
