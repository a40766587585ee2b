"""Which incoming records the table has, and in which slice (Hudi: HoodieSimpleIndex): a join on the JVM side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.core.files.names import join
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.spark import parquet_files
from spark_jobs.write.keys import record_key
from spark_jobs.write.tasks import BUCKET

BROADCAST_ROWS = 2_000_000
"""Incoming keys up to so many are sent to every task that scans stored keys; more are shuffled."""


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """Where base files have their keys: in a meta column, or in the columns of ``virtual_keys``, by the table's
    ``schema``.
    """

    virtual_keys: KeySpec | None
    schema: pa.Schema

    def read(self, spark: SparkSession, paths: list[str]) -> DataFrame:
        """Record key and file name of every row of the files."""
        if self.virtual_keys is None:
            rows = parquet_files(spark, paths, f"{RECORD_KEY} string")
            key = F.col(RECORD_KEY)
        else:
            names = {name.split(".")[0] for name in self.virtual_keys.record_key_fields}
            columns = pa.schema([field for field in self.schema if field.name in names])
            rows = parquet_files(spark, paths, from_arrow_schema(columns, prefer_timestamp_ntz=True))
            key = record_key(rows, self.virtual_keys, virtual=True).alias(RECORD_KEY)
        return rows.select(key, F.col("_metadata.file_name").alias("file"))


def locate(
    spark: SparkSession,
    keyed: DataFrame,
    base_path: str,
    slices: Mapping[int, FileSlice],
    incoming: int,
    stored: StoredKeys,
) -> DataFrame | None:
    """Key, partition path and slice number of the records of ``keyed`` that a base file holds; None where none can.

    :param slices: by bucket number; those without a base file hold no key that this index finds.
    :param incoming: rows in ``keyed``.
    """
    with_base = {number: one for number, one in slices.items() if one.base_file is not None}
    if not with_base or not incoming:
        return None
    files = [
        (str(one.base_file.name), one.partition, number)
        for number, one in with_base.items()
        if one.base_file is not None
    ]
    numbers = spark.createDataFrame(files, f"file string, {PARTITION_PATH} string, {BUCKET} int")
    keys = keyed.select(RECORD_KEY)
    paths = [join(base_path, one.base_file.relative_path) for one in with_base.values() if one.base_file is not None]
    # the stored rows are thinned out by key alone before anything else is looked up for them
    return (
        stored.read(spark, paths)
        .join(F.broadcast(keys) if incoming <= BROADCAST_ROWS else keys, RECORD_KEY, "left_semi")
        .join(F.broadcast(numbers), "file")
        .select(RECORD_KEY, PARTITION_PATH, BUCKET)
    )


def tag(keyed: DataFrame, located: DataFrame | None, incoming: int) -> DataFrame:
    """``keyed`` with the number of the slice that holds each record, null for records that are new."""
    if located is None:
        return keyed.withColumn(BUCKET, F.lit(None).cast("int"))
    known = F.broadcast(located) if incoming <= BROADCAST_ROWS else located
    return keyed.join(known, [RECORD_KEY, PARTITION_PATH], "left")
