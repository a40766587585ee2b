"""Restore as ``restore.py`` runs it.

Hudi: SparkRDDWriteClient.restoreToSavepoint, restoreToInstant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

from spark_jobs.core.config.keys.metadata import METADATA_ENABLED
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.initialize import has_reserved_partition, initialize, is_quiet
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rollback import RequestedRestore
from spark_jobs.core.timeline.steps import begin_at_once, transition
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.at_once import ServiceAtOnce, run_at_once
from spark_jobs.frame.estimate import seconds_to_delete
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY, PlanFacts, digest_of
from spark_jobs.frame.results import done_by_hash, plan_result
from spark_jobs.options.choices import EngineKind
from spark_jobs.options.restore import RestoreCheck, RestoreOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.restore.execute import execute_restore, still_there
from spark_jobs.services.restore.plan import (
    RestorePlan,
    goal_of,
    instants_after,
    plan_restore,
    refuse_goal,
    refuse_living,
)
from spark_jobs.services.restore.verify import bytes_to_read, moment_of, refuse_changed
from spark_jobs.services.rollback.completed import FilesOfTable
from spark_jobs.services.rollback.failed_writes import (
    abandoned_writes,
    finish_rollbacks,
    is_alive,
    is_plan,
    undo_failed_writes,
)
from spark_jobs.services.rollback.job import block_instants_of
from spark_jobs.services.validation.scans import Scans

ACTION = "restore"


def run_restore(options: RestoreOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: a goal that the table can't be taken back to.
    :raises WriteConflictError: a writer is at work, or the plan is not that of ``plan_hash`` any more.
    :raises CorruptTableError: afterwards the table is not what it was at the goal.
    """
    opened = open_to_change(options, context)
    service = _Restore(
        settings=opened.settings,
        goal=options.savepoint or options.instant_time or "",
        options=options,
        has_metadata=METADATA_ENABLED.of(opened.properties),
        engine=context.engine,
    )
    return run_at_once(service, opened, context.progress, dry_run=options.dry_run, plan_hash=options.plan_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restore(ServiceAtOnce[RestorePlan]):
    """Back to ``goal``; ``has_metadata``: a metadata table is made again afterwards."""

    settings: TransactionSettings
    goal: str
    options: RestoreOptions
    has_metadata: bool
    engine: Engine
    action: ClassVar[str] = ACTION
    beside_restores: ClassVar[bool] = True

    def rolls_back_failed_writes(self) -> bool:
        return True

    def failed_writes(self, table: HudiTable) -> Sequence[Instant]:
        """While a restore is pending, none: it undoes what it has to itself."""
        return () if table.timeline.pending({Action.RESTORE}) else abandoned_writes(self.settings, table.timeline)

    def roll_back_failed_writes(self, progress: Progress) -> None:
        undo_failed_writes(self.settings, progress)

    def done_before(self, table: HudiTable, plan_hash: str) -> JobResult | None:
        begun = _begun_by(table, plan_hash)
        if begun is None or not begun.is_completed or _ends_in_restore(table):
            return None
        return _done_before(table, begun, plan_hash)

    def settle(self, locked: TransactionSettings, table: HudiTable, progress: Progress) -> HudiTable:
        """Restores that broke off are ended, whatever they go back to: the table is half undone."""
        finish_rollbacks(locked, self.engine)
        _finish(locked, table.refreshed(), progress, self.engine)
        return table.refreshed()

    def plan(self, table: HudiTable) -> RestorePlan | Nothing:
        return _plan(self.settings, table, self.goal, saved=self.options.savepoint is not None)

    def facts(self, table: HudiTable, plan: RestorePlan) -> PlanFacts:
        return plan.facts

    def requested(self, table: HudiTable, plan_hash: str) -> RestorePlan | Nothing | JobResult:
        begun = _begun_by(table, plan_hash)
        if begun is not None:
            return _done_before(table, begun, plan_hash)
        return ServiceAtOnce.requested(self, table, plan_hash)  # a class with slots has no super() without arguments

    def without_plan(
        self, locked: TransactionSettings, table: HudiTable, found: Nothing | JobResult, progress: Progress
    ) -> None:
        if self.has_metadata and _ends_in_restore(table):
            _make_metadata_table(locked, table, progress)

    def carry_out(
        self, locked: TransactionSettings, table: HudiTable, plan: RestorePlan, progress: Progress
    ) -> JobResult:
        """Undo, and look whether the goal is what it was."""
        engine, goal, asked = self.engine, self.goal, self.options.plan_hash
        with_rows = self.options.verify is RestoreCheck.ROWS
        size = bytes_to_read(table, goal, plan.deletions) if with_rows else 0
        worked = engine.settle(2 * size, plan.facts.files)
        scans = Scans(engine=engine, progress=progress, on_spark=worked == EngineKind.SPARK.value)
        before = moment_of(table, goal, plan.deletions, scans, phase="look", with_rows=with_rows)
        note = {PLAN_HASH_KEY: digest_of(asked)} if asked is not None else {}
        done = _restore(locked, table, plan, progress, engine, note)
        table = table.refreshed()
        if self.has_metadata:
            _make_metadata_table(locked, table, progress)
        after = moment_of(table, goal, plan.deletions, scans, phase="verify", with_rows=with_rows)
        refuse_changed(before, after, goal)
        return _result(table, plan, progress, shown=None, instant=done.timestamp, engine=worked)

    def shown(self, table: HudiTable, plan: RestorePlan, progress: Progress) -> JobResult:
        seconds = seconds_to_delete(table, Action.RESTORE, plan.facts.files)
        return _result(table, plan, progress, shown=plan.to_json(), estimated_seconds=seconds)


def _plan(settings: TransactionSettings, table: HudiTable, goal: str, *, saved: bool) -> RestorePlan | Nothing:
    """:param saved: the goal has to be a savepoint."""
    refuse_goal(table, goal, saved=saved)
    timeline = table.timeline
    clusterings = {
        one.timestamp for one in timeline.pending({Action.REPLACE_COMMIT}) if is_plan(settings, timeline, one)
    }
    targets = instants_after(timeline, goal, clusterings)
    if not targets:
        return Nothing(f"no write or plan is later than {goal}")
    refuse_living(targets, partial(is_alive, settings))
    return plan_restore(table, goal, targets, _files(table), cache(partial(block_instants_of, settings)))


def _begun_by(table: HudiTable, asked: str) -> Instant | None:
    """The restore that was begun by this hash, pending or completed; the header of its plan's file has the hash."""
    timeline, digest = table.timeline, digest_of(asked)
    for one in timeline.filter(lambda one: one.action is Action.RESTORE):
        if timeline.note(one.at(State.REQUESTED)).get(PLAN_HASH_KEY) == digest:
            return one
    return None


def _done_before(table: HudiTable, begun: Instant, asked: str) -> JobResult:
    reason = f"{ACTION} {begun.timestamp} carried out this plan"
    return done_by_hash(ACTION, table, asked, instant=begun.timestamp, reason=reason)


def _files(table: HudiTable) -> FilesOfTable:
    listing = StorageListing(table.storage, table.base_path)
    return FilesOfTable.of(table.config.format, listing.files(listing.partitions()))


def _restore(
    settings: TransactionSettings,
    table: HudiTable,
    plan: RestorePlan,
    progress: Progress,
    engine: Engine,
    note: Mapping[str, str],
) -> Instant:
    timeline = table.timeline
    time = settings.next_instant(timeline)
    inflight = begin_at_once(timeline, time, Action.RESTORE, plan=plan.requested().payload(note))
    return execute_restore(settings, inflight, plan, [one.target for one in plan.rollbacks], progress, engine)


def _finish(settings: TransactionSettings, table: HudiTable, progress: Progress, engine: Engine) -> None:
    """End a restore that broke off, whatever it goes back to: the table is half undone."""
    for pending in table.timeline.pending({Action.RESTORE}):
        requested = pending.at(State.REQUESTED)
        if not table.timeline.read(requested):  # it died before anything was undone
            for state in (State.INFLIGHT, State.REQUESTED):
                settings.storage.delete(table.timeline.path(pending.at(state)))
            continue
        on_timeline = RequestedRestore.read(table.timeline, pending, settings.clock)
        goal = goal_of(on_timeline)
        progress.note(f"finishing restore {pending.timestamp} to {goal}, which was left pending")
        planned, left = still_there(settings, on_timeline)
        plan = plan_restore(table, goal, left, _files(table), cache(partial(block_instants_of, settings)))
        if pending.state is State.REQUESTED:
            pending = transition(table.timeline, pending, State.INFLIGHT)
        engine.settle(0, plan.facts.files)
        execute_restore(settings, pending, plan, planned, progress, engine)
        scans = Scans(engine=engine, progress=progress, on_spark=False)
        # says so where files of a savepoint are gone
        moment_of(table.refreshed(), goal, frozenset(), scans, phase="verify", with_rows=False)


def _ends_in_restore(table: HudiTable) -> bool:
    """Whether the last thing that was done was a restore: it may have broken off before it made the metadata table."""
    restores = table.timeline.completed(Action.RESTORE)
    last = table.timeline.last_completed()
    return bool(restores) and (last is None or last.precedes(restores[-1].timestamp))


def _make_metadata_table(settings: TransactionSettings, table: HudiTable, progress: Progress) -> None:
    """A restore takes the metadata table off: make it from a listing, so that readers need not list till the next
    commit. As Hudi has it, the job's ``hoodie.metadata.enable`` decides, not whether there was one before (Hudi:
    BaseHoodieWriteClient.restoreToSavepoint). Over a damaged file none is made: readers list the storage, and name it.
    """
    config = read_table_config(settings.storage, settings.base_path, settings.clock)
    if has_reserved_partition(settings.storage, settings.base_path):
        return
    if not config.lists(MetadataPartition.FILES) and is_quiet(table.timeline, ""):
        try:
            initialize(settings.storage, settings.base_path, config, table.timeline, settings.clock)
        except CorruptTableError as error:
            progress.note(f"no metadata table was made ({error})")


def _result(
    table: HudiTable,
    plan: RestorePlan,
    progress: Progress,
    *,
    shown: Mapping[str, Any] | None,
    instant: str | None = None,
    **extra: Any,
) -> JobResult:
    """:param shown: of a dry run alone."""
    facts, rolled_back = plan.facts, [one.target for one in plan.rollbacks]
    return plan_result(
        ACTION,
        table,
        facts,
        progress,
        shown=shown,
        instant=instant,
        goal=plan.goal,
        undone={one.timestamp: one.action.value for one in rolled_back},
        deleted_files=facts.files,
        deleted_bytes=facts.bytes,
        cancelled_logs=sum(len(each.cancel) for one in plan.rollbacks for each in one.requests),
        **extra,
    )
