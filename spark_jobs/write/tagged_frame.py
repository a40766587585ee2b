"""Records placed and written by Spark: tagged by joins, shuffled to the tasks of their file groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.core.config.keys.datasource import DuplicatePolicy
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.engine.spark_task import task_scope
from spark_jobs.write.index.incoming import Incoming
from spark_jobs.write.index.tagging import Index
from spark_jobs.write.profile import WorkloadProfile
from spark_jobs.write.routes import RoutingPlan, number_slices
from spark_jobs.write.tasks import BUCKET, STAT_SCHEMA, RecordRules, as_batches, write_buckets
from spark_jobs.write.workload import OpenWrite, Spread, Workload

_BOUNDS, _BUCKETS = "_pyhudi_bounds", "_pyhudi_buckets"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedFrame:
    """``frame`` has the bucket of each record in a column, null for new ones."""

    open_write: OpenWrite
    frame: DataFrame

    def write(self, plan: RoutingPlan, spread: Spread, rules: RecordRules) -> list[WriteStat]:
        """Write the records by the plan, a task for each share of the buckets."""
        context = self.open_write.context
        routed = insert_buckets(self.frame, spread) if spread else self.frame
        if rules.all_deleted:
            routed = routed.where(F.col(BUCKET).isNotNull())  # the others are keys that the table never had
        else:
            lost = F.raise_error(F.lit("a record has no file group: the source gave other rows when it was read again"))
            routed = routed.withColumn(
                BUCKET, F.when(F.col(BUCKET).isNull(), lost.cast("int")).otherwise(F.col(BUCKET))
            )
        routes, tasks = dict(plan.routes), plan.tasks

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return as_batches(write_buckets(batches, context, task_scope(), routes, rules))

        placed = routed.repartitionById(tasks, F.col(BUCKET) % tasks).sortWithinPartitions(BUCKET)
        rows = placed.mapInArrow(work, STAT_SCHEMA).collect()
        return [WriteStat.from_json(json.loads(row.stat), "a task of this write") for row in rows]


@contextmanager
def place_by_joins(write: OpenWrite, keyed: DataFrame) -> Iterator[Workload]:
    """Records with their places by Spark's joins.

    :param keyed: key and partition path beside the data columns.

    They are computed once and kept until the end: a source that answered otherwise at a second reading would send a
    record to another file group than the one that holds its key.
    """
    keyed = keyed.persist()
    held: list[DataFrame] = [keyed]
    try:
        with write.progress.phase("tag"):
            counts = {row[0]: row[1] for row in keyed.groupBy(PARTITION_PATH).count().collect()}
            index = Index.of(write.config, write.table, write.progress.note, held)
            view, replaced = write.target(counts, index.partitions(keyed, counts, 2 * write.engine.slots))
            slices = number_slices(write.table.slices_to_read(view))
            incoming = Incoming(
                spark=keyed.sparkSession,
                table=write.table,
                config=write.config,
                context=write.context,
                keyed=keyed,
                records=sum(counts.values()),
                slices=slices,
                held=held,
            )
            dropped = 0
            if write.config.duplicates is not DuplicatePolicy.NONE:
                known = index.find(incoming)
                dropped = known.where(F.col(BUCKET).isNotNull()).count()
                write.refuse_duplicates(dropped)
                incoming = replace(incoming, keyed=known.where(F.col(BUCKET).isNull()).select(*keyed.columns))
            tagged = index.tag(incoming)
            profile = _profile_of(tagged.frame, combine=write.config.combine).beginning(tagged.new_groups or {})
        yield Workload(
            view=view,
            slices=slices,
            records=TaggedFrame(open_write=write, frame=tagged.frame),
            profile=profile,
            begun=tagged.new_groups,
            replaced=replaced,
            dropped=dropped,
        )
    finally:
        for one in held:
            one.unpersist()


def _profile_of(tagged: DataFrame, *, combine: bool) -> WorkloadProfile:
    """Count; this also computes ``tagged`` where it is persisted.

    :param combine: records of one key become one, and count so.
    """
    counted = F.count_distinct(RECORD_KEY) if combine else F.count("*")
    updates: dict[int, int] = {}
    inserts: dict[str, int] = {}
    partition_of: dict[int, str] = {}
    for row in tagged.groupBy(PARTITION_PATH, BUCKET).agg(counted).collect():
        partition, bucket, count = row
        if bucket is None:
            inserts[partition] = count
        else:
            updates[bucket] = count
            partition_of[bucket] = partition
    return WorkloadProfile(updates, inserts, partition_of)


def insert_buckets(tagged: DataFrame, spread: Spread) -> DataFrame:
    """``tagged`` with a bucket for every new record: by a hash of its key over the shares of its partition, so that
    every attempt of a task decides alike.
    """
    rows = []
    for partition, shares in spread.items():
        bounds = [sum(records for _, records in shares[: end + 1]) for end in range(len(shares))]
        rows.append((partition, bounds, [number for number, _ in shares]))
    schema = f"{PARTITION_PATH} string, {_BOUNDS} array<bigint>, {_BUCKETS} array<int>"
    shares_of = tagged.sparkSession.createDataFrame(rows, schema)
    position = F.pmod(F.xxhash64(RECORD_KEY), F.element_at(_BOUNDS, -1))
    passed = F.size(F.filter(_BOUNDS, lambda bound: bound <= position))
    chosen = F.when(F.col(_BOUNDS).isNotNull(), F.get(_BUCKETS, passed))
    joined = tagged.join(F.broadcast(shares_of), PARTITION_PATH, "left")
    return joined.withColumn(BUCKET, F.coalesce(F.col(BUCKET), chosen)).drop(_BOUNDS, _BUCKETS)
