"""Cleaning as ``clean.py`` runs it: what goes is found in this process, and deleted here or, where it is much, on
Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta

from spark_jobs.core.config.keys import clean as clean_keys
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.instant_time import format_instant, parse_instant_time
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import CLEANER_PLAN
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore, schedule
from spark_jobs.core.view.pending import read_by_plan
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.cleaning.execute import CleanRun, carry_out_clean, withdraw_without_plan
from spark_jobs.services.cleaning.partitions import partitions_to_clean
from spark_jobs.services.cleaning.pending import done_before, pending_clean, read_pending
from spark_jobs.services.cleaning.plan import ACTION, CleanPlan, CleanSettings, needed_as_of, plan_cleaning, retained_by
from spark_jobs.services.cleaning.reasons import held_back_by, why_not
from spark_jobs.services.frame.budget import Budget, that_fit
from spark_jobs.services.frame.estimate import seconds_to_delete
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.opening import open_to_change
from spark_jobs.services.frame.plan_hash import PLAN_HASH_KEY, digest_of, refuse_other_plan
from spark_jobs.services.frame.results import done_by_hash, planned
from spark_jobs.services.rollback.failed_writes import abandoned_writes, roll_back_failed_writes
from spark_jobs.services.rollback.job import undoing_of

_FINISHED = "it was left pending; the next run plans a new one"
_ALL_HOURS = 24 * 366 * 100
"""No table of Hudi's is as old; more hours would leave the calendar."""
_FINISHES = "it was left pending, and is finished before another is planned"


def run_cleaning(options: CleanOptions, context: JobContext) -> JobResult:
    """Carry out a clean that was left pending, then plan and carry out a new one; all under the table lock.

    :raises ConfigError: a budget below 1.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    progress, opened = context.progress, open_to_change(options, context)
    table, properties, settings = opened.table, opened.properties, opened.settings
    budget = Budget.start(options.max_bytes, options.max_seconds, table.clock)
    rolls_back = clean_keys.FAILED_WRITES_POLICY.of(properties) is not clean_keys.FailedWrites.NEVER
    refuse_pending_restore(table.timeline)
    clean_settings(table, properties)  # values that are none are refused before anything is rolled back
    if options.dry_run:
        return _dry_run(settings, table, properties, progress, rolls_back=rolls_back)
    if options.plan_hash is not None:
        done = _done_before(table, options.plan_hash)
        if done is not None:
            return done
        after = table.without(abandoned_writes(settings, table.timeline) if rolls_back else ())
        _refuse_other(table, after, properties, options.plan_hash)  # before anything is rolled back
    if rolls_back:
        for undone, by in roll_back_failed_writes(settings):
            progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
    with settings.new_lock() as locked:
        return clean_table(
            locked,
            table.refreshed(locked.storage),
            properties,
            progress,
            plan_hash=options.plan_hash,
            engine=context.engine,
            budget=budget,
        )


def clean_table(
    settings: TransactionSettings,
    table: HudiTable,
    properties: Mapping[str, str],
    progress: Progress,
    *,
    plan_hash: str | None = None,
    engine: Engine | None = None,
    budget: Budget | None = None,
) -> JobResult:
    """Finish what was left pending, then clean; the caller holds the table lock.

    :param plan_hash: do the plan of this hash alone: that of the pending clean where there is one.
    :param budget: what this run may delete. With one (though it has no bounds) no more is done than one clean.
    :returns: of what was planned anew; of the clean that was finished, where nothing is left to plan.
    """
    engine = engine or LocalEngine(settings.clock)
    one_only = budget is not None or plan_hash is not None
    note = {PLAN_HASH_KEY: digest_of(plan_hash)} if plan_hash is not None else {}
    budget = budget or Budget.start(None, None, settings.clock)
    refuse_pending_restore(table.timeline)
    finished = None
    for pending in table.timeline.pending({Action.CLEAN}):
        if withdraw_without_plan(table, pending):
            progress.note(f"removed clean {pending.timestamp}, whose plan was never written")
            table = table.refreshed()
            continue
        found = read_pending(table, pending)
        if plan_hash is not None:
            found.refuse_other(plan_hash, table)
        left = _too_large(found.there.values(), budget)
        if left is not None:
            return Nothing(f"of clean {pending.timestamp}, which is pending, {left}").result(ACTION, table)
        progress.note(f"finishing clean {pending.timestamp}, which was left pending")
        run = carry_out_clean(
            settings, table, pending, progress, engine=engine, budget=budget, there=found.there, note=note
        )
        finished = _result(table, found.plan, pending.timestamp, progress, run=run, budget=budget)
        if one_only:
            return finished if run.left else replace(finished, reason=_FINISHED)
        table = table.refreshed()
    with progress.phase("plan"):
        plan = plan_clean(table, properties)
    reason = why_not(table, properties, plan)
    if plan_hash is not None:
        refuse_other_plan(plan_hash, reason or plan.facts, table.timeline)
    if reason is not None:
        return finished or reason.result(ACTION, table)
    left = _too_large(plan.sizes.values(), budget)
    if left is not None:
        return Nothing(left).result(ACTION, table)
    payload = encode_payload(CLEANER_PLAN, plan.to_avro(table.base_path, note))
    requested = schedule(settings, Action.CLEAN, table.timeline, payload)
    table = table.refreshed()
    run = carry_out_clean(settings, table, requested, progress, engine=engine, budget=budget, there=plan.sizes)
    return _result(table, plan, requested.timestamp, progress, run=run, budget=budget)


def _dry_run(
    settings: TransactionSettings,
    table: HudiTable,
    properties: Mapping[str, str],
    progress: Progress,
    *,
    rolls_back: bool,
) -> JobResult:
    """What :func:`run_cleaning` would do: first undo dead writes, then one clean."""
    dead = abandoned_writes(settings, table.timeline) if rolls_back else []
    undoings = {"rolls_back": [undoing_of(settings, table, one).to_json() for one in dead]} if dead else {}
    pending = pending_clean(table)
    if pending is not None:
        found = _result(table, pending.plan, pending.instant.timestamp, progress, dry_run=True)
        gone = pending.plan.files - len(pending.there)
        shown = {"plan_hash": pending.facts.hash_at(table.timeline), "gone_before": gone}
        found = replace(found, reason=_FINISHES, extra={**found.extra, **shown})
    else:
        after = table.without(dead)
        plan = plan_clean(after, properties)
        reason = why_not(after, properties, plan)
        found = _result(after, plan, None, progress, dry_run=True) if reason is None else reason.result(ACTION, after)
    if not undoings:
        return found
    plan_shown = {**found.plan, **undoings} if found.plan is not None else None
    return replace(found, plan=plan_shown, extra={**found.extra, "rolls_back": [one.timestamp for one in dead]})


def _refuse_other(table: HudiTable, after: HudiTable, properties: Mapping[str, str], plan_hash: str) -> None:
    """
    :param after: the table without the writes that are rolled back first.
    :raises WriteConflictError: what would be done is not the plan of this hash.
    """
    pending = pending_clean(table)
    if pending is not None:
        pending.refuse_other(plan_hash, table)
        return
    plan = plan_clean(after, properties)
    refuse_other_plan(plan_hash, why_not(after, properties, plan) or plan.facts, table.timeline)


def _done_before(table: HudiTable, plan_hash: str) -> JobResult | None:
    done = done_before(table, plan_hash)
    if done is None:
        return None
    reason = f"{ACTION} {done.timestamp} carried out this plan before"
    return done_by_hash(ACTION, table, plan_hash, instant=done.timestamp, reason=reason)


def _too_large(sizes: Collection[int], budget: Budget) -> str | None:
    """Why none of these files, of so many bytes, fits; None where one does, or there are none."""
    if not sizes or that_fit([min(sizes)], budget.max_bytes):
        return None
    return f"the smallest of {len(sizes)} file(s) has {min(sizes)} bytes, more than {budget.text()}"


def plan_clean(table: HudiTable, properties: Mapping[str, str]) -> CleanPlan:
    savepoints = table.timeline.completed(Action.SAVEPOINT)
    completed = table.timeline.completed_commits()
    pending = [one.timestamp for one in table.timeline.pending_writes()]
    settings = clean_settings(table, properties)
    partitions = None
    if clean_keys.CLEAN_INCREMENTAL.of(properties) and not settings.by_versions:
        partitions = partitions_to_clean(table, retained_by(settings, completed, pending), savepoints)
    groups = table.view(partitions).all_groups()
    return plan_cleaning(
        groups,
        settings,
        completed=completed,
        pending=pending,
        protected=_protected(table, savepoints) | needed_as_of(groups, [one.timestamp for one in savepoints]),
        savepoints=tuple(one.timestamp for one in savepoints),
    )


def clean_settings(table: HudiTable, properties: Mapping[str, str], *, at_last_commit: bool = False) -> CleanSettings:
    """What the configuration asks for.

    :param at_last_commit: hours count back from the last commit, as archival counts them, not from now.
    """
    clean_keys.CLEAN_TRIGGER.of(properties)  # the one that there is; another word is refused
    clean_keys.CLEAN_SOURCE.of(properties)
    policy = clean_keys.CLEAN_POLICY.of(properties)
    if policy is clean_keys.CleaningPolicy.KEEP_LATEST_FILE_VERSIONS:
        return CleanSettings(policy=policy, retained=clean_keys.CLEAN_FILE_VERSIONS_RETAINED.of(properties))
    if policy is clean_keys.CleaningPolicy.KEEP_LATEST_COMMITS:
        return CleanSettings(policy=policy, retained=clean_keys.CLEAN_COMMITS_RETAINED.of(properties))
    hours = clean_keys.CLEAN_HOURS_RETAINED.of(properties)
    last, back = table.timeline.last_completed(), timedelta(hours=min(hours, _ALL_HOURS))
    if at_last_commit and last is not None:
        since = (parse_instant_time(last.timestamp) - back).strftime("%Y%m%d%H%M%S%f")[:17]
    else:
        since = format_instant(table.clock.now() - back, table.config.timezone)
    return CleanSettings(policy=policy, retained=hours, since=since)


def retained_from(
    table: HudiTable, properties: Mapping[str, str], *, at_last_commit: bool = False, beside_pending: bool = False
) -> Instant | None:
    """The earliest commit that a clean would retain now; None where its policy has none, or there is nothing to
    clean.

    :param beside_pending: as if no write were pending.
    """
    settings = clean_settings(table, properties, at_last_commit=at_last_commit)
    pending = [] if beside_pending else [one.timestamp for one in table.timeline.pending_writes()]
    return retained_by(settings, table.timeline.completed_commits(), pending)


def _protected(table: HudiTable, savepoints: tuple[Instant, ...]) -> frozenset[str]:
    """Names of files that savepoints, pending clusterings and pending log compactions hold."""
    names: set[str] = set()
    for savepoint in savepoints:
        names.update(table.timeline.savepoint(savepoint, table.clock).names)
    for pending in table.timeline.pending({Action.LOG_COMPACTION}):
        for operation in table.timeline.plan(pending, table.clock)["operations"] or []:
            names.update(path.rsplit("/", 1)[-1] for path in operation["deltaFilePaths"] or [])
    for pending in table.timeline.pending({Action.REPLACE_COMMIT}):
        names.update(read_by_plan(table.timeline, pending, table.clock))
    return frozenset(names)


def _result(
    table: HudiTable,
    plan: CleanPlan,
    instant: str | None,
    progress: Progress,
    *,
    dry_run: bool = False,
    run: CleanRun | None = None,
    budget: Budget | None = None,
) -> JobResult:
    """:param run: what was done; None for a dry run."""
    done = planned(
        ACTION,
        table,
        plan.facts,
        progress,
        shown=plan.to_json() if dry_run else None,
        instant=instant,
        deleted_files=plan.files,
        deleted_bytes=plan.bytes,
        retain_from=plan.retain_from.timestamp if plan.retain_from else None,
        held_files=plan.held,
        held_by=held_back_by(table, plan) if plan.settings.retained else None,
        **({"estimated_seconds": seconds_to_delete(table, Action.CLEAN, plan.files)} if dry_run else {}),
        **({"engine": run.engine, "gone_before": run.gone_before} if run is not None else {}),
    )
    if run is None or budget is None or not run.left:
        return done
    counts = {"deleted_files": run.deleted, "deleted_bytes": run.deleted_bytes}
    return replace(
        done,
        state=JobState.SCHEDULED,
        reason=(
            f"{run.gone_before + run.deleted} of {plan.files} file(s) are deleted, {run.left} of {run.left_bytes} "
            f"bytes are left for a later run ({budget.text()}); the clean stays pending until all are"
        ),
        extra={**done.extra, **counts, "left_files": run.left, "left_bytes": run.left_bytes},
    )
