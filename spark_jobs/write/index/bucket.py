"""BUCKET: the key's hash is the file group, so that nothing is looked up (Hudi: HoodieSimpleBucketIndex)."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from spark_jobs.core.index.bucket_check import numbers_by_bucket, refuse_other_buckets
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import bucket_ids, file_id_of
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.options.choices import Operation
from spark_jobs.write.index.incoming import Incoming, Tagged
from spark_jobs.write.pack import NewGroup
from spark_jobs.write.tasks import BUCKET

_HASHED = "_pyhudi_hashed"


def tag_by_bucket(incoming: Incoming) -> Tagged:
    """Each record with the file group of its bucket; those of buckets that have none yet get new ones.

    :raises CorruptTableError: a group that can't be of a bucket, or two of one bucket.
    :raises ConfigError: the table has another number of buckets.
    """
    settings = BucketSettings.of(incoming.config.properties, incoming.config.key_spec.record_key_fields)
    number_of = numbers_by_bucket(incoming.slices, settings.buckets)
    refuse_other_buckets(incoming.reader(), incoming.slices.values(), settings)
    hashed = incoming.hold(_hashed(incoming, settings))
    touched = [tuple(row) for row in hashed.groupBy(PARTITION_PATH, _HASHED).count().collect()]
    new_groups: dict[int, NewGroup] = {}
    next_number = len(incoming.slices)
    for partition, bucket, records in sorted(touched):
        if (partition, bucket) not in number_of:
            number_of[(partition, bucket)] = next_number
            file_id = file_id_of(bucket, incoming.table.clock.new_uuid())
            new_groups[next_number] = NewGroup(partition, file_id, records)
            next_number += 1
    rows = [(partition, bucket, number_of[(partition, bucket)]) for partition, bucket, _ in touched]
    numbers = incoming.spark.createDataFrame(rows, f"{PARTITION_PATH} string, {_HASHED} int, {BUCKET} int")
    frame = hashed.join(F.broadcast(numbers), [PARTITION_PATH, _HASHED]).drop(_HASHED)
    if incoming.config.operation is Operation.DELETE:  # keys that the table can't have
        return Tagged(frame=frame.where(F.col(BUCKET) < len(incoming.slices)), new_groups={})
    return Tagged(frame=frame, new_groups=new_groups)


def _hashed(incoming: Incoming, settings: BucketSettings) -> DataFrame:
    def bucket(texts: pa.Array) -> pa.Array:
        return pa.array(bucket_ids(texts, settings.fields, settings.buckets))

    hashed: Column = arrow_udf(bucket, "int", ArrowUDFType.SCALAR)(F.col(RECORD_KEY))
    return incoming.keyed.withColumn(_HASHED, hashed)
