"""Before a write: undo what dead writers left (Hudi: BaseHoodieTableServiceClient.rollbackFailedWrites)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.folders import HEARTBEAT_FOLDER, MARKER_FOLDER, SOURCE_FOLDER
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.late_files import late_files_of
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.pending import replaced_by_plan
from spark_jobs.core.view.written_files import CommittedFiles, refuse_lost_commits
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.services.rollback.execute import (
    has_plan,
    resume_rollback,
    roll_back,
    withdraw_from_completed,
)


def abandoned_writes(settings: TransactionSettings, timeline: ActiveTimeline) -> list[Instant]:
    """Pending writes without a live heartbeat, newest first; plans of compaction and clustering are none."""

    def is_abandoned(instant: Instant) -> bool:
        if instant.is_completed or instant.action not in COMMITS:
            return False
        if is_plan(settings, timeline, instant):
            return False
        return not is_alive(settings, instant)

    return list(reversed(timeline.filter(is_abandoned)))


def is_alive(settings: TransactionSettings, instant: Instant) -> bool:
    """Whether a writer still works at a pending instant."""
    return settings.pulse(instant.timestamp).alive


def roll_back_failed_writes(settings: TransactionSettings) -> list[tuple[str, str]]:
    """Finish pending rollbacks, then undo abandoned writes, all under the table lock. While a restore is pending,
    nothing: it undoes what it has to itself.

    :returns: (rolled back instant, rollback instant) of each.
    :raises CorruptTableError: later writes were built upon one that looks abandoned: its completed file was lost.
    """
    timeline = settings.load_timeline()
    if timeline.pending({Action.RESTORE}) or not _anything(settings, timeline):
        return []
    with settings.new_lock() as locked:
        done = finish_rollbacks(locked)
        timeline = locked.load_timeline()
        abandoned = abandoned_writes(locked, timeline)
        if abandoned:
            refuse_lost_commits(CommittedFiles(timeline, locked.clock).built_upon_pending())
        for target in abandoned:
            finished = roll_back(locked, locked.load_timeline(), target)
            done.append((target.timestamp, finished.timestamp))
        timeline = locked.load_timeline()
        for left in _debris(locked, timeline):
            for _, late in _late_files_of(locked, timeline, instant_of_debris(left.name, locked.storage)):
                locked.storage.delete(late.path)
            remove = locked.storage.delete_tree if left.is_directory else locked.storage.delete
            remove(left.path)
    return done


def undo_failed_writes(settings: TransactionSettings, progress: Progress) -> None:
    """:func:`roll_back_failed_writes`, with a line for each."""
    for rolled_back, by in roll_back_failed_writes(settings):
        progress.note(f"rolled back {rolled_back}, whose writer is gone (rollback {by})")


def finish_rollbacks(
    settings: TransactionSettings, engine: Engine | None = None, note: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[str, str]]:
    """Carry pending rollbacks to their end; the caller holds the table lock.

    :param engine: what deletes; this process, where there is none.
    :param note: goes into the headers of their completed files.
    :returns: (rolled back instant, rollback instant) of each.
    """
    done = []
    for pending in settings.load_timeline().pending({Action.ROLLBACK}):
        timeline = settings.load_timeline()
        if pending.state is State.REQUESTED and not has_plan(settings, timeline, pending):
            # whoever began it died before anything was undone: its target is planned anew
            settings.storage.delete(timeline.path(pending))
            continue
        if withdraw_from_completed(settings, timeline, pending):
            continue
        finished = resume_rollback(settings, timeline, pending, partial(is_plan, settings, timeline), engine, note)
        done.append((timeline.rollback_result(finished, settings.clock).rolled_back[0], finished.timestamp))
    return done


def _debris(settings: TransactionSettings, timeline: ActiveTimeline) -> list[FileStatus]:
    """Heartbeat files, marker folders and rows of sources of instants that are no longer pending: their writers died,
    or could not remove them, between the last step and the end."""
    pending = {one.timestamp for one in timeline.instants if not one.is_completed}
    base_path = settings.base_path
    folders = (f"{base_path}/{HEARTBEAT_FOLDER}", f"{base_path}/{MARKER_FOLDER}", f"{base_path}/{SOURCE_FOLDER}")
    listed = [status for folder in folders if not timeline.lacks(folder) for status in settings.storage.list(folder)]
    found = [(instant_of_debris(status.name, settings.storage), status) for status in listed]
    gone = {time for time in {time for time, _ in found} - pending if time and not settings.pulse(time).alive}
    return [status for time, status in found if time in gone]


def instant_of_debris(name: str, storage: Storage) -> str:
    """The time of the instant whose heartbeat or markers have this name, or the copy of a heartbeat that its writer
    died over; empty for any other name.
    """
    time, _, rest = name.partition(".")
    return time if time.isdigit() and (not rest or storage.is_unpublished(rest)) else ""


def late_files(settings: TransactionSettings, timeline: ActiveTimeline) -> Iterator[tuple[str, FileStatus]]:
    """Relative path and status of the files that tasks made which outlived their write, after its rollback, or after it
    was published without them.
    """
    for left in _debris(settings, timeline):
        yield from _late_files_of(settings, timeline, instant_of_debris(left.name, settings.storage))


def _late_files_of(
    settings: TransactionSettings, timeline: ActiveTimeline, time: str
) -> Iterator[tuple[str, FileStatus]]:
    return late_files_of(settings.storage, settings.base_path, timeline, settings.clock, time)


def undo(settings: TransactionSettings, time: str, notify: Callable[[str], None]) -> None:
    """Undo an instant of this very process after an error; where that fails too (a full disk), the next writer does
    it.

    One that did not get beyond requested has no files: it is withdrawn, and leaves no trace on the timeline.
    """
    try:
        with settings.new_lock() as locked:
            timeline = locked.load_timeline()
            if locked.pulse(time).alive:
                return  # another worker took the instant over: it is no longer this process's to undo
            for instant in timeline.find(time):
                keep = is_plan(locked, timeline, instant)
                if instant.state is State.INFLIGHT:
                    roll_back(locked, timeline, instant, keep_plan=keep)
                elif instant.state is State.REQUESTED and not keep:
                    locked.storage.delete(timeline.path(instant))
    except HudiError as error:
        notify(f"instant {time} stays pending for the next writer to roll back ({error})")


def is_plan(settings: TransactionSettings, timeline: ActiveTimeline, instant: Instant) -> bool:
    """Whether the instant executes a plan of compaction or clustering, which outlives a failed execution."""
    if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        return True
    return instant.action is Action.REPLACE_COMMIT and bool(replaced_by_plan(timeline, instant, settings.clock))


def _anything(settings: TransactionSettings, timeline: ActiveTimeline) -> bool:
    return bool(
        timeline.pending({Action.ROLLBACK}) or abandoned_writes(settings, timeline) or _debris(settings, timeline)
    )
