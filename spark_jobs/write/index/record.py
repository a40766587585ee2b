"""RECORD_INDEX: the metadata table says where each key is (Hudi: SparkMetadataTableRecordIndex)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.write.index.incoming import grouped

_SHARD = "_pyhudi_shard"
FOUND = f"{RECORD_KEY} string, {PARTITION_PATH} string, file_id string"


def record_index_of(table: HudiTable) -> RecordIndex | None:
    """The record index of a table; None where it has none."""
    return RecordIndex.open(table.storage, table.base_path, table.config, table.timeline, table.clock)


def look_up(index: RecordIndex, keyed: DataFrame, tasks: int) -> DataFrame:
    """Key, partition path and file id of the incoming keys that the index knows; each file group of it is asked by one
    task for all its keys.
    """

    def number(texts: pa.Array) -> pa.Array:
        return pa.array(index.shard_numbers(texts)).cast(pa.int32())

    shards: Column = arrow_udf(number, "int", ArrowUDFType.SCALAR)(F.col(RECORD_KEY))
    several = max(1, min(tasks, len(index.shards)))

    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for shard, rows in grouped(batches, _SHARD):
            found = index.shards[shard].locations(rows.column(RECORD_KEY).combine_chunks())
            columns = [found.column("key"), found.column("partition"), found.column("file_id")]
            yield from pa.table(columns, names=[RECORD_KEY, PARTITION_PATH, "file_id"]).to_batches()

    asked = keyed.select(RECORD_KEY).withColumn(_SHARD, shards).repartitionById(several, F.col(_SHARD) % several)
    return asked.sortWithinPartitions(_SHARD).mapInArrow(ask, FOUND)
