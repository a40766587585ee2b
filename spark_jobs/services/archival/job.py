"""Archival as ``archive.py`` runs it, in this process: no JVM starts for it (Hudi: HoodieTimelineArchiver)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from spark_jobs.core.config.keys import archive as keys
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.order import latest
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.at_once import ServiceAtOnce, run_at_once
from spark_jobs.frame.estimate import seconds_to_delete, seconds_to_write
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.frame.results import plan_result
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.archival.bounds import bounds_of
from spark_jobs.services.archival.orphans import Orphans, orphans_passed
from spark_jobs.services.archival.plan import ArchivalPlan, Bound, Keep, TimelineFacts, plan_archival, why_nothing
from spark_jobs.services.archival.work import ArchivalWork, work_of
from spark_jobs.services.cleaning.candidates import retained_from

ACTION = "archive"


def run_archival(options: ArchiveOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: ``hoodie.keep.min.commits`` is not below ``hoodie.keep.max.commits``.
    :raises WriteConflictError: a restore is pending, or the plan is not that of ``plan_hash`` any more.
    """
    opened = open_to_change(options, context)
    service = Archival(opened.properties)
    return run_at_once(service, opened, context.progress, dry_run=options.dry_run, plan_hash=options.plan_hash)


@dataclass(frozen=True, slots=True)
class Archival(ServiceAtOnce[ArchivalWork]):
    """Old instants to the archive, and small archive files into one, by the ``hoodie.*`` values of a job."""

    properties: Mapping[str, str]
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> ArchivalWork | Nothing:
        plan, orphans = plan_of(table, self.properties), Orphans()
        if isinstance(plan, ArchivalPlan):
            orphans = orphans_passed(table, plan.instants)
            if orphans.stuck:
                plan = plan_of(table, self.properties, orphans.bounds(table.timeline))
        return work_of(table, self.properties, plan, orphans)

    def facts(self, table: HudiTable, plan: ArchivalWork) -> PlanFacts:
        return plan.facts

    def carry_out(
        self, locked: TransactionSettings, table: HudiTable, plan: ArchivalWork, progress: Progress
    ) -> JobResult:
        plan.carry_out(table, progress)
        prepared, merge = plan.prepared, plan.merge
        return _result(
            table,
            plan,
            progress,
            archive_file=prepared.path if prepared else None,
            entries=prepared.entries if prepared else 0,
            merged_files=len(merge.inputs) if merge else 0,
            merged_into=merge.path if merge else None,
        )

    def shown(self, table: HudiTable, plan: ArchivalWork, progress: Progress) -> JobResult:
        seconds = seconds_to_delete(table, Action.CLEAN, plan.facts.files) + seconds_to_write(plan.bytes_out)
        estimated = {"estimated_seconds": round(seconds, 3), "estimated_bytes": plan.bytes_out}
        return _result(table, plan, progress, shown=plan.to_json(), **estimated)


def _result(
    table: HudiTable, plan: ArchivalWork, progress: Progress, *, shown: Mapping[str, Any] | None = None, **extra: Any
) -> JobResult:
    """:param shown: of a dry run alone."""
    instants = plan.archival.instants if plan.archival else ()
    counts: dict[str, Any] = {
        "archived": len(instants),
        "newest": latest(one.timestamp for one in instants) or None,
        "held_by": plan.archival.blocker if plan.archival else None,
    }
    result = plan_result(ACTION, table, plan.facts, progress, shown=shown, **counts, **extra)
    return result if instants else replace(result, reason=plan.why_no_more)


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
