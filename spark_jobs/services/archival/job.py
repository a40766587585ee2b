"""Archival as ``archive.py`` runs it, in this process: no JVM starts for it (Hudi: HoodieTimelineArchiver)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.core.config import history_keys as keys
from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.archive_writer import archive, merge_small_files
from spark_jobs.core.timeline.instant import Action, parse_instant
from spark_jobs.core.transaction.transaction import refuse_pending_restore
from spark_jobs.engine.progress import Progress
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.archival.bounds import bounds_of
from spark_jobs.services.archival.plan import ArchivalPlan, Keep, TimelineFacts, plan_archival, why_nothing
from spark_jobs.services.cleaning.job import retained_from
from spark_jobs.services.estimate import seconds_to_delete
from spark_jobs.services.outcome import nothing_to_do, planned
from spark_jobs.services.plan_hash import refuse_other_plan

ACTION = "archive"


def run_archival(options: ArchiveOptions, progress: Progress) -> JobResult:
    """
    :raises ConfigError: ``hoodie.keep.min.commits`` is not below ``hoodie.keep.max.commits``.
    :raises WriteConflictError: a restore is pending, or the plan is not that of ``plan_hash`` any more.
    """
    properties = options.effective().hoodie_properties()
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = HudiTable.open(options.base_path, lists_storage=True)
    refuse_unwritable(table.config)
    if options.dry_run:
        plan = plan_of(table, properties)
        return nothing_to_do(ACTION, table, plan) if isinstance(plan, str) else _result(table, plan, None, progress)
    with table.transaction_settings(properties).new_lock():
        return archive_table(table.refreshed(), properties, progress, plan_hash=options.plan_hash)


def archive_table(
    table: HudiTable, properties: Mapping[str, str], progress: Progress, *, plan_hash: str | None = None
) -> JobResult:
    """Archive what may go now; the caller holds the table lock."""
    refuse_pending_restore(table.timeline)
    with progress.phase("plan"):
        plan = plan_of(table, properties)
    if plan_hash is not None:
        refuse_other_plan(plan_hash, plan if isinstance(plan, str) else plan.facts, table.timeline)
    merged = None
    if not isinstance(plan, str):
        with progress.phase("archive"):
            done = archive(table.timeline, table.base_path, plan.instants, batch_size=keys.ARCHIVE_BATCH.of(properties))
    if keys.ARCHIVE_MERGE.of(properties):
        with progress.phase("merge"):
            merged = merge_small_files(
                table.storage,
                table.timeline.archive_folder,
                at_least=keys.ARCHIVE_MERGE_FILES.of(properties),
                small_bytes=keys.ARCHIVE_MERGE_BYTES.of(properties),
            )
    if isinstance(plan, str):
        return nothing_to_do(ACTION, table, plan, **({"merged_into": merged} if merged else {}))
    return _result(table, plan, {"archive_file": done.path, "entries": done.entries, "merged_into": merged}, progress)


def plan_of(table: HudiTable, properties: Mapping[str, str]) -> ArchivalPlan | str:
    """What goes, or why nothing does, with what is in the way."""
    timeline = table.timeline
    commits = [one.timestamp for one in timeline.completed_commits()]
    retain = retained_from(table, properties, at_last_commit=True)
    keep = Keep.of(properties, commits, retain.timestamp if retain else None)
    facts = TimelineFacts(
        instants=timeline.instants,
        bounds=bounds_of(table, properties),
        beyond_savepoints=keys.ARCHIVE_BEYOND_SAVEPOINT.of(properties),
    )
    chosen, held_by = plan_archival(facts, keep)
    if not chosen:
        return why_nothing(facts, keep, held_by)
    going = {(one.timestamp, one.comparable_action) for one in chosen}
    sizes = {}
    for status in table.storage.list(timeline.folder):
        state = parse_instant(status.name)
        if state is not None and (state.timestamp, state.comparable_action) in going:
            sizes[status.name] = status.size
    return ArchivalPlan(instants=chosen, sizes=sizes, keep=keep, held_by=held_by)


def _result(table: HudiTable, plan: ArchivalPlan, done: Mapping[str, Any] | None, progress: Progress) -> JobResult:
    """:param done: what an archival wrote; None for a dry run."""
    return planned(
        ACTION,
        table,
        plan.facts,
        progress,
        shown=plan.to_json() if done is None else None,
        archived=len(plan.instants),
        newest=max(one.timestamp for one in plan.instants),
        held_by=plan.held_by.why if plan.held_by else None,
        **(done or {"estimated_seconds": seconds_to_delete(table, Action.CLEAN, len(plan.sizes))}),
    )
