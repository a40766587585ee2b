"""Global indexes: a key is one record in the whole table, also when it comes with another partition.

Hudi: HoodieIndexUtils.tagGlobalLocationBackToRecords, mergeForPartitionUpdatesIfNeeded.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import BooleanType

from spark_jobs.core.config.keys.index import IndexType, updates_partition
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.schema.meta_fields import IS_DELETED, PARTITION_PATH, RECORD_KEY
from spark_jobs.options.choices import Operation
from spark_jobs.write.index.incoming import Incoming, Tagged, grouped
from spark_jobs.write.index.merged_moves import MovedRows, record_schema
from spark_jobs.write.index.simple import keys_of_slices
from spark_jobs.write.tasks import BUCKET, MOVED

_AT, _CHOSEN, _SEVERAL, _SPLITS = "_pyhudi_at", "_pyhudi_chosen", "_pyhudi_several", "_pyhudi_splits"


def tag_globally(incoming: Incoming, located: DataFrame | None, kind: IndexType) -> Tagged:
    """The rows with the places of their keys, wherever in the table these are.

    With ``hoodie.*.index.update.partition.path`` a record that comes with another partition than its stored one goes to
    the new one, merged as the payload says, and a removal to the old one; without it, and for deletes, the record goes
    to the partition where its key is.

    :param located: key, partition path and bucket number of stored keys.
    """
    keyed = one_partition_for_each_key(incoming) if incoming.config.combine else incoming.keyed
    if located is None:
        return Tagged(frame=keyed.withColumn(BUCKET, F.lit(None).cast("int")))
    moves = _moves(incoming, kind)
    places = located
    if kind is not IndexType.RECORD_INDEX:  # which knows each key once, and none whose record was removed
        places = incoming.hold(one_place_for_each_key(incoming, located, live_alone=moves))
    at = places.withColumnRenamed(PARTITION_PATH, _AT)
    joined = keyed.join(incoming.hinted(at), RECORD_KEY, "left")
    if not moves:
        stays = joined.withColumn(PARTITION_PATH, F.coalesce(_AT, PARTITION_PATH)).drop(_AT)
        return Tagged(frame=stays)
    leaves = F.coalesce(F.col(_AT) != F.col(PARTITION_PATH), F.lit(False))
    if type(incoming.context.payload) is OverwriteWithLatest:
        return Tagged(frame=_replaced(joined, leaves))
    settled = incoming.hold(_settled(incoming, joined.where(leaves).drop(_AT)))
    stays = joined.where(~leaves).drop(_AT).withColumn(MOVED, F.lit(False))
    return Tagged(frame=stays.unionByName(settled, allowMissingColumns=True))


def _moves(incoming: Incoming, kind: IndexType) -> bool:
    is_delete = incoming.config.operation is Operation.DELETE
    is_partitioned = bool(incoming.config.key_spec.parts)
    return not is_delete and is_partitioned and updates_partition(kind, incoming.config.properties)


def one_partition_for_each_key(incoming: Incoming) -> DataFrame:
    """The rows without those of a key in other partitions than that of its greatest ordering value."""
    keyed, ordering = incoming.keyed, incoming.config.precombine_field
    by_ordering = ordering and ordering in keyed.columns and incoming.config.operation is not Operation.DELETE
    rank = F.col(f"`{ordering}`") if by_ordering else F.lit(0)
    partition = F.col(PARTITION_PATH)
    chosen = (
        keyed.groupBy(RECORD_KEY)
        .agg(
            F.max_by(partition, F.struct(rank, partition)).alias(_CHOSEN),
            (F.min(partition) != F.max(partition)).alias(_SEVERAL),
        )
        .where(_SEVERAL)
        .drop(_SEVERAL)
    )
    kept = F.coalesce(F.col(_CHOSEN) == partition, F.lit(True))
    return keyed.join(incoming.hinted(chosen), RECORD_KEY, "left").where(kept).drop(_CHOSEN)


def one_place_for_each_key(incoming: Incoming, located: DataFrame, *, live_alone: bool) -> DataFrame:
    """``located`` with a place a key.

    In a MERGE_ON_READ table a base file may hold keys whose records its logs removed, to another partition for
    instance: the place where the record still is comes first.

    :param live_alone: leave out the keys whose records were removed; else they keep a place, as Hudi has it.
    """
    dead = F.lit(False)
    places = located
    if incoming.config.is_merge_on_read:
        touched = {row[0] for row in located.select(BUCKET).distinct().collect()}
        logged = {number: incoming.slices[number] for number in touched if incoming.slices[number].log_files}
        if logged:
            alive = keys_of_slices(incoming, logged).withColumn("alive", F.lit(True))
            checked = F.col(BUCKET).isin(list(logged))
            places = located.join(alive, [RECORD_KEY, BUCKET], "left")
            dead = checked & F.col("alive").isNull()
            if live_alone:
                places, dead = places.where(~dead), F.lit(False)
    place = F.struct(dead.alias("dead"), F.col(PARTITION_PATH), F.col(BUCKET))
    first = places.groupBy(RECORD_KEY).agg(F.min(place).alias("place"))
    return first.select(RECORD_KEY, f"place.{PARTITION_PATH}", f"place.{BUCKET}")


def _replaced(joined: DataFrame, leaves: Column) -> DataFrame:
    """``joined`` where the incoming record takes the stored one's place whatever that is.

    One that leaves becomes two rows, itself without a place, and the removal at the place where it was. A delete goes
    to where its record is.
    """
    is_delete = F.coalesce(F.col(IS_DELETED), F.lit(False)) if _has_deletes(joined) else F.lit(False)
    splits = leaves & ~is_delete
    both = F.explode(F.when(splits, F.array(F.lit(False), F.lit(True))).otherwise(F.array(F.lit(False))))
    split = joined.withColumn(_SPLITS, splits).withColumn(MOVED, both)
    at = F.when(F.col(MOVED) | ~F.col(_SPLITS), F.coalesce(_AT, PARTITION_PATH)).otherwise(F.col(PARTITION_PATH))
    bucket = F.when(F.col(MOVED) | ~F.col(_SPLITS), F.col(BUCKET))
    return split.withColumn(PARTITION_PATH, at).withColumn(BUCKET, bucket).drop(_AT, _SPLITS)


def _has_deletes(rows: DataFrame) -> bool:
    return any(field.name == IS_DELETED and isinstance(field.dataType, BooleanType) for field in rows.schema)


def _settled(incoming: Incoming, moving: DataFrame) -> DataFrame:
    """What becomes of records that leave their partition, by the payload and the stored records."""
    moved = MovedRows(context=incoming.context, reader=incoming.reader(), slices=dict(incoming.slices))
    arrow = pa.schema([*record_schema(incoming.context), (BUCKET, pa.int32()), (MOVED, pa.bool_())])
    schema = from_arrow_schema(arrow, prefer_timestamp_ntz=True)
    wanted = to_arrow_schema(schema, timezone="UTC")

    def settle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, rows in grouped(batches):
            yield from moved.settle(number, rows).select(wanted.names).cast(wanted).to_batches()

    tasks = incoming.tasks(len(incoming.slices))
    return moving.repartitionById(tasks, F.col(BUCKET) % tasks).sortWithinPartitions(BUCKET).mapInArrow(settle, schema)
