"""Compaction as ``compact.py`` runs it: schedule, execute, or both; each says why when it does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.written_files import Parts
from spark_jobs.engine.context import JobContext
from spark_jobs.frame.nothing import Nothing
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.execute import Compactor
from spark_jobs.services.compaction.log_service import LogCompactionService
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan, plan_compaction
from spark_jobs.services.compaction.read_plan import read_plan, with_sources
from spark_jobs.services.compaction.service import ServiceOfLogs
from spark_jobs.services.compaction.trigger import TriggerSettings, why_not_due
from spark_jobs.services.due import kinds_of, what_blocks
from spark_jobs.services.rewriting.context import (
    busy_with_writes,
    rewrite_context,
    slice_reader,
)
from spark_jobs.services.rewriting.run import run_service
from spark_jobs.services.rollback.failed_writes import is_alive


def run_compaction(options: CompactionOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: a COPY_ON_WRITE table, or an instant that is no compaction of it.
    """
    properties = options.effective().hoodie_properties()
    if options.log_compaction:
        return run_service(LogCompactionService(properties), options, context)
    return run_service(CompactionService(properties), options, context)


@dataclass(frozen=True, slots=True)
class CompactionService(ServiceOfLogs):
    """Logs into base files, by the ``hoodie.*`` values of a job."""

    action: ClassVar[str] = "compaction"
    timeline_action: ClassVar[Action] = Action.COMPACTION
    operation: ClassVar[OperationType] = OperationType.COMPACT
    phase: ClassVar[str] = "merge"

    def plan(self, table: HudiTable) -> CompactionPlan | Nothing:
        reason = why_not_due(table.timeline, self._trigger(), self._next_instant(table))
        if reason is not None:
            return Nothing(reason)
        busy = {**busy_with_writes(table, self.properties), **table.pending.compaction, **table.pending.clustering}
        slices, limits = table.file_slices(), self._limits(table)
        plan = plan_compaction(slices, busy, limits)
        if plan.slices:
            return with_sources(table, plan)
        with_logs = [one for one in slices if one.log_files]
        blocked = what_blocks(with_logs, busy, kinds_of(table.timeline, busy.values()))
        return Nothing(
            f"none of {len(slices)} file slices has logs that {limits.strategy.value} takes: {len(with_logs)} have logs"
            + (f", {blocked}" if blocked else "")
        )

    def payload(self, table: HudiTable, plan: CompactionPlan, note: Mapping[str, str]) -> Payload:
        return plan.requested(self._limits(table), note).payload()

    def read(self, table: HudiTable, instant: Instant) -> CompactionPlan:
        return with_sources(table, read_plan(table, instant))

    def work(self, table: HudiTable, instant: str, plan: CompactionPlan) -> tuple[Sequence[FileSlice], Compactor]:
        max_file_size = parquet_keys.MAX_FILE_SIZE.of(self.properties)
        context = rewrite_context(
            table, self.properties, instant, max_file_size=max_file_size, action=self.timeline_action
        )
        return table.checked(plan.slices, parts=Parts.PLANNED), Compactor(
            context, slice_reader(table, context, self.properties)
        )

    def contended(self, plan: CompactionPlan) -> frozenset[FileGroupKey]:
        """None: since the plan stands on the timeline, writers put their logs on the slice that it makes."""
        return frozenset()

    def why_not_cancelled(self, table: HudiTable, instant: Instant, plan: CompactionPlan) -> str | None:
        """Logs that were written since lie on the slices that the plan makes, and would be lost without it; a living
        write that began since is about to put some there.
        """
        groups = {(one.partition, one.file_id) for one in plan.slices}
        found = []
        for partition in sorted({partition for partition, _ in groups}):
            for status in table.storage.list(resolve(table.base_path, RelativePath(partition))):
                log = table.config.format.parse_log_file(status.name)
                if log and log.instant == instant.timestamp and (partition, log.file_id) in groups:
                    found.append(join(partition, status.name))
        if not found:
            return self._awaited(table, instant)
        return f"{len(found)} log file(s) lie on the slices that it makes, such as {found[0]}"

    def _awaited(self, table: HudiTable, plan: Instant) -> str | None:
        settings = table.transaction_settings(self.properties)
        for write in table.timeline.pending({Action.DELTA_COMMIT}):
            if write.follows(plan.timestamp) and is_alive(settings, write):
                return f"write {write.timestamp} is under way and may put logs on the slices that it makes"
        return None

    def _next_instant(self, table: HudiTable) -> str:
        return next_instant_time(table.clock.now(), table.config.timezone, table.timeline.last_time)

    def _trigger(self) -> TriggerSettings:
        return TriggerSettings(
            strategy=compact_keys.COMPACT_TRIGGER.of(self.properties),
            delta_commits=compact_keys.COMPACT_MAX_DELTA_COMMITS.of(self.properties),
            delta_seconds=compact_keys.COMPACT_MAX_DELTA_SECONDS.of(self.properties),
        )

    def _limits(self, table: HudiTable) -> CompactionLimits:
        return CompactionLimits(
            target_io=compact_keys.COMPACT_TARGET_IO.of(self.properties),
            log_size=compact_keys.COMPACT_LOG_SIZE_THRESHOLD.of(self.properties),
            max_file_size=parquet_keys.MAX_FILE_SIZE.of(self.properties),
            strategy=compact_keys.COMPACT_STRATEGY.of(self.properties),
            log_files=compact_keys.COMPACT_LOG_NUMBER_THRESHOLD.of(self.properties),
            partitions=compact_keys.COMPACT_TARGET_PARTITIONS.of(self.properties),
            partition_regex=compact_keys.COMPACT_PARTITION_REGEX.of(self.properties),
            today=table.clock.now().astimezone().date(),
        )
