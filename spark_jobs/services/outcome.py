"""Results of services, and the word why nothing was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.options.result import JobResult, JobState


def nothing_to_do(action: str, table: HudiTable, reason: str, **extra: Any) -> JobResult:
    """``reason`` has the numbers that decided."""
    return JobResult(
        action=action,
        state=JobState.NOTHING_TO_DO,
        reason=reason,
        base_path=table.base_path,
        table=table.config.name,
        extra=extra,
    )


def written(action: str, table: HudiTable, instant: str, stats: Sequence[WriteStat], **counts: Any) -> JobResult:
    """What a rewrite left, from its write stats."""
    return JobResult(
        action=action,
        state=JobState.COMPLETED,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        files_out=len(stats),
        bytes_out=sum(stat.total_write_bytes for stat in stats),
        records_out=sum(stat.num_writes for stat in stats),
        updates=sum(stat.num_update_writes for stat in stats),
        inserts=sum(stat.num_inserts for stat in stats),
        deletes=sum(stat.num_deletes for stat in stats),
        **counts,
    )
