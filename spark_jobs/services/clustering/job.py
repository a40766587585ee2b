"""Clustering as ``cluster.py`` runs it: schedule, execute, or both; each says why when it does nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import pyarrow as pa

from spark_jobs.core.config.keys import clustering as clustering_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.order import latest
from spark_jobs.core.index.consistent_hashing import refuse_consistent_hashing
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.plans.rewriting import RequestedClustering
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.pending import replaced_by_plan
from spark_jobs.core.view.written_files import Parts
from spark_jobs.engine.context import JobContext
from spark_jobs.frame.nothing import Nothing
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions
from spark_jobs.services.clustering.execute import Clusterer
from spark_jobs.services.clustering.partitions import PartitionFilter
from spark_jobs.services.clustering.plan import (
    ClusteringGroup,
    ClusteringLimits,
    ClusteringPlan,
    layout_by,
    plan_clustering,
)
from spark_jobs.services.clustering.reasons import why_no_group
from spark_jobs.services.clustering.sortable import sort_columns_in
from spark_jobs.services.clustering.updates import refuse_overtaken
from spark_jobs.services.due import commits_since, kinds_of, log_compacted, pending_plans
from spark_jobs.services.rewriting.context import busy_with_writes, rewrite_context, schema_of_rewrite, slice_reader
from spark_jobs.services.rewriting.run import run_service
from spark_jobs.services.rewriting.service import RewriteService
from spark_jobs.services.source_files import source_files


def run_clustering(options: ClusteringOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: an unknown sort column, or an instant that is no clustering of the table.
    """
    return run_service(ClusteringService(options.effective().hoodie_properties()), options, context)


@dataclass(frozen=True, slots=True)
class ClusteringService(RewriteService[ClusteringPlan]):
    """Small files into larger, sorted ones, by the ``hoodie.*`` values of a job."""

    properties: Mapping[str, str]
    action: ClassVar[str] = "clustering"
    timeline_action: ClassVar[Action] = Action.REPLACE_COMMIT
    operation: ClassVar[OperationType] = OperationType.CLUSTER
    phase: ClassVar[str] = "rewrite"
    piece: ClassVar[str] = "group"

    def refuse(self, table: HudiTable) -> None:
        """Both table types are clustered, in one way.

        :raises ConfigError: another way is asked for.
        :raises UnsupportedTableError: Hudi's index names the table's file groups: only its own clustering keeps to it.
        """
        refuse_consistent_hashing(table.storage, table.base_path, table.config.name, "cluster")
        clustering_keys.CLUSTER_EXECUTION_STRATEGY.of(self.properties)

    def pending(self, table: HudiTable) -> list[Instant]:
        """Pending replace commits that are clusterings; a pending overwrite has no plan."""
        waiting = pending_plans(table.timeline, Action.REPLACE_COMMIT)
        return [one for one in waiting if replaced_by_plan(table.timeline, one, table.clock)]

    def expires_after(self) -> int | None:
        if not clustering_keys.CLUSTER_EXPIRES.of(self.properties):
            return None
        return clustering_keys.CLUSTER_EXPIRES_AFTER.of(self.properties)

    def plan(self, table: HudiTable) -> ClusteringPlan | Nothing:
        due = commits_since(table.timeline, self._last_clustering(table))
        needed = clustering_keys.CLUSTER_MAX_COMMITS.of(self.properties)
        if len(due) < needed:
            return Nothing(
                f"{len(due)} commit(s) since the last clustering, planned or done, {needed} make it due "
                f"({clustering_keys.CLUSTER_MAX_COMMITS.name})"
            )
        columns = clustering_keys.CLUSTER_SORT_COLUMNS.of(self.properties)
        layout = layout_by(self.properties, columns)
        columns = sort_columns_in(table.schema, columns, layout, f"table {table.config.name}")
        busy = {**busy_with_writes(table, self.properties), **log_compacted(table.timeline, table.clock)}
        busy = {**busy, **table.pending.compaction, **table.pending.clustering}
        slices, limits = table.file_slices(), self._limits()
        partitions = PartitionFilter.of(self.properties, table.clock.now().astimezone().hour)
        plan = plan_clustering(slices, busy, limits, columns, partitions, layout)
        if plan.groups:
            return replace(plan, sources=source_files(table, plan.slices))
        return Nothing(why_no_group(slices, busy, kinds_of(table.timeline, busy.values()), limits, partitions))

    def payload(self, table: HudiTable, plan: ClusteringPlan, note: Mapping[str, str]) -> Payload:
        return plan.requested(note).payload(table.base_path)

    def note(self, table: HudiTable, plan: Instant) -> Mapping[str, str]:
        return RequestedClustering.read(table.timeline, plan, table.clock).note

    def read(self, table: HudiTable, instant: Instant) -> ClusteringPlan:
        requested = RequestedClustering.read(table.timeline, instant, table.clock)
        sizes = {path: size for one in table.file_slices() for path, size in one.sizes}
        plan = ClusteringPlan.of(requested, sizes, table.config.format, self.properties)
        return replace(plan, sources=source_files(table, plan.slices))

    def work(
        self, table: HudiTable, instant: str, plan: ClusteringPlan
    ) -> tuple[Sequence[tuple[int, ClusteringGroup]], Clusterer]:
        """
        :raises WriteConflictError: a write that began before the plan was made was completed after it.
        """
        refuse_overtaken(table, instant, plan.slices)
        context = rewrite_context(
            table, self.properties, instant, max_file_size=plan.target_file, action=self.timeline_action
        )
        columns = _sort_columns(table, instant, plan, context.file_format.schema)
        clusterer = Clusterer(
            context=context,
            reader=slice_reader(table, context, self.properties),
            sort_columns=columns,
            layout=plan.layout,
            seed=table.clock.new_uuid(),
        )
        read = iter(table.checked(plan.slices, parts=Parts.PLANNED))  # in the order of the groups
        groups = [replace(one, slices=tuple(islice(read, len(one.slices)))) for one in plan.groups]
        return list(enumerate(groups)), clusterer

    def commit(
        self, table: HudiTable, instant: str, plan: ClusteringPlan, stats: Sequence[WriteStat]
    ) -> CommitMetadata:
        replaced: dict[str, list[str]] = {}
        for one in plan.slices:
            replaced.setdefault(one.partition, []).append(one.file_id)
        return CommitMetadata(
            write_stats=tuple(stats),
            operation_type=OperationType.CLUSTER,
            extra_metadata=schema_of_rewrite(table, instant),
            replaced_file_ids={partition: tuple(ids) for partition, ids in replaced.items()},
        )

    def contended(self, plan: ClusteringPlan) -> frozenset[FileGroupKey]:
        return frozenset((one.partition, one.file_id) for one in plan.slices)

    def why_not_cancelled(self, table: HudiTable, instant: Instant, plan: ClusteringPlan) -> str | None:
        """Nothing: no file of the table is of the plan before it is completed."""
        return None

    def _last_clustering(self, table: HudiTable) -> str:
        """Instant of the newest clustering, completed or not, as Hudi counts; empty where there is none."""
        pending = [one.timestamp for one in self.pending(table)]
        for instant in reversed(table.timeline.completed(Action.REPLACE_COMMIT)):
            if table.timeline.commit_metadata(instant, table.clock).operation_type is OperationType.CLUSTER:
                return latest([*pending, instant.timestamp])
        return latest(pending)

    def _limits(self) -> ClusteringLimits:
        return ClusteringLimits(
            small_file_limit=clustering_keys.CLUSTER_SMALL_FILE_LIMIT.of(self.properties),
            target_file=clustering_keys.CLUSTER_TARGET_FILE.of(self.properties),
            group_bytes=clustering_keys.CLUSTER_GROUP_BYTES.of(self.properties),
            max_groups=clustering_keys.CLUSTER_MAX_GROUPS.of(self.properties),
            single_groups=clustering_keys.CLUSTER_SINGLE_GROUP.of(self.properties),
            max_file_size=parquet_keys.MAX_FILE_SIZE.of(self.properties),
        )


def _sort_columns(table: HudiTable, instant: str, plan: ClusteringPlan, schema: pa.Schema) -> tuple[str, ...]:
    """Those of the plan, by their names in the schema. Plans are also made by others, and before it was changed.

    :raises ConfigError: rows of the schema can't be sorted as the plan says.
    :raises CorruptTableError: the plan has a file group twice.
    """
    cancelling = f"take the plan back by --mode cancel --instant-time {instant}"
    name = f"table {table.config.name}"
    columns = sort_columns_in(schema, plan.sort_columns, plan.layout, name, f"{cancelling}, and sort by other columns")
    seen = Counter((one.partition, one.file_id) for one in plan.slices)
    for (partition, file_id), count in seen.items():
        if count > 1:
            raise CorruptTableError(
                f"clustering plan {instant} has file group {file_id} of partition {partition!r} more than once, which "
                f"would double its rows",
                todo=cancelling,
            )
    return columns
