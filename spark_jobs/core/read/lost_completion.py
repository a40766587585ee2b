"""Pending writes that were completed: their completed file was lost, and with it what they made.

A write makes its folder of markers before its first file, and deletes it after it was completed (Hudi:
BaseHoodieWriteClient.postCommit). One that is under way, has files and no markers was completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.files.markers import has_markers
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.timeline.active import ActiveTimeline
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
    for pending in _unmarked(timeline, base_path, heartbeats, clock, until):
        path = file_of(pending)
        if path is None:
            continue
        storage, completed = timeline.storage, pending.at(State.COMPLETED)
        if timeline.completion(pending).found(storage) is not None or storage.stat(timeline.path(pending)) is None:
            continue  # published, or taken back, since the timeline was loaded, which goes without it
        raise CorruptTableError(
            f"{timeline.name_of(completed)} is gone: instant {pending.timestamp} looks pending, has files ({path}) and "
            "no markers",
            todo=RESTORE_FILE,
            instant=pending.timestamp,
            path=path,
        )


def _unmarked(
    timeline: ActiveTimeline, base_path: str, heartbeats: HeartbeatSettings, clock: Clock, until: str | None
) -> Iterator[Instant]:
    """Writes under way without markers, at which nobody is. While a rollback or a restore is, it may be at them."""
    if timeline.pending({Action.ROLLBACK, Action.RESTORE}):
        return
    for one in timeline.pending(COMMITS):
        if one.state is not State.INFLIGHT or not one.is_visible_at(until):
            continue
        if has_markers(timeline.storage, base_path, one.timestamp):
            continue
        if not read_pulse(timeline.storage, base_path, one.timestamp, heartbeats, clock).alive:
            yield one
