"""Commits that a rollback took back and that are completed all the same: two processes held the table lock at once.

Writers of this release don't come to it; Hudi's, and those of an earlier release, may, where they take a lock over by
its age while its owner is suspended right before its last step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import CorruptTableError, InstantGoneError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.rolled_back import rolled_back_in

_PLANS = (Action.COMPACTION, Action.LOG_COMPACTION)


def rolled_back_commits(timeline: ActiveTimeline, clock: Clock) -> Iterator[tuple[Instant, Instant]]:
    """Completed commits without their inflight file, each with the completed rollback or restore that took it away.

    A plan that was executed again after its rollback has the file, and so has a bootstrap. That of a commit which is
    leaving for the archive may be gone.
    """
    takers = timeline.filter(lambda one: one.is_completed and one.action in (Action.ROLLBACK, Action.RESTORE))
    if not takers:
        return
    completed = {one.timestamp: one for one in timeline.completed_commits()}
    for taker in takers:
        for time in _taken(timeline, taker, clock):
            commit = completed.get(time)
            if commit is not None and not _is_whole(timeline, commit) and not _is_archived(timeline, commit):
                yield commit, taker


def refuse_rolled_back_commits(timeline: ActiveTimeline, clock: Clock) -> None:
    """
    :raises CorruptTableError: there is one.
    """
    for commit, taker in rolled_back_commits(timeline, clock):
        raise CorruptTableError(
            f"{commit} is there although {taker.action.value} {taker.timestamp} took it back: two "
            "processes held the table lock at once, and files of it may be gone",
            todo=f"take it back (`rollback.py --instant-time {commit.timestamp}`), then write its rows again",
            instant=commit.timestamp,
            other=taker.timestamp,
        )


def _taken(timeline: ActiveTimeline, taker: Instant, clock: Clock) -> Iterable[str]:
    """What is unreadable, validate.py names; Hudi leaves empty rollbacks where it died while it wrote them, for which
    no writer waits.
    """
    try:
        try:
            return rolled_back_in(timeline, taker)[0]
        except InstantGoneError:  # by the archive
            read = timeline.rollback_result if taker.action is Action.ROLLBACK else timeline.restore_result
            return read(taker, clock).rolled_back
    except CorruptTableError:
        return ()


def _is_whole(timeline: ActiveTimeline, commit: Instant) -> bool:
    forms = [commit, *(Instant(commit.timestamp, action, State.INFLIGHT) for action in _PLANS)]
    return any(timeline.storage.stat(timeline.path(one.at(State.INFLIGHT))) is not None for one in forms)


def _is_archived(timeline: ActiveTimeline, commit: Instant) -> bool:
    if not timeline.has_archive:
        return False
    time = commit.timestamp
    archived = ArchivedTimeline.load(timeline.archive_place, time, time)
    return any(one.action in COMMITS for one in archived.instants)
