"""Compaction as ``compact.py`` runs it: schedule, execute, or both; each says why when it does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.core.config import write_keys as keys
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import COMPACTION_PLAN
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.execute import Compactor
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan, plan_compaction
from spark_jobs.services.due import delta_commits_since_compaction, pending_plans
from spark_jobs.services.planned import run_service
from spark_jobs.services.rewrite import refuse_on_other_type, rewrite_context, schema_of_rewrite, slice_reader


def run_compaction(engine: Engine, options: CompactionOptions, progress: Progress) -> JobResult:
    """
    :raises ConfigError: a COPY_ON_WRITE table, or an instant that is no compaction of it.
    """
    return run_service(CompactionService(options.effective().hoodie_properties()), engine, options, progress)


@dataclass(frozen=True, slots=True)
class CompactionService:
    """Logs into base files, by the ``hoodie.*`` values of a job."""

    properties: Mapping[str, str]
    name: ClassVar[str] = "compaction"
    action: ClassVar[Action] = Action.COMPACTION
    phase: ClassVar[str] = "merge"

    def refuse(self, table: HudiTable) -> None:
        refuse_on_other_type(table, self.name)

    def pending(self, table: HudiTable) -> list[Instant]:
        return pending_plans(table.timeline, Action.COMPACTION)

    def plan(self, table: HudiTable) -> CompactionPlan | str:
        keys.COMPACT_TRIGGER.of(self.properties)
        due = delta_commits_since_compaction(table.timeline)
        needed = keys.COMPACT_MAX_DELTA_COMMITS.of(self.properties)
        if len(due) < needed:
            return (
                f"{len(due)} delta commit(s) since the last compaction, {needed} make it due "
                f"({keys.COMPACT_MAX_DELTA_COMMITS.name})"
            )
        busy = frozenset({**table.pending.compaction, **table.pending.clustering})
        slices, limits = table.file_slices(), self._limits()
        plan = plan_compaction(slices, busy, limits)
        if plan.slices:
            return plan
        return f"none of {len(slices)} file slices has logs of at least {limits.log_size} bytes outside pending plans"

    def encode(self, table: HudiTable, plan: CompactionPlan) -> bytes:
        return encode_payload(COMPACTION_PLAN, plan.to_avro(self._limits()))

    def read(self, table: HudiTable, instant: Instant) -> CompactionPlan:
        raw = table.timeline.payload(instant.at(State.REQUESTED), table.clock)
        partitions = {operation["partitionPath"] or "" for operation in raw["operations"] or []}
        prefix = len(table.base_path) + 1
        sizes = {
            status.path[prefix:]: status.size
            for partition in partitions
            for status in table.storage.list(f"{table.base_path}/{partition}" if partition else table.base_path)
        }
        return CompactionPlan.from_avro(raw, sizes)

    def work(self, table: HudiTable, instant: str, plan: CompactionPlan) -> tuple[Sequence[FileSlice], Compactor]:
        max_file_size = keys.MAX_FILE_SIZE.of(self.properties)
        context = rewrite_context(table, self.properties, instant, max_file_size=max_file_size)
        return plan.slices, Compactor(context, slice_reader(table, context, self.properties))

    def commit(
        self, table: HudiTable, instant: str, plan: CompactionPlan, stats: Sequence[WriteStat]
    ) -> CommitMetadata:
        return CommitMetadata(
            write_stats=tuple(stats),
            operation_type=OperationType.COMPACT,
            compacted=True,
            extra_metadata=schema_of_rewrite(table, instant),
        )

    def contended(self, plan: CompactionPlan) -> frozenset[FileGroupKey]:
        """None: since the plan stands on the timeline, writers put their logs on the slice that it makes."""
        return frozenset()

    def _limits(self) -> CompactionLimits:
        return CompactionLimits(
            target_io=keys.COMPACT_TARGET_IO.of(self.properties),
            log_size=keys.COMPACT_LOG_SIZE_THRESHOLD.of(self.properties),
            max_file_size=keys.MAX_FILE_SIZE.of(self.properties),
        )
