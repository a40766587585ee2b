"""Optimistic concurrency: did another writer change the same file groups.

Hudi: SimpleConcurrentFileWritesConflictResolutionStrategy; with buckets for file groups
BucketIndexConcurrentFileWritesConflictResolutionStrategy; where a clustering yields to writes
PreferWriterConflictResolutionStrategy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.order import latest, oldest_first
from spark_jobs.core.timeline.active import ActiveTimeline

FileGroupKey = tuple[str, str]
PlaceOf = Callable[[FileGroupKey], FileGroupKey]
"""What of a file group no two writers may have; the bucket where that is the index."""


def as_it_is(group: FileGroupKey) -> FileGroupKey:
    """The place of a file group where its id alone counts."""
    return group


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a writer saw when it began: the completed writes, those that were pending, and the completed rollbacks. A
    write that it did not see completed may be older than all that it saw: Hudi draws an instant without the lock.
    """

    completed: frozenset[str]
    pending: frozenset[str]
    rollbacks: frozenset[str] = frozenset()

    @staticmethod
    def of(timeline: ActiveTimeline) -> Baseline:
        return Baseline(
            frozenset(one.timestamp for one in timeline.completed_commits()),
            frozenset(one.timestamp for one in timeline.pending_writes()),
            frozenset(one.timestamp for one in timeline.completed(Action.ROLLBACK)),
        )

    def since(self, plan: Instant, timeline: ActiveTimeline) -> Baseline:
        """What counts for the execution of a clustering plan: all that completed after it was made."""
        return replace(self, completed=frozenset(one.timestamp for one in timeline.commits_before(plan.timestamp)))


def archived_of(timeline: ActiveTimeline, pending: Iterable[str]) -> tuple[Instant, ...]:
    """Those of once pending writes that were completed and left the timeline for the archive since, oldest first.

    A write holds back the archival of what began after it, and not of what it met pending when it began.

    :param pending: their times.
    :raises CorruptTableError: the archive may have one of them, and is damaged.
    """
    gone = [time for time in oldest_first(set(pending)) if not timeline.find(time)]
    return tuple(one for time in gone if (one := timeline.archive.completed(time)) is not None)


def completed_since(timeline: ActiveTimeline, seen: ActiveTimeline) -> tuple[Instant, ...]:
    """Writes that were completed since an earlier look at the timeline: first those that are archived again, then those
    on it, oldest first each.

    :param seen: the timeline of that look.
    :raises CorruptTableError: as :func:`archived_of`.
    """
    known = {one.timestamp for one in seen.completed_commits()}
    archived = archived_of(timeline, (one.timestamp for one in seen.pending(COMMITS)))
    return (*archived, *(one for one in timeline.completed_commits() if one.timestamp not in known))


def refuse_taken_back(timeline: ActiveTimeline, seen: ActiveTimeline, own: str) -> None:
    """A completed write may be rolled back while another one, which began before it and was placed after it, builds on
    it: its rows would come back with the files of that one.

    :param seen: the timeline by which the records of ``own`` were placed.
    :raises WriteConflictError: a write that was completed then was rolled back since.
    """
    now = {one.timestamp for one in timeline.completed_commits()}
    gone = {one.timestamp for one in seen.completed_commits()} - now
    rolled_back = gone - {one.timestamp for one in archived_of(timeline, gone)}
    if rolled_back:
        raise WriteConflictError(
            f"instant {own} may not be published, it may build on {latest(rolled_back)}, which was rolled back",
            todo="run it again; nothing of it is visible",
            instant=own,
            other=latest(rolled_back),
        )


def candidates(
    timeline: ActiveTimeline,
    own: Instant,
    baseline: Baseline,
    *,
    yields_to_clusterings: bool = True,
    yields_to_writes: bool = False,
) -> tuple[Instant, ...]:
    """Instants whose file groups must differ from the writer's own, oldest first.

    Commits completed since it began, also those that were archived since, compactions planned after it, and
    replacements planned at any time: what a write puts into a file group that a pending clustering rewrites is lost
    when that completes.

    :param yields_to_clusterings: False leaves pending replacements out: such a clustering is refused itself when it
        wants to be published, since a write that completed after its plan changed what it rewrites.
    :param yields_to_writes: True adds the writes that are inflight.
    """

    def concerns(other: Instant) -> bool:
        if other.timestamp == own.timestamp:
            return False
        if other.is_completed:
            return other.action in COMMITS and other.timestamp not in baseline.completed
        if other.action in (Action.COMMIT, Action.DELTA_COMMIT):
            return yields_to_writes and other.state is State.INFLIGHT
        return (yields_to_clusterings and other.action is Action.REPLACE_COMMIT) or (
            other.action is Action.COMPACTION and other.follows(own.timestamp)
        )

    return (*archived_of(timeline, baseline.pending), *timeline.filter(concerns))


def find_conflict(
    others: Collection[Instant],
    own: Instant,
    touched: frozenset[FileGroupKey],
    groups_of: Callable[[Instant], frozenset[FileGroupKey]],
    is_compaction: Callable[[Instant], bool],
    place_of: PlaceOf = as_it_is,
) -> tuple[Instant, frozenset[FileGroupKey]] | None:
    """The first candidate with a file group of the writer's, and which; None where there is none.

    A compaction older than the writer is none: the writer's logs went to the slice that it makes.

    :param place_of: file groups with one place are the same to both writers, whatever their ids.
    """
    for other in others:
        if other.precedes(own.timestamp) and is_compaction(other):
            continue
        places = {place_of(group) for group in groups_of(other)}
        common = frozenset(group for group in touched if place_of(group) in places)
        if common:
            return other, common
    return None
