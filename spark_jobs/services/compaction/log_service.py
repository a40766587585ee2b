"""Log compaction as ``compact.py --log-compaction`` runs it (Hudi: HoodieLogCompactionPlanGenerator)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.files.log_format import log_format
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.written_files import Parts
from spark_jobs.frame.nothing import Nothing
from spark_jobs.services.compaction.log_execute import LogCompactor, log_reader
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan
from spark_jobs.services.compaction.read_plan import read_plan
from spark_jobs.services.compaction.service import ServiceOfLogs
from spark_jobs.services.due import kinds_of, log_compacted, what_blocks
from spark_jobs.services.rewriting.context import (
    busy_with_writes,
    rewrite_context,
    slice_reader,
)


@dataclass(frozen=True, slots=True)
class LogCompactionService(ServiceOfLogs):
    """Many log blocks into one, by the ``hoodie.*`` values of a job."""

    action: ClassVar[str] = "log compaction"
    timeline_action: ClassVar[Action] = Action.LOG_COMPACTION
    operation: ClassVar[OperationType] = OperationType.LOG_COMPACT
    phase: ClassVar[str] = "merge logs"

    def plan(self, table: HudiTable) -> CompactionPlan | Nothing:
        """All slices with enough blocks that count; each log file of a slice is in the plan."""
        needed = compact_keys.LOG_COMPACT_BLOCKS.of(self.properties)
        waiting = log_compacted(table.timeline, table.clock)
        busy = {**waiting, **table.pending.compaction, **table.pending.clustering}
        busy = {**busy_with_writes(table, self.properties), **busy}
        slices = [one for one in table.file_slices() if one.log_files]
        free = [one for one in slices if (one.partition, one.file_id) not in busy]
        if not free:
            blocked = what_blocks(slices, busy, kinds_of(table.timeline, busy.values()))
            return Nothing(f"none of {len(slices)} file slices with logs is free" + (f": {blocked}" if blocked else ""))
        instant = table.timeline.last_time
        context = rewrite_context(table, self.properties, instant, max_file_size=1)
        reader = log_reader(slice_reader(table, context, self.properties))
        blocks = [len(reader.survey_logs(one).valid) for one in free]
        chosen = [one for one, count in zip(free, blocks, strict=True) if count >= needed]
        if chosen:
            return CompactionPlan(tuple(sorted(chosen, key=lambda one: (one.partition, one.file_id))))
        return Nothing(
            f"the most log blocks of {len(free)} file slices with logs are {max(blocks)}, {needed} make a log "
            f"compaction due ({compact_keys.LOG_COMPACT_BLOCKS.name})"
        )

    def payload(self, table: HudiTable, plan: CompactionPlan, note: Mapping[str, str]) -> Payload:
        return plan.requested(self._limits(), note, of_logs=True).payload()

    def read(self, table: HudiTable, instant: Instant) -> CompactionPlan:
        return read_plan(table, instant)

    def work(self, table: HudiTable, instant: str, plan: CompactionPlan) -> tuple[Sequence[FileSlice], LogCompactor]:
        """
        :raises WriteConflictError: a compaction came later, on whose slices these logs are no more.
        """
        later = table.timeline.filter(
            lambda one: one.action in (Action.COMMIT, Action.COMPACTION) and one.follows(instant)
        )
        if later:
            raise WriteConflictError(
                f"log compaction {instant} is void, {later[0]} came after it",
                todo=f"take it back with --mode cancel --instant-time {instant}",
                instant=instant,
            )
        context = rewrite_context(table, self.properties, instant, max_file_size=1, action=self.timeline_action)
        context = replace(context, log_format=log_format(self.properties))
        versions = table.view().log_versions
        following = {
            (one.partition, one.file_id): versions.get((one.partition, one.file_id, one.base_instant), 0) + 1
            for one in plan.slices
        }
        slices = table.checked(plan.slices, parts=Parts.PLANNED)
        return slices, LogCompactor(context, log_reader(slice_reader(table, context, self.properties)), following)

    def contended(self, plan: CompactionPlan) -> frozenset[FileGroupKey]:
        """All: a reader that takes blocks in the order of the files must not meet the new one behind a later write."""
        return frozenset((one.partition, one.file_id) for one in plan.slices)

    def why_not_cancelled(self, table: HudiTable, instant: Instant, plan: CompactionPlan) -> str | None:
        """Nothing: writers pay no heed to it."""
        return None

    def _limits(self) -> CompactionLimits:
        return CompactionLimits(
            target_io=compact_keys.COMPACT_TARGET_IO.of(self.properties),
            log_size=0,
            max_file_size=parquet_keys.MAX_FILE_SIZE.of(self.properties),
        )
