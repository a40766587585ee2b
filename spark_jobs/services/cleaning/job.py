"""Cleaning as ``clean.py`` runs it: what goes is found in this process, and deleted here or, where it is much, on
Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from spark_jobs.core.config.keys import clean as clean_keys
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore, schedule
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.at_once import ServiceAtOnce, carry_out_at_once, run_at_once
from spark_jobs.frame.budget import Budget, that_fit
from spark_jobs.frame.estimate import seconds_to_delete
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY, PlanFacts, digest_of
from spark_jobs.frame.results import done_by_hash, plan_result
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.cleaning.candidates import clean_settings, plan_clean
from spark_jobs.services.cleaning.execute import CleanRun, carry_out_clean, withdraw_without_plan
from spark_jobs.services.cleaning.pending import PendingClean, done_before, pending_clean
from spark_jobs.services.cleaning.plan import ACTION, CleanPlan
from spark_jobs.services.cleaning.reasons import held_back_by, why_not
from spark_jobs.services.rollback.failed_writes import abandoned_writes, undo_failed_writes
from spark_jobs.services.rollback.job import rollback_work_of

_FINISHED = "it was left pending; the next run plans a new one"
_FINISHES = "it was left pending, and is finished before another is planned"


def run_cleaning(options: CleanOptions, context: JobContext) -> JobResult:
    """Carry out the clean that was left pending, or plan and carry out a new one; all under the table lock.

    :raises ConfigError: a budget below 1.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    opened = open_to_change(options, context)
    table, properties = opened.table, opened.properties
    service = Cleaning(
        settings=opened.settings,
        properties=properties,
        engine=context.engine,
        budget=Budget.start(options.max_bytes, options.max_seconds, table.clock),
        rolls_back=clean_keys.FAILED_WRITES_POLICY.of(properties) is not clean_keys.FailedWrites.NEVER,
        asked=options.plan_hash,
    )
    refuse_pending_restore(table.timeline)
    clean_settings(table, properties)  # values that are none are refused before anything is rolled back
    return run_at_once(service, opened, context.progress, dry_run=options.dry_run, plan_hash=options.plan_hash)


def clean_table(
    locked: TransactionSettings, table: HudiTable, properties: Mapping[str, str], progress: Progress
) -> JobResult:
    """Finish the cleans that were left pending, then clean, in this process; the caller holds the table lock.

    :returns: of what was planned anew; of the last clean that was finished, where nothing is left to plan.
    """
    service = Cleaning(
        settings=locked,
        properties=properties,
        engine=LocalEngine(locked.clock),
        budget=Budget.start(None, None, locked.clock),
    )
    finished = None
    while pending_clean(table) is not None:
        finished = carry_out_at_once(service, locked, table, progress)
        table = table.refreshed()
    result = carry_out_at_once(service, locked, table, progress)
    return finished if finished is not None and result.state is JobState.NOTHING_TO_DO else result


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning(ServiceAtOnce[CleanPlan | PendingClean]):
    """One clean a run: the first that was left pending, else a new one, as far as ``budget`` goes.

    ``rolls_back``: failed writes go before it is planned. ``asked`` is the hash that was given, if one was.
    """

    settings: TransactionSettings
    properties: Mapping[str, str]
    engine: Engine
    budget: Budget
    rolls_back: bool = False
    asked: str | None = None
    action: ClassVar[str] = ACTION

    def rolls_back_failed_writes(self) -> bool:
        return self.rolls_back

    def failed_writes(self, table: HudiTable) -> Sequence[Instant]:
        return abandoned_writes(self.settings, table.timeline) if self.rolls_back else ()

    def roll_back_failed_writes(self, progress: Progress) -> None:
        undo_failed_writes(self.settings, progress)

    def done_before(self, table: HudiTable, plan_hash: str) -> JobResult | None:
        done = done_before(table, plan_hash)
        if done is None:
            return None
        reason = f"{ACTION} {done.timestamp} carried out this plan before"
        return done_by_hash(ACTION, table, plan_hash, instant=done.timestamp, reason=reason)

    def settle(self, locked: TransactionSettings, table: HudiTable, progress: Progress) -> HudiTable:
        """Cleans without a plan are withdrawn."""
        for pending in table.timeline.pending({Action.CLEAN}):
            if withdraw_without_plan(table, pending):
                progress.note(f"removed clean {pending.timestamp}, whose plan was never written")
                table = table.refreshed()
        return table

    def plan(self, table: HudiTable) -> CleanPlan | PendingClean | Nothing:
        pending = pending_clean(table)
        if pending is not None:
            return pending
        plan = plan_clean(table, self.properties)
        return why_not(table, self.properties, plan) or plan

    def facts(self, table: HudiTable, plan: CleanPlan | PendingClean) -> PlanFacts:
        return plan.facts

    def requested(self, table: HudiTable, plan_hash: str) -> CleanPlan | PendingClean | Nothing | JobResult:
        """A pending clean is known by the hash by which it was planned too."""
        pending = pending_clean(table)
        if pending is not None:
            pending.refuse_other(plan_hash, table)
            return pending
        return ServiceAtOnce.requested(self, table, plan_hash)  # a class with slots has no super() without arguments

    def carry_out(
        self, locked: TransactionSettings, table: HudiTable, plan: CleanPlan | PendingClean, progress: Progress
    ) -> JobResult:
        if isinstance(plan, PendingClean):
            return self._finish(locked, table, plan, progress)
        left = _too_large(plan.sizes.values(), self.budget)
        if left is not None:
            return Nothing(left).result(ACTION, table)
        payload = plan.requested(self._note).payload(table.base_path)
        requested = schedule(locked, Action.CLEAN, table.timeline, payload)
        table = table.refreshed()
        run = carry_out_clean(
            locked, table, requested, progress, engine=self.engine, budget=self.budget, there=plan.sizes
        )
        return self._result(table, plan, requested, run, progress)

    def _finish(
        self, locked: TransactionSettings, table: HudiTable, found: PendingClean, progress: Progress
    ) -> JobResult:
        pending = found.instant
        left = _too_large(found.there.values(), self.budget)
        if left is not None:
            return Nothing(f"of clean {pending.timestamp}, which is pending, {left}").result(ACTION, table)
        progress.note(f"finishing clean {pending.timestamp}, which was left pending")
        run = carry_out_clean(
            locked,
            table,
            pending,
            progress,
            engine=self.engine,
            budget=self.budget,
            there=found.there,
            note=self._note,
        )
        result = self._result(table, found.plan, pending, run, progress)
        return result if run.left else replace(result, reason=_FINISHED)

    @property
    def _note(self) -> dict[str, str]:
        return {PLAN_HASH_KEY: digest_of(self.asked)} if self.asked is not None else {}

    def shown(self, table: HudiTable, plan: CleanPlan | PendingClean, progress: Progress) -> JobResult:
        if isinstance(plan, CleanPlan):
            return _shown(table, plan, None, progress)
        found = _shown(table, plan.plan, plan.instant, progress)
        gone = plan.plan.files - len(plan.there)
        extra = {"plan_hash": plan.facts.hash_at(table.timeline), "gone_before": gone}
        return replace(found, reason=_FINISHES, extra={**found.extra, **extra})

    def with_rollbacks(self, result: JobResult, table: HudiTable, failed: Sequence[Instant]) -> JobResult:
        result = ServiceAtOnce.with_rollbacks(self, result, table, failed)
        if result.plan is None:
            return result
        rollbacks = [rollback_work_of(self.settings, table, one).to_json() for one in failed]
        return replace(result, plan={**result.plan, "rolls_back": rollbacks})

    def _result(
        self, table: HudiTable, plan: CleanPlan, instant: Instant, run: CleanRun, progress: Progress
    ) -> JobResult:
        counts = {"engine": run.engine, "gone_before": run.gone_before}
        done = _of_plan(table, plan, instant, progress, shown=None, **counts)
        if not run.left:
            return done
        deleted = {"deleted_files": run.deleted, "deleted_bytes": run.deleted_bytes}
        return replace(
            done,
            state=JobState.SCHEDULED,
            reason=(
                f"{run.gone_before + run.deleted} of {plan.files} file(s) are deleted, {run.left} of {run.left_bytes} "
                f"bytes are left for a later run ({self.budget.text()}); the clean stays pending until all are"
            ),
            extra={**done.extra, **deleted, "left_files": run.left, "left_bytes": run.left_bytes},
        )


def _too_large(sizes: Collection[int], budget: Budget) -> str | None:
    """Why none of these files, of so many bytes, fits; None where one does, or there are none."""
    if not sizes or that_fit([min(sizes)], budget.max_bytes):
        return None
    return f"the smallest of {len(sizes)} file(s) has {min(sizes)} bytes, more than {budget.text()}"


def _shown(table: HudiTable, plan: CleanPlan, instant: Instant | None, progress: Progress) -> JobResult:
    seconds = seconds_to_delete(table, Action.CLEAN, plan.files)
    return _of_plan(table, plan, instant, progress, shown=plan.to_json(), estimated_seconds=seconds)


def _of_plan(
    table: HudiTable,
    plan: CleanPlan,
    instant: Instant | None,
    progress: Progress,
    *,
    shown: Mapping[str, Any] | None,
    **extra: Any,
) -> JobResult:
    """:param shown: of a dry run alone."""
    return plan_result(
        ACTION,
        table,
        plan.facts,
        progress,
        shown=shown,
        instant=instant.timestamp if instant else None,
        deleted_files=plan.files,
        deleted_bytes=plan.bytes,
        retain_from=plan.retain_from.timestamp if plan.retain_from else None,
        held_files=plan.held,
        held_by=held_back_by(table, plan) if plan.settings.retained else None,
        **extra,
    )
