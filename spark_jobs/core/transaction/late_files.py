"""Files of an instant that is over, made by tasks or writers that outlived it: after its rollback, or its commit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.markers import read_markers
from spark_jobs.core.format.instant import COMMITS, Action
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import FileStatus, RelativePath, Storage, join, resolve
from spark_jobs.core.storage.many import find_files
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.write_stat import written_paths


def late_files_of(
    storage: Storage, base_path: str, timeline: ActiveTimeline, clock: Clock, time: str, made: Collection[str] = ()
) -> Iterator[tuple[str, FileStatus]]:
    """Relative path and status of what markers of an instant of the past name, but for what it keeps and for files that
    are not its alone.

    :param made: relative paths that it made beside those that markers name still.
    """
    kept = kept_files(timeline, time, clock)
    if kept is None:
        return
    marked = [marker.data_path for marker in read_markers(storage, base_path, time) or []]
    paths = {resolve(base_path, RelativePath(path)): path for path in (*marked, *made) if path not in kept}
    for whole, status in find_files(storage, paths).items():
        if is_own(storage, timeline.format, status, time):
            yield paths[whole], status


def is_own(storage: Storage, format: TableFormat, status: FileStatus, time: str) -> bool:
    """Whether a file is of one instant alone: a base file of its name, a log with no blocks but its own. Hudi appends
    to logs of other writes.
    """
    base, log = format.parse_base_file(status.name), format.parse_log_file(status.name)
    alone = base is not None and base.instant == time
    if log is not None and not log.is_cdc:
        try:
            alone = {time}.issuperset(instants_of_blocks(storage, status))
        except CorruptTableError:
            alone = False  # not whole: validate names it
    return alone


def instants_of_blocks(storage: Storage, status: FileStatus) -> list[str]:
    """Of the blocks of a log file; none of an empty one."""
    if not status.size:
        return []
    with storage.open_input(status.path) as file:
        return [block.instant for block in read_blocks(file) if block.instant]


def kept_files(timeline: ActiveTimeline, time: str, clock: Clock) -> frozenset[str] | None:
    """Relative paths of the data files that belong to an instant of the past: of a completed write what it wrote, of
    one that was rolled back its cancelled logs; None where all that its markers name stays. So it is where the
    completed file of a write is empty: readers count its files, and nothing says which.
    """
    found = [one for one in timeline.find(time) if one.is_completed]
    written = [timeline.commit_metadata(one, clock) for one in found if one.action in COMMITS]
    if not found and timeline.has_archive:
        archived = timeline.archive.commit_metadata(time)
        written = [] if archived is None else [archived]
    if any(one.is_empty for one in written):
        return None
    if written:
        return frozenset().union(*(written_paths(one.write_stats) for one in written))
    return None if found else cancelled_logs(timeline, {time}, clock)


def cancelled_logs(timeline: ActiveTimeline, targets: Collection[str], clock: Clock) -> frozenset[str]:
    """Relative paths of log files of rolled-back instants whose blocks were taken back: they stay, and the metadata
    table lists them.
    """
    found: set[str] = set()
    for rollback in timeline.completed(Action.ROLLBACK):
        result = timeline.rollback_result(rollback, clock)
        if set(targets).intersection(result.rolled_back):
            for partition, done in result.partitions.items():
                found.update(join(partition, name) for name in done.cancelled)
    return frozenset(found)


def delete_orphans(
    storage: Storage, base_path: str, timeline: ActiveTimeline, clock: Clock, time: str, made: Iterable[str]
) -> list[str]:
    """Delete what a writer made whose instant is gone from the timeline; nothing where the instant is there in any
    state, or was completed and archived: by a process that took it over.

    :returns: the relative paths that were deleted.
    :raises StorageError: it can't be known, or not be deleted.
    """
    if timeline.find(time) or timeline.archive.has(time):
        return []
    late = list(late_files_of(storage, base_path, timeline, clock, time, tuple(made)))
    return [path for path, status in late if storage.delete(status.path)]
