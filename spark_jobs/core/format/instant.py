"""Instants as values, whatever a table version names their files (Hudi: HoodieInstant)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from spark_jobs.core.format.order import follows, is_from, is_up_to, precedes


class Action(StrEnum):
    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    REPLACE_COMMIT = "replacecommit"
    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"
    SCHEMA_COMMIT = "schemacommit"


class State(StrEnum):
    REQUESTED = "requested"
    INFLIGHT = "inflight"
    COMPLETED = "completed"


RANK = {State.REQUESTED: 0, State.INFLIGHT: 1, State.COMPLETED: 2}
COMPARABLE = {Action.COMPACTION: Action.COMMIT, Action.LOG_COMPACTION: Action.DELTA_COMMIT}

COMMITS = frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT})
"""Actions whose completed form adds data."""
WRITES = COMMITS | {Action.COMPACTION, Action.LOG_COMPACTION}
"""Actions that make or will make file slices."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One point of the timeline: the time by which it was requested, what it does, how far it is.

    ``completed_at`` is the time at which it was completed, where the table's version keeps it (table version 6 does
    not). Two are equal whatever is known of that: what is made of a plan is the instant that a timeline has.
    """

    timestamp: str
    action: Action
    state: State
    completed_at: str | None = field(default=None, compare=False)

    @property
    def is_completed(self) -> bool:
        return self.state is State.COMPLETED

    @property
    def comparable_action(self) -> Action:
        """A compaction ends as a commit, a log compaction as a delta commit."""
        return COMPARABLE.get(self.action, self.action)

    def precedes(self, time: str) -> bool:
        """Whether it began before a time."""
        return precedes(self.timestamp, time)

    def follows(self, time: str) -> bool:
        """Whether it began after a time."""
        return follows(self.timestamp, time)

    def is_from(self, begin: str) -> bool:
        """Whether it began at a time or after it."""
        return is_from(self.timestamp, begin)

    def is_visible_at(self, moment: str | None) -> bool:
        """Whether a reader of a moment (inclusive; None: now) takes it, once it is completed. Moments are named by when
        writes began, as in Hudi's time travel.
        """
        return is_up_to(self.timestamp, moment)

    @property
    def rank(self) -> int:
        return RANK[self.state]

    def at(self, state: State) -> Instant:
        """The same instant in another state."""
        action = self.comparable_action if state is State.COMPLETED else self.action
        return Instant(self.timestamp, action, state, self.completed_at if state is State.COMPLETED else None)

    def __str__(self) -> str:
        return f"{self.timestamp} {self.action.value} ({self.state.value})"


def order_of(instant: Instant) -> tuple[str, str]:
    """A key to sort by: the timeline's order, in which instants of one time stand by what they do."""
    return (instant.timestamp, instant.comparable_action.value)


def in_order(instants: Iterable[Instant]) -> list[Instant]:
    """As the timeline has them: oldest first."""
    return sorted(instants, key=order_of)
