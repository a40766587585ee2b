"""Upserts, inserts and deletes: tag, pack, route, and one task for each share of the file groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.core.config import write_keys
from spark_jobs.core.config.operation_keys import DUPLICATE_POLICY, DuplicatePolicy
from spark_jobs.core.errors import BadRecordError, WriteConflictError
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.instant import Instant
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.spark import parallelism, task_scope
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import REPLACES, WriteConfig
from spark_jobs.write.overwrite import ReplacedGroups, overwritten_partitions, replaced_groups
from spark_jobs.write.pack import (
    InsertShare,
    SizeSettings,
    average_record_size,
    by_partition,
    pack_inserts,
    small_files,
)
from spark_jobs.write.profile import WorkloadProfile, workload_metadata
from spark_jobs.write.publish import Written
from spark_jobs.write.routes import (
    AppendRoute,
    CreateRoute,
    MergeRoute,
    Route,
    RoutingPlan,
    append_target,
    number_slices,
)
from spark_jobs.write.tag import StoredKeys, locate, tag
from spark_jobs.write.tasks import BUCKET, STAT_SCHEMA, RecordRules, as_batches, write_buckets

ROWS_PER_TASK = 250_000
_BOUNDS, _BUCKETS = "_pyhudi_bounds", "_pyhudi_buckets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The records of a write with their places in ``slices`` of ``view``, and how many go where.

    ``replaced`` is what an overwrite takes the place of, ``dropped`` how many records an insert leaves out.
    """

    view: FileSystemView
    slices: Mapping[int, FileSlice]
    tagged: DataFrame
    profile: WorkloadProfile
    replaced: ReplacedGroups | None
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertJob:
    """One upsert, insert, overwrite or delete on an open table.

    ``keyed`` has key and partition path beside the data columns.
    """

    spark: SparkSession
    config: WriteConfig
    table: HudiTable
    keyed: DataFrame
    context: WriteContext
    progress: Progress

    def run(self, to_inflight: Callable[[bytes], None]) -> Written:
        """Write everything; ``to_inflight`` is called with the workload profile before the first file is made."""
        with self.workload() as work:
            with self.progress.phase("plan"):
                shares = self.pack(work)
                plan, insert_buckets = self._route(work.view, work.slices, work.profile, shares)
                metadata = workload_metadata(self.config.operation.value, work.slices, work.profile, shares)
                to_inflight(metadata.encode())
            with self.progress.phase("write"):
                stats = self._write(work.tagged, plan, insert_buckets)
        notes = {"dropped_duplicates": work.dropped} if work.dropped else {}
        return Written(stats=stats, replaced=work.replaced, notes=notes)

    @contextmanager
    def workload(self) -> Iterator[Workload]:
        """The records with their places, counted.

        They are computed once and kept until the end: a source that answered otherwise at a second reading would send a
        record to another file group than the one that holds its key.
        """
        keyed = self.keyed.persist()
        located: DataFrame | None = None
        try:
            with self.progress.phase("tag"):
                counts = {row[0]: row[1] for row in keyed.groupBy(PARTITION_PATH).count().collect()}
                view = self.table.view(sorted(counts))
                replaced = None
                if self.config.operation in REPLACES:
                    partitions = overwritten_partitions(self.config, self.table, counts)
                    replaced = replaced_groups(self.table, self.config.operation, partitions)
                    view = FileSystemView((), view.visibility, {})  # what is there takes no records
                slices = number_slices(view.latest_slices())
                located = self._locate(keyed, slices, sum(counts.values()))
                tagged = tag(keyed, located, sum(counts.values()))
                profile, dropped = WorkloadProfile.collect(tagged), 0
                if self.config.duplicates is not DuplicatePolicy.NONE:
                    dropped = sum(profile.updates.values())
                    self._refuse_duplicates(dropped)
                    tagged, profile = tagged.where(F.col(BUCKET).isNull()), profile.inserts_alone()
            yield Workload(view=view, slices=slices, tagged=tagged, profile=profile, replaced=replaced, dropped=dropped)
        finally:
            keyed.unpersist()
            if located is not None:
                located.unpersist()

    def _refuse_duplicates(self, found: int) -> None:
        if found and self.config.duplicates is DuplicatePolicy.FAIL:
            raise BadRecordError(
                f"the table has the keys of {found} records of this insert, and {DUPLICATE_POLICY.name}=fail",
                todo="take them out of the source, or upsert",
            )

    def _locate(self, keyed: DataFrame, slices: Mapping[int, FileSlice], incoming: int) -> DataFrame | None:
        """Which records the table has; an insert asks where it must not write them a second time."""
        if not self.config.looks_up:
            return None
        stored = StoredKeys(self.config.virtual_keys, self.context.file_format.schema)
        located = locate(self.spark, keyed, self.context.base_path, slices, incoming, stored)
        return None if located is None else located.persist()

    def pack(self, work: Workload) -> Mapping[str, list[InsertShare]]:
        """By partition path, which file groups take how many of its inserts."""
        view, profile = work.view, work.profile
        if self.config.operation is Operation.DELETE:
            return {}
        sizes = self.sizes()
        pending = {**self.table.pending.compaction, **self.table.pending.clustering}
        open_slices = [one for one in view.latest_slices() if (one.partition, one.file_id) not in pending]
        groups = by_partition(open_slices)
        return {
            partition: pack_inserts(
                count, small_files(groups.get(partition, []), sizes, merge_on_read=self.config.is_merge_on_read), sizes
            )
            for partition, count in profile.inserts.items()
        }

    def sizes(self) -> SizeSettings:
        """With the record size that the commits tell."""
        record_size = average_record_size(
            self._commits(), self.config.sizes, write_keys.SIZE_ESTIMATION_THRESHOLD.of(self.config.properties)
        )
        return replace(self.config.sizes, record_size=record_size)

    def _commits(self) -> Iterator[tuple[Instant, CommitMetadata]]:
        for instant in reversed(self.table.timeline.completed_commits()):
            yield instant, self.table.timeline.commit_metadata(instant, self.table.clock)

    def _route(
        self,
        view: FileSystemView,
        slices: Mapping[int, FileSlice],
        profile: WorkloadProfile,
        shares: Mapping[str, list[InsertShare]],
    ) -> tuple[RoutingPlan, dict[str, list[tuple[int, int]]]]:
        """The plan, and for each partition the (bucket, inserts) that its new records are spread over."""
        number_of = {(one.partition, one.file_id): number for number, one in slices.items()}
        filled = {(p, share.file_id) for p, some in shares.items() for share in some if share.file_id is not None}
        routes: dict[int, Route] = {}
        touched = set(profile.updates) | {number_of[(p, file_id or "")] for p, file_id in filled}
        for number in sorted(touched):
            routes[number] = self._route_of(
                view, slices[number], fills=(slices[number].partition, slices[number].file_id) in filled
            )
        spread: dict[str, list[tuple[int, int]]] = {}
        next_number = len(slices)
        for partition, some in shares.items():
            for share in some:
                if share.file_id is not None:
                    number = number_of[(partition, share.file_id)]
                else:
                    number, next_number = next_number, next_number + 1
                    routes[number] = CreateRoute(partition, self.table.clock.new_uuid())
                spread.setdefault(partition, []).append((number, share.records))
        rows = sum(profile.updates.values()) + sum(profile.inserts.values())
        wanted = self._parallelism() or max(2 * parallelism(self.spark), rows // ROWS_PER_TASK)
        return RoutingPlan(routes, max(1, min(len(routes), wanted))), spread

    def _parallelism(self) -> int:
        """The tasks that the user asked for; 0 where nobody did."""
        by_operation = {
            Operation.INSERT: write_keys.INSERT_PARALLELISM,
            Operation.INSERT_OVERWRITE: write_keys.INSERT_PARALLELISM,
            Operation.INSERT_OVERWRITE_TABLE: write_keys.INSERT_PARALLELISM,
            Operation.DELETE: write_keys.DELETE_PARALLELISM,
        }
        return by_operation.get(self.config.operation, write_keys.UPSERT_PARALLELISM).of(self.config.properties)

    def _route_of(self, view: FileSystemView, one: FileSlice, *, fills: bool) -> Route:
        key = (one.partition, one.file_id)
        clustering = self.table.pending.clustering.get(key)
        if clustering is not None:
            raise WriteConflictError(
                f"file group {one.file_id} in partition {one.partition!r} "
                f"is part of the pending clustering {clustering}",
                todo="run the clustering to its end, then write again",
                instant=clustering,
            )
        if self.config.is_merge_on_read and not fills:
            return AppendRoute(append_target(view, one, self.table.pending.compaction.get(key)))
        assert one.base_file is not None
        return MergeRoute(one.base_file, concatenate=self.config.concatenates)

    def _write(
        self, tagged: DataFrame, plan: RoutingPlan, spread: Mapping[str, list[tuple[int, int]]]
    ) -> list[WriteStat]:
        if not plan.routes:
            return []
        routed = insert_buckets(self.spark, tagged, spread) if spread else tagged
        if self.config.operation is Operation.DELETE:
            routed = routed.where(F.col(BUCKET).isNotNull())  # the others are keys that the table never had
        else:
            lost = F.raise_error(F.lit("a record has no file group: the source gave other rows when it was read again"))
            routed = routed.withColumn(
                BUCKET, F.when(F.col(BUCKET).isNull(), lost.cast("int")).otherwise(F.col(BUCKET))
            )
        context, routes, tasks = self.context, dict(plan.routes), plan.tasks
        rules = RecordRules(combine=self.config.combine, all_deleted=self.config.operation is Operation.DELETE)

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return as_batches(write_buckets(batches, context, task_scope(), routes, rules))

        placed = routed.repartitionById(tasks, F.col(BUCKET) % tasks).sortWithinPartitions(BUCKET)
        rows = placed.mapInArrow(work, STAT_SCHEMA).collect()
        return [WriteStat.from_json(json.loads(row.stat)) for row in rows]


def insert_buckets(spark: SparkSession, tagged: DataFrame, spread: Mapping[str, list[tuple[int, int]]]) -> DataFrame:
    """``tagged`` with a bucket for every new record: by a hash of its key over the shares of its partition, so that
    every attempt of a task decides alike.
    """
    rows = []
    for partition, shares in spread.items():
        bounds = [sum(records for _, records in shares[: end + 1]) for end in range(len(shares))]
        rows.append((partition, bounds, [number for number, _ in shares]))
    shares_of = spark.createDataFrame(rows, f"{PARTITION_PATH} string, {_BOUNDS} array<bigint>, {_BUCKETS} array<int>")
    position = F.pmod(F.xxhash64(RECORD_KEY), F.element_at(_BOUNDS, -1))
    passed = F.size(F.filter(_BOUNDS, lambda bound: bound <= position))
    chosen = F.when(F.col(_BOUNDS).isNotNull(), F.get(_BUCKETS, passed))
    joined = tagged.join(F.broadcast(shares_of), PARTITION_PATH, "left")
    return joined.withColumn(BUCKET, F.coalesce(F.col(BUCKET), chosen)).drop(_BOUNDS, _BUCKETS)
