"""Cleaning as ``clean.py`` runs it: what goes is found in this process, and deleted here or, where it is much, on
Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from spark_jobs.core.config import history_keys
from spark_jobs.core.config import write_keys as keys
from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import CLEANER_PLAN
from spark_jobs.core.timeline.instant import Action, Instant, State, format_instant, parse_instant_time
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore, schedule
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.budget import Budget, that_fit
from spark_jobs.services.cleaning.execute import CleanRun, carry_out_clean, withdraw_without_plan
from spark_jobs.services.cleaning.partitions import partitions_to_clean
from spark_jobs.services.cleaning.pending import is_meant, pending_plan, plan_on_timeline
from spark_jobs.services.cleaning.plan import CleanPlan, CleanSettings, plan_cleaning, retained_by
from spark_jobs.services.due import commits_since
from spark_jobs.services.estimate import seconds_to_delete
from spark_jobs.services.outcome import nothing_to_do, planned
from spark_jobs.services.plan_hash import PLAN_HASH_KEY, digest_of, refuse_other_plan
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes

ACTION = "clean"


def run_cleaning(options: CleanOptions, progress: Progress, engine: Engine | None = None) -> JobResult:
    """Carry out a clean that was left pending, then plan and carry out a new one; all under the table lock.

    :param engine: what deletes; this process, where there is none.
    :raises ConfigError: a budget below 1.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    properties = options.effective().hoodie_properties()
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = HudiTable.open(options.base_path, lists_storage=True)
    refuse_unwritable(table.config)
    settings = table.transaction_settings(properties)
    budget = Budget.start(options.max_bytes, options.max_seconds, table.clock)
    if options.dry_run:
        pending = pending_plan(table)
        if pending is not None:
            return _result(table, pending[1], pending[0].timestamp, progress, dry_run=True)
        plan = plan_clean(table, properties)
        return _nothing(table, properties, plan) or _result(table, plan, None, progress, dry_run=True)
    if history_keys.FAILED_WRITES_POLICY.of(properties) is not history_keys.FailedWrites.NEVER:
        for undone, by in roll_back_failed_writes(settings):
            progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
    with settings.new_lock():
        return clean_table(
            settings,
            table.refreshed(),
            properties,
            progress,
            plan_hash=options.plan_hash,
            engine=engine,
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
    :param budget: what this run may delete. With one it does no more than one clean.
    :returns: of what was planned anew; of the clean that was finished, where nothing is left to plan.
    """
    engine = engine or LocalEngine(settings.clock)
    budget = budget or Budget.start(None, None, settings.clock)
    refuse_pending_restore(table.timeline)
    finished = None
    for pending in table.timeline.pending({Action.CLEAN}):
        if withdraw_without_plan(table, pending):
            progress.note(f"removed clean {pending.timestamp}, whose plan was never written")
            table = table.refreshed()
            continue
        plan, there = plan_on_timeline(table, pending)
        if plan_hash is not None and not is_meant(table, pending, plan_hash):
            refuse_other_plan(plan_hash, plan.facts, table.timeline)
        left = _too_large(there.values(), budget)
        if left is not None:
            return nothing_to_do(ACTION, table, f"of clean {pending.timestamp}, which is pending, {left}")
        progress.note(f"finishing clean {pending.timestamp}, which was left pending")
        run = carry_out_clean(settings, table, pending, progress, engine=engine, budget=budget, there=there)
        finished = _result(table, plan, pending.timestamp, progress, run=run, budget=budget)
        if plan_hash is not None or budget.told():
            return finished
        table = table.refreshed()
    with progress.phase("plan"):
        plan = plan_clean(table, properties)
    reason = _nothing(table, properties, plan)
    if plan_hash is not None:
        refuse_other_plan(plan_hash, plan.facts if reason is None else str(reason.reason), table.timeline)
    if reason is not None:
        return finished or reason
    left = _too_large(plan.sizes.values(), budget)
    if left is not None:
        return nothing_to_do(ACTION, table, left)
    note = {PLAN_HASH_KEY: digest_of(plan_hash)} if plan_hash is not None else {}
    payload = encode_payload(CLEANER_PLAN, plan.to_avro(table.base_path, note))
    requested = schedule(settings, Action.CLEAN, table.timeline, payload)
    table = table.refreshed()
    run = carry_out_clean(settings, table, requested, progress, engine=engine, budget=budget, there=plan.sizes)
    return _result(table, plan, requested.timestamp, progress, run=run, budget=budget)


def _too_large(sizes: Collection[int], budget: Budget) -> str | None:
    """Why none of these files, of so many bytes, fits; None where one does, or there are none."""
    if not sizes or that_fit([min(sizes)], budget.max_bytes):
        return None
    return f"the smallest of {len(sizes)} file(s) has {min(sizes)} bytes, more than {budget.told()}"


def plan_clean(table: HudiTable, properties: Mapping[str, str]) -> CleanPlan:
    savepoints = table.timeline.completed(Action.SAVEPOINT)
    completed = table.timeline.completed_commits()
    pending = [one.timestamp for one in table.timeline.pending_writes()]
    settings = clean_settings(table, properties)
    partitions = None
    if history_keys.CLEAN_INCREMENTAL.of(properties) and not settings.by_versions:
        partitions = partitions_to_clean(table, retained_by(settings, completed, pending), savepoints)
    return plan_cleaning(
        table.view(partitions).all_groups(),
        settings,
        completed=completed,
        pending=pending,
        protected=_protected(table, savepoints),
        savepoints=tuple(one.timestamp for one in savepoints),
    )


def clean_settings(table: HudiTable, properties: Mapping[str, str], *, at_last_commit: bool = False) -> CleanSettings:
    """What the configuration asks for.

    :param at_last_commit: hours count back from the last commit, as archival counts them, not from now.
    """
    history_keys.CLEAN_TRIGGER.of(properties)  # the one that there is; another word is refused
    policy = keys.CLEAN_POLICY.of(properties)
    if policy is keys.CleaningPolicy.KEEP_LATEST_FILE_VERSIONS:
        return CleanSettings(policy=policy, retained=keys.CLEAN_FILE_VERSIONS_RETAINED.of(properties))
    if policy is keys.CleaningPolicy.KEEP_LATEST_COMMITS:
        return CleanSettings(policy=policy, retained=keys.CLEAN_COMMITS_RETAINED.of(properties))
    hours = history_keys.CLEAN_HOURS_RETAINED.of(properties)
    last = table.timeline.last_completed()
    if at_last_commit and last is not None:
        since = (parse_instant_time(last.timestamp) - timedelta(hours=hours)).strftime("%Y%m%d%H%M%S%f")[:17]
    else:
        since = format_instant(table.clock.now() - timedelta(hours=hours), table.config.timezone)
    return CleanSettings(policy=policy, retained=hours, since=since)


def retained_from(table: HudiTable, properties: Mapping[str, str], *, at_last_commit: bool = False) -> Instant | None:
    """The earliest commit that a clean would retain now; None where its policy has none, or there is nothing to
    clean.
    """
    settings = clean_settings(table, properties, at_last_commit=at_last_commit)
    pending = [one.timestamp for one in table.timeline.pending_writes()]
    return retained_by(settings, table.timeline.completed_commits(), pending)


def _protected(table: HudiTable, savepoints: tuple[Instant, ...]) -> frozenset[str]:
    """Names of files that savepoints, pending clusterings and pending log compactions hold."""
    names: set[str] = set()
    for savepoint in savepoints:
        payload = table.timeline.payload(savepoint, table.clock)
        for partition in payload["partitionMetadata"].values():
            names.update(partition["savepointDataFile"])
    for pending in table.timeline.pending({Action.LOG_COMPACTION}):
        for operation in table.timeline.plan(pending, table.clock)["operations"] or []:
            names.update(path.rsplit("/", 1)[-1] for path in operation["deltaFilePaths"] or [])
    clustered = table.pending.clustering
    for group in table.view(sorted({partition for partition, _ in clustered})).all_groups() if clustered else ():
        if group.key in clustered:
            names.update(path.rsplit("/", 1)[-1] for path in group.slices[0].paths)
    return frozenset(names)


def _nothing(table: HudiTable, properties: Mapping[str, str], plan: CleanPlan) -> JobResult | None:
    """The reason not to clean, with its numbers; None where there is something to do."""
    last = _last_cleaned(table)
    since, needed = commits_since(table.timeline, last), keys.CLEAN_MAX_COMMITS.of(properties)
    if len(since) < needed:
        return nothing_to_do(
            ACTION,
            table,
            f"{len(since)} commit(s) since the last clean, {needed} make it due ({keys.CLEAN_MAX_COMMITS.name})",
        )
    if plan.files:
        return None
    return nothing_to_do(ACTION, table, _why_nothing(table, plan))


def _why_nothing(table: HudiTable, plan: CleanPlan) -> str:
    completed, settings = len(table.timeline.completed_commits()), plan.settings
    if not settings.by_versions and plan.retain_from is None:
        pending = table.timeline.pending_writes()
        if settings.policy is keys.CleaningPolicy.KEEP_LATEST_BY_HOURS:
            return f"no commit of the last {settings.retained} hour(s) is completed before all pending ones"
        if completed > settings.retained and pending:
            return f"the pending instant {pending[0]} keeps all file slices"
        return f"{completed} completed commit(s), {settings.retained} are retained ({keys.CLEAN_COMMITS_RETAINED.name})"
    reason = "no file group has a slice older than the retained ones"
    if plan.held:
        savepoints = f"savepoint(s) {', '.join(plan.savepoints)} or " if plan.savepoints else ""
        reason += f", but for {plan.held} file(s) that {savepoints}pending plans keep"
    held_by = _held_back_by(table, plan)
    return f"{reason}; {held_by} holds back what is retained" if held_by else reason


def _held_back_by(table: HudiTable, plan: CleanPlan) -> str | None:
    """The pending write that keeps more commits' slices than the policy would; None where none does."""
    if plan.retain_from is None:
        return None
    free = retained_by(plan.settings, table.timeline.completed_commits(), ())
    if free is None or free.timestamp <= plan.retain_from.timestamp:
        return None
    return f"the pending instant {table.timeline.pending_writes()[0]}"


def _last_cleaned(table: HudiTable) -> str:
    """The newest commit that the last clean knew; empty where there was none, or nothing of it is readable.

    Hudi leaves an empty completed file where it died while it wrote one: its plan tells the same.
    """
    cleans = table.timeline.completed(Action.CLEAN)
    for instant in (cleans[-1], cleans[-1].at(State.REQUESTED)) if cleans else ():
        with suppress(CorruptTableError, StorageError):
            return str(table.timeline.payload(instant, table.clock)["lastCompletedCommitTimestamp"] or "")
    return ""


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
        held_by=_held_back_by(table, plan) if plan.settings.retained else None,
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
            f"bytes are left for a later run ({budget.told()}); the clean stays pending until all are"
        ),
        extra={**done.extra, **counts, "left_files": run.left, "left_bytes": run.left_bytes},
    )
