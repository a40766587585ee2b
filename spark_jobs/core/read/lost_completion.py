"""Pending writes that were completed: their completed file was lost, and with it what they made.

A write makes its folder of markers before its first file, and deletes it after it was completed (Hudi:
BaseHoodieWriteClient.postCommit). One that is under way, has files and no markers was completed. So was one that is
saved: savepoints are made of completed writes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError, InstantGoneError
from spark_jobs.core.files.markers import has_markers
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.rolled_back import RolledBackWrites, being_rolled_back
from spark_jobs.core.transaction.heartbeat import HeartbeatSettings, read_pulse


def refuse_lost_completions(
    timeline: ActiveTimeline,
    base_path: str,
    heartbeats: HeartbeatSettings,
    clock: Clock,
    until: str | None,
    file_of: Callable[[Instant], str | None],
) -> None:
    """Nothing is asked where no write is under way, and of one whose writer lives no more than for its markers.

    :param until: the newest instant that the reader sees; None for all.
    :param file_of: the path of a file that a pending write made, if one is listed.
    :raises CorruptTableError: the reader would see a write whose completed file was lost: rows would be old, or gone.
    """
    for pending in left_by_writers(timeline):
        if not pending.is_visible_at(until):
            continue
        storage, completed = timeline.storage, pending.at(State.COMPLETED)
        if is_saved(timeline, pending):
            why = "is saved"
        elif is_unmarked(timeline, pending, base_path, heartbeats, clock) and (path := file_of(pending)) is not None:
            why = f"has files ({path}) and no markers"
        else:
            continue
        if timeline.completion(pending).found(storage) is not None or storage.stat(timeline.path(pending)) is None:
            continue  # published, or taken back, since the timeline was loaded, which goes without it
        _refuse_taken_back_meanwhile(timeline, pending)
        raise CorruptTableError(
            f"{timeline.name_of(completed)} is gone: instant {pending.timestamp} looks pending, and {why}",
            todo=RESTORE_FILE,
            instant=pending.timestamp,
        )


def _refuse_taken_back_meanwhile(timeline: ActiveTimeline, pending: Instant) -> None:
    """
    :raises InstantGoneError: a rollback of a plan that is inflight deletes its markers before it is requested again.
    """
    if RolledBackWrites(timeline.reload()).has(pending.timestamp) and not RolledBackWrites(timeline).has(
        pending.timestamp
    ):
        raise InstantGoneError(
            f"{timeline.name_of(pending)} was taken back meanwhile", todo="run it again", instant=pending.timestamp
        )


def left_by_writers(timeline: ActiveTimeline) -> Iterator[Instant]:
    """Writes that are inflight, and that no pending rollback or restore is at."""
    found = [one for one in timeline.pending(COMMITS) if one.state is State.INFLIGHT]
    rolled_back = being_rolled_back(timeline) if found else frozenset()
    if rolled_back is not None:
        yield from (one for one in found if one.timestamp not in rolled_back)


def is_saved(timeline: ActiveTimeline, pending: Instant) -> bool:
    """Whether the completed savepoint of a pending write is there."""
    return any(one.is_completed and one.action is Action.SAVEPOINT for one in timeline.find(pending.timestamp))


def is_unmarked(
    timeline: ActiveTimeline, pending: Instant, base_path: str, heartbeats: HeartbeatSettings, clock: Clock
) -> bool:
    """Whether a pending write has no markers, and no writer that lives."""
    storage, time = timeline.storage, pending.timestamp
    if has_markers(storage, base_path, time):
        return False
    return not read_pulse(storage, base_path, time, heartbeats, clock).alive
