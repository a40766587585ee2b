"""That there is nothing to do, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from spark_jobs.core.table import HudiTable
from spark_jobs.options.result import JobResult, JobState


@dataclass(frozen=True, slots=True)
class Nothing:
    """What a service gives in place of a plan: ``reason`` has the numbers that decided, and ``extra`` is for the
    result.
    """

    reason: str
    _: KW_ONLY
    extra: Mapping[str, Any] = field(default_factory=dict)

    def result(self, action: str, table: HudiTable | None) -> JobResult:
        """That of a job which found nothing to do at a table, or none."""
        return JobResult(
            action=action,
            state=JobState.NOTHING_TO_DO,
            reason=self.reason,
            base_path=table.base_path if table is not None else "",
            table=table.config.name if table is not None else "",
            extra=dict(self.extra),
        )
