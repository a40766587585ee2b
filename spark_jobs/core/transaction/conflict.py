"""Optimistic concurrency: did another writer change the same file groups.

Hudi: SimpleConcurrentFileWritesConflictResolutionStrategy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.instant import COMMITS, Action, Instant

FileGroupKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a writer saw when it began: the newest completed write (exclusive bound of what it must look at) and what
    was pending.
    """

    last_completed: str
    pending: frozenset[str]

    @staticmethod
    def of(timeline: ActiveTimeline) -> Baseline:
        last = timeline.last_completed()
        return Baseline(last.timestamp if last else "", frozenset(one.timestamp for one in timeline.pending_writes()))


def candidates(timeline: ActiveTimeline, own: Instant, baseline: Baseline) -> tuple[Instant, ...]:
    """Instants whose file groups must differ from the writer's own, oldest first.

    Commits completed since it began, and compactions and replacements planned after it.
    """

    def concerns(other: Instant) -> bool:
        if other.timestamp == own.timestamp:
            return False
        if other.is_completed:
            return other.action in COMMITS and (
                other.timestamp > baseline.last_completed or other.timestamp in baseline.pending
            )
        return other.action in (Action.REPLACE_COMMIT, Action.COMPACTION) and other.timestamp > own.timestamp

    return timeline.filter(concerns)


def find_conflict(
    others: Collection[Instant],
    own: Instant,
    touched: frozenset[FileGroupKey],
    groups_of: Callable[[Instant], frozenset[FileGroupKey]],
    is_compaction: Callable[[Instant], bool],
) -> tuple[Instant, frozenset[FileGroupKey]] | None:
    """The first candidate with a file group of the writer's, and which; None where there is none.

    A compaction older than the writer is none: the writer's logs went to the slice that it makes.
    """
    for other in others:
        if other.timestamp < own.timestamp and is_compaction(other):
            continue
        common = touched & groups_of(other)
        if common:
            return other, common
    return None
