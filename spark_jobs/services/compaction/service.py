"""What compaction and log compaction have in common: plans of file slices with logs, each slice a piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.plans.rewriting import RequestedCompaction
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.compaction.plan import CompactionPlan
from spark_jobs.services.due import pending_plans
from spark_jobs.services.rewriting.context import schema_of_rewrite
from spark_jobs.services.rewriting.service import RewriteService


@dataclass(frozen=True, slots=True)
class ServiceOfLogs(RewriteService[CompactionPlan]):
    """By the ``hoodie.*`` values of a job."""

    properties: Mapping[str, str]
    piece: ClassVar[str] = "file group"

    def refuse(self, table: HudiTable) -> None:
        """
        :raises ConfigError: a COPY_ON_WRITE table.
        """
        if not table.config.is_merge_on_read:
            raise ConfigError(
                f"table {table.config.name} is COPY_ON_WRITE, it has no logs for {self.action}",
                todo="use clustering to rewrite its files",
            )

    def pending(self, table: HudiTable) -> list[Instant]:
        return pending_plans(table.timeline, self.timeline_action)

    def expires_after(self) -> int | None:
        """Never: the logs of later writes lie on the slice that a compaction makes, and a later compaction makes a log
        compaction void.
        """
        return None

    def note(self, table: HudiTable, plan: Instant) -> Mapping[str, str]:
        return RequestedCompaction.read(table.timeline, plan, table.clock).note

    def commit(
        self, table: HudiTable, instant: str, plan: CompactionPlan, stats: Sequence[WriteStat]
    ) -> CommitMetadata:
        return CommitMetadata(
            write_stats=tuple(stats),
            operation_type=self.operation,
            compacted=True,
            extra_metadata=schema_of_rewrite(table, instant),
        )
