"""Archival as ``archive.py`` runs it, in this process: no JVM starts for it (Hudi: HoodieTimelineArchiver)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.keys import archive as keys
from spark_jobs.core.format.order import latest
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.instant import Action
from spark_jobs.core.transaction.transaction import refuse_pending_restore
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.archival.bounds import bounds_of
from spark_jobs.services.archival.orphans import Orphans, orphans_passed
from spark_jobs.services.archival.plan import ArchivalPlan, Bound, Keep, TimelineFacts, plan_archival, why_nothing
from spark_jobs.services.archival.work import ArchivalWork, work_of
from spark_jobs.services.cleaning.job import retained_from
from spark_jobs.services.frame.estimate import seconds_to_delete, seconds_to_write
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.opening import open_table
from spark_jobs.services.frame.plan_hash import refuse_other_plan
from spark_jobs.services.frame.refresh import with_refresh
from spark_jobs.services.frame.results import planned

ACTION = "archive"
_LOOKS = 3


def run_archival(options: ArchiveOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: ``hoodie.keep.min.commits`` is not below ``hoodie.keep.max.commits``.
    :raises WriteConflictError: a restore is pending, or the plan is not that of ``plan_hash`` any more.
    """
    progress, properties = context.progress, options.effective().hoodie_properties()
    for line in writer_warnings(properties):
        progress.note(f"warning: {line}")
    table = open_table(options, context.lake)
    refuse_unwritable(table.config)
    if options.dry_run:
        return with_refresh(table, lambda table: _seen(table, properties, progress), _LOOKS)
    with table.transaction_settings(properties).new_lock() as locked:
        return archive_table(table.refreshed(locked.storage), properties, progress, plan_hash=options.plan_hash)


def archive_table(
    table: HudiTable, properties: Mapping[str, str], progress: Progress, *, plan_hash: str | None = None
) -> JobResult:
    """Archive what may go now, and merge archive files where that is asked for; the caller holds the table lock."""
    refuse_pending_restore(table.timeline)
    with progress.phase("plan"):
        work = _work(table, properties)
    if plan_hash is not None:
        refuse_other_plan(plan_hash, work if isinstance(work, Nothing) else work.facts, table.timeline)
    if isinstance(work, Nothing):
        return work.result(ACTION, table)
    work.carry_out(table, progress)
    return _result(table, work, progress, dry_run=False)


def _seen(table: HudiTable, properties: Mapping[str, str], progress: Progress) -> JobResult:
    work = _work(table, properties)
    return work.result(ACTION, table) if isinstance(work, Nothing) else _result(table, work, progress, dry_run=True)


def _work(table: HudiTable, properties: Mapping[str, str]) -> ArchivalWork | Nothing:
    plan, orphans = plan_of(table, properties), Orphans()
    if isinstance(plan, ArchivalPlan):
        orphans = orphans_passed(table, plan.instants)
        if orphans.stuck:
            plan = plan_of(table, properties, orphans.bounds(table.timeline))
    return work_of(table, properties, plan, orphans)


def plan_of(table: HudiTable, properties: Mapping[str, str], more: tuple[Bound, ...] = ()) -> ArchivalPlan | Nothing:
    """What goes, or why nothing does, with what is in the way.

    :param more: who needs what beside those that the table itself tells of.
    """
    timeline = table.timeline
    commits = [one.timestamp for one in timeline.completed_commits()]
    retain = retained_from(table, properties, at_last_commit=True)
    freed = retained_from(table, properties, at_last_commit=True, beside_pending=True)
    is_held = retain is not None and freed is not None and retain.precedes(freed.timestamp)
    held_back_by = str(timeline.pending_writes()[0]) if is_held else ""
    keep = Keep.of(properties, commits, retain.timestamp if retain else None, held_back_by)
    facts = TimelineFacts(
        instants=timeline.instants,
        bounds=(*bounds_of(table, properties), *more),
        beyond_savepoints=keys.ARCHIVE_BEYOND_SAVEPOINT.of(properties),
    )
    chosen, held_by = plan_archival(facts, keep)
    if not chosen:
        return why_nothing(facts, keep, held_by)
    return ArchivalPlan(instants=chosen, keep=keep, held_by=held_by)


def _result(table: HudiTable, work: ArchivalWork, progress: Progress, *, dry_run: bool) -> JobResult:
    instants = work.archival.instants if work.archival else ()
    held_by = work.archival.blocker if work.archival else None
    prepared, facts = work.prepared, work.facts
    extra: dict[str, Any] = {
        "archived": len(instants),
        "newest": latest(one.timestamp for one in instants) or None,
        "held_by": held_by,
    }
    if dry_run:
        seconds = seconds_to_delete(table, Action.CLEAN, facts.files) + seconds_to_write(work.bytes_out)
        extra |= {"estimated_seconds": round(seconds, 3), "estimated_bytes": work.bytes_out}
    else:
        extra |= {
            "archive_file": prepared.path if prepared else None,
            "entries": prepared.entries if prepared else 0,
            "merged_files": len(work.merge.inputs) if work.merge else 0,
            "merged_into": work.merge.path if work.merge else None,
        }
    result = planned(ACTION, table, facts, progress, shown=work.to_json() if dry_run else None, **extra)
    return result if instants else replace(result, reason=work.why_no_more)
