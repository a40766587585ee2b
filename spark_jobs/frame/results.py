"""Results of services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.options.result import JobResult, JobState


def done_by_hash(
    action: str, table: HudiTable, plan_hash: str, *, instant: str | None, reason: str, **extra: Any
) -> JobResult:
    """The result of a retry by the hash of a plan that was carried out already."""
    return JobResult(
        action=action,
        state=JobState.COMPLETED,
        instant=instant,
        repeated=True,
        reason=reason,
        base_path=table.base_path,
        table=table.config.name,
        extra={"plan_hash": plan_hash, **extra},
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


def plan_result(
    action: str,
    table: HudiTable,
    facts: PlanFacts,
    progress: Progress,
    *,
    shown: Mapping[str, Any] | None,
    instant: str | None = None,
    **extra: Any,
) -> JobResult:
    """What a service did by its plan, or in a dry run would do.

    :param shown: the plan itself, of a dry run alone.
    """
    return JobResult(
        action=action,
        state=JobState.COMPLETED if shown is None else JobState.DRY_RUN,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        files_in=facts.files,
        bytes_in=facts.bytes,
        plan=None if shown is None else dict(shown),
        seconds_by_phase=dict(progress.seconds_by_phase),
        extra={"plan_hash": facts.hash_at(table.timeline), **extra},
    )
