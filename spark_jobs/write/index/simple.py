"""SIMPLE and GLOBAL_SIMPLE: the incoming keys joined with all stored ones (Hudi: HoodieSimpleIndex)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.core.index.logged_inserts import slices_with_logged_inserts
from spark_jobs.core.index.stored_keys import slice_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import resolve
from spark_jobs.core.storage.confined import refuse_links
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.spark import parquet_files
from spark_jobs.write.index.incoming import Incoming
from spark_jobs.write.keys import record_key
from spark_jobs.write.tasks import BUCKET

KEY_AND_BUCKET = f"{RECORD_KEY} string, {BUCKET} int"


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


def locate_by_join(incoming: Incoming) -> DataFrame | None:
    """Key, partition path and bucket number of the incoming keys that a slice holds; None where none can."""
    if not incoming.records:
        return None
    by_base = _in_base_files(incoming)
    by_log = locate_in_logs(incoming)
    if by_base is None or by_log is None:
        return by_base if by_log is None else by_log
    return by_base.unionByName(by_log).distinct()


def _in_base_files(incoming: Incoming) -> DataFrame | None:
    with_base = incoming.with_base
    if not with_base:
        return None
    spark = incoming.spark
    files, paths = [], []
    for number, one in with_base.items():
        assert one.base_file is not None
        files.append((str(one.base_file.name), one.partition, number))
        paths.append(resolve(incoming.context.base_path, one.base_file.relative_path))
    refuse_links(incoming.table.storage, paths)
    numbers = spark.createDataFrame(files, f"file string, {PARTITION_PATH} string, {BUCKET} int")
    stored = StoredKeys(incoming.config.virtual_keys, incoming.context.file_format.schema)
    # the stored rows are thinned out by key alone before anything else is looked up for them
    return (
        stored.read(spark, paths)
        .join(incoming.hinted(incoming.keyed.select(RECORD_KEY)), RECORD_KEY, "left_semi")
        .join(F.broadcast(numbers), "file")
        .select(RECORD_KEY, PARTITION_PATH, BUCKET)
    )


def locate_in_logs(incoming: Incoming) -> DataFrame | None:
    """The same for keys that may stand in logs alone, or for those of all slices with logs where live keys alone count;
    None where no log can have such a key.
    """
    if incoming.live_alone:
        logged = {number: one for number, one in incoming.slices.items() if one.log_files}
    else:
        logged = slices_with_logged_inserts(incoming.slices, incoming.table.timeline, incoming.table.clock)
    if not logged:
        return None
    keys = incoming.keyed.select(RECORD_KEY)
    found = keys_of_slices(incoming, logged).join(incoming.hinted(keys), RECORD_KEY, "left_semi")
    return found.join(F.broadcast(incoming.numbers(logged)), BUCKET).select(RECORD_KEY, PARTITION_PATH, BUCKET)


def keys_of_slices(incoming: Incoming, slices: Mapping[int, FileSlice]) -> DataFrame:
    """Key and bucket number of every row of some slices, their logs merged."""
    reader, held = incoming.reader(), dict(slices)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for keys in slice_keys(reader, held[number]):
                    yield pa.RecordBatch.from_arrays(
                        [keys.cast(pa.string()), pa.repeat(pa.scalar(number, pa.int32()), len(keys))],
                        names=[RECORD_KEY, BUCKET],
                    )

    numbers = incoming.spark.createDataFrame([(number,) for number in held], "number int")
    return numbers.repartition(incoming.tasks(len(held))).mapInArrow(read, KEY_AND_BUCKET)
