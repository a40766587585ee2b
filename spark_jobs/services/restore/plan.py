"""What taking a table back to a commit undoes (Hudi: RestorePlanActionExecutor)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import WRITES, Action, Instant
from spark_jobs.core.format.order import follows, precedes
from spark_jobs.core.read.retained import refuse_cleaned
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.rollback import RequestedRestore
from spark_jobs.core.timeline.results import NamedInstant
from spark_jobs.core.timeline.rolled_back import archived_after
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.services.rollback.completed import (
    FilesOfTable,
    completed_write,
    refuse_pending_clean,
    touched_by,
    work_to_undo,
)
from spark_jobs.services.rollback.work import RollbackWork


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """``rollbacks`` in their order, newest first; ``goal`` is the newest commit that stays."""

    goal: str
    rollbacks: tuple[RollbackWork, ...]

    @property
    def facts(self) -> PlanFacts:
        return PlanFacts(
            service="restore",
            content=self.to_json(),
            files=sum(len(one.deletions) for one in self.rollbacks),
            bytes=sum(one.bytes for one in self.rollbacks),
        )

    @property
    def deletions(self) -> frozenset[str]:
        """Relative paths."""
        return frozenset(path for one in self.rollbacks for path in one.deletions)

    def requested(self) -> RequestedRestore:
        """As it stands on the timeline."""
        rolled_back = tuple(NamedInstant.naming(one.target) for one in self.rollbacks)
        return RequestedRestore(goal=self.goal, rolled_back=rolled_back)

    def to_json(self) -> dict[str, Any]:
        """For a person: the exact deletions of each instant that is undone."""
        return {"goal": self.goal, "undone": [one.to_json() for one in self.rollbacks]}


def plan_restore(
    table: HudiTable,
    goal: str,
    targets: Collection[Instant],
    files: FilesOfTable,
    block_instants: Callable[[FileStatus], Collection[str]],
) -> RestorePlan:
    """
    :param targets: from :func:`instants_after`, in the order in which they are undone.
    :param block_instants: instants of the data and delete blocks of a log file (reads it).
    """
    return RestorePlan(
        goal=goal,
        rollbacks=tuple(work_to_undo(one, touched_by(table, one), files, goal, block_instants) for one in targets),
    )


def instants_after(timeline: ActiveTimeline, goal: str, clusterings: Collection[str]) -> list[Instant]:
    """What is undone: pending clusterings, which nothing may wait for any more, then all writes and plans, each newest
    first.

    :param clusterings: times of pending clustering plans.
    """
    later = [one for one in reversed(timeline.instants) if one.action in WRITES and one.follows(goal)]
    plans = [one for one in later if one.timestamp in clusterings and not one.is_completed]
    return [*plans, *(one for one in later if one not in plans)]


def refuse_goal(table: HudiTable, goal: str, *, saved: bool) -> None:
    """
    :param saved: the goal has to be a savepoint.
    :raises ConfigError: no such savepoint or commit, one that was cleaned, or a savepoint after it.
    :raises WriteConflictError: a clean is pending.
    """
    timeline = table.timeline
    savepoints = [one.timestamp for one in timeline.completed(Action.SAVEPOINT)]
    if saved and goal not in savepoints:
        others = ", ".join(savepoints)
        raise ConfigError(
            f"--savepoint {goal} is no savepoint of the table",
            todo=f"give one of {others}" if others else "it has none; --instant-time goes back to a commit without one",
            instant=goal,
        )
    if completed_write(timeline, goal) is None:
        archived = bool(timeline.start) and precedes(goal, timeline.start)
        raise ConfigError(
            f"{goal} is no completed commit of the active timeline",
            todo="it is archived: only later ones can be gone back to" if archived else "give one that is",
            instant=goal,
        )
    later = [one for one in savepoints if follows(one, goal)]
    if later:
        raise ConfigError(
            f"savepoint {later[0]} is later than {goal} and would be undone with its commit",
            todo=f"savepoint.py --mode delete --instant-time {later[0]} first",
            instant=later[0],
        )
    _refuse_archived_since(timeline, goal)
    if goal not in savepoints:  # of whose files no plan takes any
        refuse_pending_clean(table)
    refuse_cleaned(timeline, table.view, goal, table.clock)


def _refuse_archived_since(timeline: ActiveTimeline, goal: str) -> None:
    """A restore undoes what is on the active timeline; the rows of archived writes would stay (Hudi: archival beyond
    savepoints).
    """
    later = archived_after(timeline, goal)
    if later:
        raise ConfigError(
            f"{len(later)} write(s) after {goal} are archived, the first is {later[0]}, and can't be undone any more",
            todo=f"read the table as of {goal}, and write that to a new one; without hoodie.archive.beyond.savepoint "
            "archival stops at a savepoint",
            instant=goal,
        )


def refuse_living(targets: Collection[Instant], is_alive: Callable[[Instant], bool]) -> None:
    """
    :raises WriteConflictError: a writer is at work at what would be undone.
    """
    for one in targets:
        if not one.is_completed and is_alive(one):
            raise WriteConflictError(
                f"{one} has a live heartbeat, a restore would undo it under its writer",
                todo="stop all writers and services of the table first",
                instant=one.timestamp,
            )


def goal_of(plan: RequestedRestore) -> str:
    """Of a plan on the timeline; before version 2 it had none.

    :raises ConfigError: it has none.
    """
    if not plan.goal:
        raise ConfigError("the pending restore does not say what it goes back to", todo="finish it with the Hudi of it")
    return plan.goal
