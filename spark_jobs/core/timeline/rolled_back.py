"""Which writes were taken back, by the rollbacks and restores of a timeline."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.order import follows, is_between
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.rollback import RequestedRestore, RequestedRollback
from spark_jobs.core.timeline.results import NamedInstant, RestoreResult, RollbackResult

_OF_PLANS = frozenset(one.value for one in (Action.COMPACTION, Action.LOG_COMPACTION, Action.REPLACE_COMMIT))


class RolledBackWrites:
    """Asked of single instants; what says it is read once. Pickles.

    :param timeline: of which the rollbacks and restores are kept, with the archive.
    """

    def __init__(self, timeline: ActiveTimeline) -> None:
        takers = timeline.filter(lambda one: one.action is Action.ROLLBACK or one.action is Action.RESTORE)
        self.timeline = replace(timeline, instants=takers, moved_ms={})
        self._rolled_back: frozenset[str] | None = None
        self._of_plans: set[str] = set()
        self._gone: tuple[tuple[str, str], ...] = ()

    def has(self, instant: str) -> bool:
        """By the active timeline alone; one that is pending counts, it is going to be finished."""
        if self._rolled_back is None:
            self._rolled_back = frozenset(
                rolled_back for one in self.timeline.instants for rolled_back in self._rolled_back_by(one)
            )
            self._gone = restored_times(self.timeline)
        return instant in self._rolled_back or any(is_between(instant, *gone) for gone in self._gone)

    def may_be_done_again(self, instant: str) -> bool:
        """Of one that was taken back: a plan may stay, and is carried out at the same time once more."""
        return self.has(instant) and instant in self._of_plans

    def has_archived(self, instant: str) -> bool:
        """Of a write that the archive has: it was taken back after an archival that broke off, which had copied it to
        the archive and left it on the timeline. By archived rollbacks too.
        """
        return self.has(instant) or self.timeline.archive.rolled_back_by(instant) is not None

    def _rolled_back_by(self, one: Instant) -> set[str]:
        """The instants that a rollback or restore undoes: by its plan, and by its result where it has one. Hudi may
        have died while it wrote either.
        """
        found: set[str] = set()
        for state in (State.REQUESTED, State.COMPLETED) if one.is_completed else (State.REQUESTED,):
            with suppress(StorageError):
                times, named = rolled_back_in(self.timeline, one.at(state))
                found.update(times)
                self._of_plans.update(each.time for each in named if each.action in _OF_PLANS)
        return found


def rolled_back_in(timeline: ActiveTimeline, one: Instant) -> tuple[Collection[str], Collection[NamedInstant]]:
    """The times of what a rollback or restore undoes by one of its files, and those of which it says the action."""
    raw = timeline.decode(one)
    if one.is_completed:
        if one.action is Action.RESTORE:
            return RestoreResult.of(raw).rolled_back, ()
        result = RollbackResult.of(raw)
        return result.rolled_back, result.named
    if one.action is Action.RESTORE:
        named = RequestedRestore.of(raw).rolled_back
    else:
        target = RequestedRollback.of(raw).target
        named = () if target is None else (target,)
    return [each.time for each in named], named


def being_rolled_back(timeline: ActiveTimeline) -> frozenset[str] | None:
    """The times of the writes that pending rollbacks and restores are at; None where one doesn't say it: Hudi may have
    died while it wrote its plan.
    """
    found: set[str] = set()
    for one in timeline.pending({Action.ROLLBACK, Action.RESTORE}):
        try:
            times, _ = rolled_back_in(timeline, one.at(State.REQUESTED))
        except StorageError:
            return None
        if not times:
            return None
        found.update(times)
    return frozenset(found)


def archived_after(timeline: ActiveTimeline, moment: str) -> list[str]:
    """Completed writes after a moment (exclusive) that left the timeline, oldest first: none that an archival which
    broke off left on it too, or that was taken back there.
    """
    active = {one.timestamp for one in timeline.instants}
    found = [one for one in timeline.archive.times_since(moment) if follows(one, moment) and one not in active]
    rolled_back = RolledBackWrites(timeline)
    return [one for one in found if not rolled_back.has_archived(one)]


def restored_times(timeline: ActiveTimeline) -> tuple[tuple[str, str], ...]:
    """Of each completed restore what it went back to and when it began: of the writes in between none is left, not even
    the rollbacks of those that had failed before. Hudi's restores before version 2 of their plan don't say it.
    """
    found = []
    for one in timeline.completed(Action.RESTORE):
        requested = one.at(State.REQUESTED)
        with suppress(StorageError):
            goal = RequestedRestore.of(timeline.decode(requested)).goal
            if goal:
                found.append((goal, one.timestamp))
    return tuple(found)
