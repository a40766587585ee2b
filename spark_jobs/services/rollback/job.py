"""Rollback as ``rollback.py`` runs it: of one write, or of all that dead writers left.

Hudi: SparkRDDWriteClient.rollback, BaseHoodieTableServiceClient.rollbackFailedWrites.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar

from spark_jobs.core.config.keys.write import ROLLBACK_BY_MARKERS
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import WRITES, Action, Instant, State
from spark_jobs.core.format.order import latest, oldest_first, precedes
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.written_files import CommittedFiles, refuse_lost_commits
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.at_once import ServiceAtOnce, run_at_once
from spark_jobs.frame.estimate import seconds_to_delete
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.frame.results import done_by_hash, plan_result
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rollback.completed import completed_write, refuse_rollback, work_for_completed
from spark_jobs.services.rollback.execute import requests_for_pending, roll_back
from spark_jobs.services.rollback.failed_writes import (
    abandoned_writes,
    finish_rollbacks,
    is_plan,
    undo_failed_writes,
)
from spark_jobs.services.rollback.pending import Begun, begun_by, note_for, pending_rollbacks, sizes_of
from spark_jobs.services.rollback.stray_logs import block_instants
from spark_jobs.services.rollback.work import RollbackWork

ACTION = "rollback"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackJobPlan:
    """All writes that are undone, in that order; ``finishes``, rollbacks that were left pending, come first.

    Of a plan that is carried out by its hash, ``note`` goes to each rollback, and ``before`` has those that an earlier
    run by the hash completed: rollback by write.
    """

    rollbacks: tuple[RollbackWork, ...]
    finishes: tuple[RollbackWork, ...] = ()
    note: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)

    @property
    def all(self) -> tuple[RollbackWork, ...]:
        return (*self.finishes, *self.rollbacks)

    @property
    def instants(self) -> frozenset[str]:
        """Times of the writes."""
        return frozenset(one.target.timestamp for one in self.all)

    def only(self, instants: Collection[str]) -> RollbackJobPlan:
        """A plan for some of the writes."""
        return replace(
            self,
            rollbacks=tuple(one for one in self.rollbacks if one.target.timestamp in instants),
            finishes=tuple(one for one in self.finishes if one.target.timestamp in instants),
        )

    @property
    def facts(self) -> PlanFacts:
        """Of a pending rollback its instant is hashed: its plan stands on the timeline, and fewer of its files are
        there each time that it breaks off.
        """
        finishes = {"finishes": [one.rollback for one in self.finishes]} if self.finishes else {}
        return PlanFacts(
            service=ACTION,
            content={"rollbacks": [one.to_json() for one in self.rollbacks], **finishes},
            files=sum(len(one.deletions) for one in self.all),
            bytes=sum(one.bytes for one in self.all),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "rollbacks": [one.to_json() for one in self.all],
            "finishes": [one.rollback for one in self.finishes],
        }


def run_rollback(options: RollbackOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: a write that can't be undone: saved, archived, or with others after it.
    :raises WriteConflictError: its writer lives, or the plan is not that of ``plan_hash`` any more.
    """
    opened, progress = open_to_change(options, context), context.progress
    service = _Rollback(
        settings=opened.settings,
        asked=options.instant_time,
        by_markers=ROLLBACK_BY_MARKERS.of(opened.properties),
        engine=context.engine,
    )
    result = run_at_once(service, opened, progress, dry_run=options.dry_run, plan_hash=options.plan_hash)
    is_done = result.state is JobState.COMPLETED and not result.repeated
    if is_done and options.plan_hash is None and options.instant_time is None:
        undo_failed_writes(opened.settings, progress)  # what came meanwhile, and markers that were left
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rollback(ServiceAtOnce[RollbackJobPlan]):
    """``asked`` is the time of the one write to undo; None for all that dead writers left."""

    settings: TransactionSettings
    asked: str | None
    by_markers: bool
    engine: Engine
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> RollbackJobPlan | Nothing:
        settings, asked = self.settings, self.asked
        finishes = pending_rollbacks(settings, table)
        finishing = {one.target.timestamp for one in finishes}
        table = table.without([one.target for one in finishes if not one.keep_plan])
        if asked is None:
            targets: list[Instant | None] = [*abandoned_writes(settings, table.timeline)]
        else:
            targets = [_target(settings, table, asked)] if asked not in finishing else []
        found = [target for target in targets if target is not None]
        if any(not target.is_completed for target in found):
            refuse_lost_commits(CommittedFiles(table.timeline, settings.clock).built_upon_pending())
        if not found and (asked not in finishing if asked is not None else not finishes):
            return Nothing(_why_nothing(settings, table, asked))
        rollbacks = tuple(rollback_work_of(settings, table, target, self.by_markers) for target in found)
        return RollbackJobPlan(rollbacks=rollbacks, finishes=finishes)

    def facts(self, table: HudiTable, plan: RollbackJobPlan) -> PlanFacts:
        return plan.facts

    def requested(self, table: HudiTable, plan_hash: str) -> RollbackJobPlan | Nothing | JobResult:
        plan, begun = self.plan(table), begun_by(table, plan_hash)
        if begun is not None:
            # what came since is of another plan
            rest = None if isinstance(plan, Nothing) else plan.only(begun.instants)
            if rest is not None and rest.all:
                return replace(rest, note=note_for(plan_hash, begun.instants), before=begun.done)
            if begun.done:
                return _done_before(table, begun, plan_hash)
        refuse_other_plan(plan_hash, plan if isinstance(plan, Nothing) else plan.facts, table.timeline)
        return plan if isinstance(plan, Nothing) else replace(plan, note=note_for(plan_hash, plan.instants))

    def without_plan(
        self, locked: TransactionSettings, table: HudiTable, found: Nothing | JobResult, progress: Progress
    ) -> None:
        """Rollbacks whose plan was never written, or whose target was completed, are in no plan."""
        if isinstance(found, Nothing):
            self._finish(locked, {}, progress)

    def carry_out(
        self, locked: TransactionSettings, table: HudiTable, plan: RollbackJobPlan, progress: Progress
    ) -> JobResult:
        done = [*plan.before.items(), *self._finish(locked, plan.note, progress)]
        facts = plan.facts
        worked = self.engine.settle(0, facts.files)
        with progress.phase("rollback", len(plan.rollbacks)) as phase:
            for one in plan.rollbacks:
                rollback = roll_back(
                    locked,
                    locked.load_timeline() if done else table.timeline,
                    one.target,
                    keep_plan=one.keep_plan,
                    requests=one.requests,
                    engine=self.engine,
                    note=plan.note,
                )
                done.append((one.target.timestamp, rollback.timestamp))
                phase.advance()
        last = done[-1][1] if done else None
        return _result(table, facts, progress, instant=last, rolled_back=dict(done), engine=worked)

    def shown(self, table: HudiTable, plan: RollbackJobPlan, progress: Progress) -> JobResult:
        facts = plan.facts
        seconds = seconds_to_delete(table, Action.ROLLBACK, facts.files)
        return _result(table, facts, progress, shown=plan.to_json(), rolled_back={}, estimated_seconds=seconds)

    def _finish(
        self, locked: TransactionSettings, note: Mapping[str, str], progress: Progress
    ) -> list[tuple[str, str]]:
        finished = finish_rollbacks(locked, self.engine, note)
        for rolled_back, by in finished:
            progress.note(f"finished the rollback of {rolled_back}, which was left pending (rollback {by})")
        return finished


def _result(
    table: HudiTable,
    facts: PlanFacts,
    progress: Progress,
    *,
    shown: Mapping[str, Any] | None = None,
    instant: str | None = None,
    **extra: Any,
) -> JobResult:
    """:param shown: of a dry run alone."""
    counts = {"deleted_files": facts.files, "deleted_bytes": facts.bytes}
    return plan_result(ACTION, table, facts, progress, shown=shown, instant=instant, **counts, **extra)


def rollback_work_of(
    settings: TransactionSettings, table: HudiTable, target: Instant, by_markers: bool = True
) -> RollbackWork:
    """What undoing a write takes; nothing is done."""
    if target.is_completed:
        return work_for_completed(table, target, cache(partial(block_instants_of, settings)))
    requests = requests_for_pending(settings, target, by_markers=by_markers)
    return RollbackWork(
        target=target,
        keep_plan=is_plan(settings, table.timeline, target),
        requests=requests,
        sizes=sizes_of(settings, requests),
    )


def block_instants_of(settings: TransactionSettings, status: FileStatus) -> frozenset[str]:
    """Of the data and delete blocks of a log file."""
    return frozenset(block_instants(settings, status))


def _target(settings: TransactionSettings, table: HudiTable, asked: str) -> Instant | None:
    """The write of this time; None where it was undone already, or is a plan that no run began.

    :raises ConfigError: there is no such write on the active timeline, or it may not be undone.
    :raises WriteConflictError: its writer lives.
    """
    done = completed_write(table.timeline, asked)
    if done is not None:
        refuse_rollback(table, done)
        return done
    found = [one for one in table.timeline.find(asked) if one.action in WRITES]
    if not found:
        if _rolled_back_by(table, asked):
            return None
        others = ", ".join(str(one) for one in table.timeline.find(asked))
        archived = bool(table.timeline.start) and precedes(asked, table.timeline.start)
        newest = latest(one.timestamp for one in table.timeline.instants if one.action in WRITES)
        raise ConfigError(
            f"--instant-time {asked} is no write of the active timeline" + (f" but {others}" if others else ""),
            todo="it is older than all of them; archived writes can't be rolled back"
            if archived
            else f"the last one is {newest}"
            if newest
            else "it has none",
            instant=asked,
        )
    (target,) = found
    if settings.pulse(asked).alive:
        raise WriteConflictError(
            f"{target} has a live heartbeat", todo="stop its writer, or wait until it is gone", instant=asked
        )
    if target.state is State.REQUESTED and is_plan(settings, table.timeline, target):
        return None
    return target


def _rolled_back_by(table: HudiTable, asked: str) -> str:
    """The rollback or restore that undid a write; empty where none did."""
    for one in table.timeline.completed(Action.ROLLBACK):
        if asked in table.timeline.rollback_result(one, table.clock).rolled_back:
            return str(one)
    for one in table.timeline.completed(Action.RESTORE):
        if asked in table.timeline.restore_result(one, table.clock).rolled_back:
            return str(one)
    return ""


def _why_nothing(settings: TransactionSettings, table: HudiTable, asked: str | None) -> str:
    if asked is not None:
        rolled_back_by = _rolled_back_by(table, asked)
        if rolled_back_by:
            return f"{asked} was rolled back already, by {rolled_back_by}"
        return f"{asked} is a plan whose execution has not begun: --mode cancel of its service takes it back"
    pending = table.timeline.pending_writes()
    plans = [one for one in pending if is_plan(settings, table.timeline, one)]
    alive = [one.timestamp for one in pending if one not in plans]
    words = ["no write is pending without a live heartbeat"]
    if alive:
        words.append(f"{len(alive)} is under way ({', '.join(alive)})")
    if plans:
        words.append(f"{len(plans)} is a plan that stays ({', '.join(one.timestamp for one in plans)})")
    return "; ".join(words)


def _done_before(table: HudiTable, begun: Begun, plan_hash: str) -> JobResult:
    rollbacks = oldest_first(begun.done.values())
    reason = f"{ACTION} {', '.join(rollbacks)} carried out this plan before"
    rolled_back = dict(begun.done)
    return done_by_hash(ACTION, table, plan_hash, instant=rollbacks[-1], reason=reason, rolled_back=rolled_back)
