"""Clustering as ``cluster.py`` runs it: schedule, execute, or both; each says why when it does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.core.config import write_keys as keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import REQUESTED_REPLACE_METADATA
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.pending import replaced_by_plan
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions
from spark_jobs.services.clustering.execute import Clusterer
from spark_jobs.services.clustering.plan import ClusteringGroup, ClusteringLimits, ClusteringPlan, plan_clustering
from spark_jobs.services.due import commits_since, pending_plans
from spark_jobs.services.planned import run_service
from spark_jobs.services.rewrite import rewrite_context, schema_of_rewrite, slice_reader


def run_clustering(engine: Engine, options: ClusteringOptions, progress: Progress) -> JobResult:
    """
    :raises ConfigError: an unknown sort column, or an instant that is no clustering of the table.
    """
    return run_service(ClusteringService(options.effective().hoodie_properties()), engine, options, progress)


@dataclass(frozen=True, slots=True)
class ClusteringService:
    """Small files into larger, sorted ones, by the ``hoodie.*`` values of a job."""

    properties: Mapping[str, str]
    name: ClassVar[str] = "clustering"
    action: ClassVar[Action] = Action.REPLACE_COMMIT
    phase: ClassVar[str] = "rewrite"

    def refuse(self, table: HudiTable) -> None:
        """Both table types are clustered."""

    def pending(self, table: HudiTable) -> list[Instant]:
        """Pending replace commits that are clusterings; a pending overwrite has no plan."""
        waiting = pending_plans(table.timeline, Action.REPLACE_COMMIT)
        return [one for one in waiting if replaced_by_plan(table.timeline, one, table.clock)]

    def plan(self, table: HudiTable) -> ClusteringPlan | str:
        due = commits_since(table.timeline, _last_clustering(table))
        needed = keys.CLUSTER_MAX_COMMITS.of(self.properties)
        if len(due) < needed:
            return (
                f"{len(due)} commit(s) since the last clustering, {needed} make it due "
                f"({keys.CLUSTER_MAX_COMMITS.name})"
            )
        columns = keys.CLUSTER_SORT_COLUMNS.of(self.properties)
        unknown = [name for name in columns if name not in table.schema.names]
        if unknown:
            raise ConfigError(
                f"sort column {unknown[0]} is not in table {table.config.name}",
                todo="its columns are " + ", ".join(table.schema.names),
            )
        busy = frozenset({**table.pending.compaction, **table.pending.clustering})
        slices, limits = table.file_slices(), self._limits()
        plan = plan_clustering(slices, busy, limits, columns)
        if plan.groups:
            return plan
        return f"none of {len(slices)} file slices is below {limits.small_file_limit} bytes outside pending plans"

    def encode(self, table: HudiTable, plan: ClusteringPlan) -> bytes:
        return encode_payload(REQUESTED_REPLACE_METADATA, plan.to_avro(table.base_path))

    def read(self, table: HudiTable, instant: Instant) -> ClusteringPlan:
        raw = table.timeline.payload(instant.at(State.REQUESTED), table.clock)
        sizes = {path: size for one in table.file_slices() for path, size in one.sizes}
        return ClusteringPlan.from_avro(raw, sizes)

    def work(
        self, table: HudiTable, instant: str, plan: ClusteringPlan
    ) -> tuple[Sequence[tuple[int, ClusteringGroup]], Clusterer]:
        max_file_size = keys.CLUSTER_TARGET_FILE.of(self.properties)
        context = rewrite_context(table, self.properties, instant, max_file_size=max_file_size)
        clusterer = Clusterer(
            context=context,
            reader=slice_reader(table, context, self.properties),
            sort_columns=plan.sort_columns,
            seed=table.clock.new_uuid(),
        )
        return list(enumerate(plan.groups)), clusterer

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

    def _limits(self) -> ClusteringLimits:
        return ClusteringLimits(
            small_file_limit=keys.CLUSTER_SMALL_FILE_LIMIT.of(self.properties),
            target_file=keys.CLUSTER_TARGET_FILE.of(self.properties),
            group_bytes=keys.CLUSTER_GROUP_BYTES.of(self.properties),
            max_groups=keys.CLUSTER_MAX_GROUPS.of(self.properties),
            single_groups=keys.CLUSTER_SINGLE_GROUP.of(self.properties),
            max_file_size=keys.MAX_FILE_SIZE.of(self.properties),
        )


def _last_clustering(table: HudiTable) -> str:
    for instant in reversed(table.timeline.completed(Action.REPLACE_COMMIT)):
        if table.timeline.commit_metadata(instant, table.clock).operation_type is OperationType.CLUSTER:
            return instant.timestamp
    return ""
