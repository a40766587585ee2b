"""What completed writes say of the files of slices, laid beside what a listing has of them.

Only the commits that may have written to the slices in question are read, each once for a loaded timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError, InstantGoneError
from spark_jobs.core.files.log_extents import LogExtent, LogExtents, damaged
from spark_jobs.core.files.names import PARTITION_METAFILE
from spark_jobs.core.format.file_names import LogFileName
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.order import earliest, is_from, is_up_to, precedes
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import join
from spark_jobs.core.storage.many import several
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.rewriting import RequestedClustering
from spark_jobs.core.timeline.write_stat import WrittenFile
from spark_jobs.core.view.file_slice import FileSlice

GroupKey = tuple[str, str]


class Parts(Enum):
    """What slices have of their file groups: all that a reader of a moment sees, base files alone (read optimized), or
    what a plan named, since when others may have written.
    """

    ALL = "all"
    BASES = "bases"
    PLANNED = "planned"


class LostCommit(NamedTuple):
    """A write whose completed file, of this name, is gone, and one of those that were built upon its files."""

    instant: str
    file_name: str
    built_by: str


class CommittedFiles:
    """The files that the completed writes of a timeline made, read when asked for and kept."""

    def __init__(self, timeline: ActiveTimeline, clock: Clock) -> None:
        self._timeline = timeline
        self._clock = clock
        self._known: dict[Instant, tuple[WrittenFile, ...]] = {}
        self._archived: dict[str, tuple[WrittenFile, ...]] = {}
        self._archived_from: str | None = None
        self._archived_ids: frozenset[str] = frozenset()
        self._resizings: dict[Instant, bool] = {}

    @property
    def format(self) -> TableFormat:
        return self._timeline.format

    def since(self, begin: str, until: str | None = None) -> dict[str, tuple[WrittenFile, ...]]:
        """By the time of each completed write on the timeline from ``begin`` to ``until`` (both inclusive; None: all).

        :raises InstantGoneError: one was taken back since the timeline was loaded.
        """
        wanted = [one for one in self._timeline.commits_from(begin) if one.is_visible_at(until)]
        unknown = [one for one in wanted if one not in self._known]
        found = several(lambda one: self._timeline.written_files(one, self._clock), unknown, self._clock)
        self._known.update(zip(unknown, found, strict=True))
        return {one.timestamp: self._known[one] for one in wanted}

    def built_upon_pending(self) -> tuple[LostCommit, ...]:
        """Writes that are not completed, and that a completed one merged or logged upon: they were completed then.
        Nothing is read unless an older write is under way.

        :raises InstantGoneError: one was completed since the timeline was loaded.
        """
        line = self._timeline
        # who loses the completed file keeps the one that says it is under way
        pending = {one.timestamp: one for one in line.pending(COMMITS) if one.state is State.INFLIGHT}
        if not pending:
            return ()
        later = self.since(earliest(pending))
        found = {(time, one.previous) for time, files in later.items() for one in files if one.previous in pending}
        for _, lost in found:
            self._refuse_completed_meanwhile(pending[lost].at(State.COMPLETED))
        resizings = {lost for _, lost in found if self._is_resizing(pending[lost])}
        found = {(time, lost) for time, lost in found if lost not in resizings}
        return tuple(
            LostCommit(lost, line.name_of(pending[lost].at(State.COMPLETED)), later) for later, lost in sorted(found)
        )

    def _refuse_completed_meanwhile(self, completed: Instant) -> None:
        """
        :raises InstantGoneError: a listing that came in parts had a later write and not yet this one.
        """
        if self._timeline.completion(completed).found(self._timeline.storage) is not None:
            raise InstantGoneError(
                f"{self._timeline.name_of(completed)} was published while the timeline was listed",
                todo="run it again",
                instant=completed.timestamp,
            )

    def is_on_new_bucket(self, log: LogFileName) -> bool:
        """Whether a log is of a slice that a pending resizing of buckets is yet to make: writers log to both the old
        buckets and the new ones, which nobody reads before it is completed (Hudi:
        SparkConsistentBucketDuplicateUpdateStrategy).
        """
        found = [one for one in self._timeline.find(log.instant) if one.action is Action.REPLACE_COMMIT]
        return bool(found) and not any(one.is_completed for one in found) and self._is_resizing(found[0])

    def _is_resizing(self, pending: Instant) -> bool:
        if pending.action is not Action.REPLACE_COMMIT:
            return False
        if pending not in self._resizings:
            self._resizings[pending] = RequestedClustering.read(self._timeline, pending, self._clock).resizes_buckets
        return self._resizings[pending]

    def files_archived_since(self, begin: str, file_ids: Collection[str]) -> dict[str, tuple[WrittenFile, ...]]:
        """The same of writes to some file groups that left the timeline for the archive, which is read only for what is
        so old, and again only for others.

        Nothing where the archive is damaged: :meth:`is_complete` says so.
        """
        if is_from(begin, self._timeline.unbroken_from):
            return {}
        if (
            self._archived_from is None
            or precedes(begin, self._archived_from)
            or not self._archived_ids.issuperset(file_ids)
        ):
            ids, first = self._archived_ids.union(file_ids), earliest((begin, self._archived_from or begin))
            with suppress(CorruptTableError):
                self._archived = self._timeline.archived_files(first, ids)
                self._archived_from, self._archived_ids = first, ids
        return {instant: files for instant, files in self._archived.items() if is_from(instant, begin)}

    def is_old(self, begin: str) -> bool:
        """Whether writes from an instant on have left the timeline."""
        return precedes(begin, self._timeline.unbroken_from)

    def is_complete(self, begin: str) -> bool:
        """Whether every write from an instant on is on the timeline still, or was found in the archive."""
        read = self._archived_from is not None and is_from(begin, self._archived_from)
        return read or is_from(begin, self._timeline.unbroken_from)


def with_extents(
    slices: Sequence[FileSlice],
    files: CommittedFiles,
    *,
    until: str | None = None,
    counts: Callable[[str], bool] = lambda instant: True,
    sizes_known: bool,
    reads_archive: bool = True,
    parts: Parts = Parts.ALL,
) -> list[FileSlice]:
    """The slices, in their order, with what completed writes put into their logs; none of their files is lost.

    :param slices: of one view, each file group once.
    :param until: the newest instant that the reader sees; None for all.
    :param counts: which completed writes the reader takes.
    :param sizes_known: whether the listing has the bytes that files have on storage; a metadata table has those of logs
        from somewhere else.
    :param reads_archive: whether writes that left the timeline matter too, of slices with logs that are so old.
    :param parts: what of their file groups the slices have.
    :raises CorruptTableError: a file that a completed write wrote is gone, or has not its length.
    """
    if not slices:
        return []
    oldest = earliest(one.base_instant for one in slices)
    by_key = {(one.partition, one.file_id): one for one in slices}
    logs: dict[GroupKey, list[LogExtent]] = {}
    bases: dict[GroupKey, tuple[str, WrittenFile]] = {}
    history = files.since(oldest, until)
    logged = [one for one in slices if one.log_files]
    if reads_archive and logged:
        since = earliest(one.base_instant for one in logged)
        # of a slice that a metadata table lists without logs, none was lost
        asked = slices if sizes_known else logged
        old = frozenset(one.file_id for one in asked if files.is_old(one.base_instant))
        history = {**files.files_archived_since(since, old), **history}
    for instant, written in history.items():
        if not counts(instant) or not is_up_to(instant, until):
            continue
        of_instant: dict[tuple[GroupKey, tuple[int, ...]], list[WrittenFile]] = {}
        for file in written:
            key = (file.partition, file.file_id)
            of_group = by_key.get(key)
            if of_group is None:
                continue
            log = files.format.parse_log_file(file.name)
            if log is None:
                base = files.format.parse_base_file(file.name)
                if base is not None and base.instant == instant and is_from(instant, of_group.base_instant):
                    bases[key] = (instant, file)
            elif not log.is_cdc and is_from(log.instant, of_group.base_instant):
                of_instant.setdefault((key, file.likeness), []).append(file)
        for (key, _), alike in of_instant.items():
            logs.setdefault(key, []).append(_extent(files.format, instant, alike, by_key[key]))
    found = []
    for key, one in by_key.items():
        if parts is not Parts.PLANNED and key in bases:
            _check_base(one, *bases[key])
        if parts is Parts.ALL:
            _check_listed(one, logs.get(key, ()), sizes_known)
        if not one.log_files:
            found.append(one)
            continue
        extents = LogExtents(tuple(logs.get(key, ())), files.is_complete(one.base_instant))
        if parts is Parts.PLANNED:
            extents = extents.within(str(log.name) for log in one.log_files)
        found.append(replace(one, extents=extents))
    return found


def refuse_lost_groups(
    slices: Iterable[FileSlice],
    files: CommittedFiles,
    replaced: Collection[GroupKey],
    partitions: Collection[str] | None,
    until: str | None,
    parts: Parts,
) -> None:
    """
    :param slices: all that a query finds of live file groups in a listing of the storage.
    :param replaced: file groups that a completed replace commit took out of the table, at whatever moment.
    :param partitions: those that were listed; None for all.
    :param until: the newest instant that the reader sees; None for all.
    :raises CorruptTableError: a write on the timeline wrote to a file group of which nothing is there. Cleaning leaves
        the newest slice of a file group that was not replaced.
    """
    there = {(one.partition, one.file_id) for one in slices}
    for instant, written in reversed(files.since("", until).items()):
        for file in written:
            key = (file.partition, file.file_id)
            if key in there or key in replaced or (partitions is not None and file.partition not in partitions):
                continue
            base, log = files.format.parse_base_file(file.name), files.format.parse_log_file(file.name)
            if base is None and (parts is Parts.BASES or log is None or log.is_cdc or files.is_on_new_bucket(log)):
                continue
            path = join(file.partition, file.name)
            raise damaged(path, instant, f"it is gone, and instant {instant} wrote it", "data file")


def refuse_lost_commits(found: Iterable[LostCommit], until: str | None = None) -> None:
    """
    :param found: :meth:`CommittedFiles.built_upon_pending`.
    :param until: the newest instant that the reader sees; None for all.
    :raises CorruptTableError: the reader would see a lost commit. What that replaced counts again, and what it made
        does not: rows would be doubled or old, also at a moment before somebody built upon it.
    """
    for lost in found:
        if is_up_to(lost.instant, until):
            raise CorruptTableError(
                f"{lost.file_name} is gone: instant {lost.built_by} was built upon files of {lost.instant}, "
                "which looks pending",
                todo=RESTORE_FILE,
                instant=lost.instant,
                other=lost.built_by,
            )


def refuse_lost_partition(
    format: TableFormat,
    folder: str,
    names: Iterable[str],
    written_by: Callable[[str], Collection[str] | None],
    replaced: Callable[[], Collection[GroupKey]],
) -> None:
    """
    :param folder: one without a partition metafile, which no listing takes for a partition, and the names in it.
    :param written_by: the relative paths that a completed write made; None of any other.
    :param replaced: file groups that a completed replace commit took out of the table; cleaning may be at them.
    :raises CorruptTableError: a completed write made one of the files.
    """
    by_instant: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        base, log = format.parse_base_file(name), format.parse_log_file(name)
        if base is not None:
            by_instant.setdefault(base.instant, []).append((base.file_id, name))
        elif log is not None:
            by_instant.setdefault(log.instant, []).append((log.file_id, name))
    for instant, files in by_instant.items():
        written = written_by(instant) or ()
        for file_id, name in files:
            if join(folder, name) in written and (folder, file_id) not in replaced():
                fault = f"it is gone, and instant {instant} wrote {name} beside it"
                raise damaged(join(folder, PARTITION_METAFILE), instant, fault, "partition metafile")


def _extent(format: TableFormat, instant: str, alike: Sequence[WrittenFile], of_group: FileSlice) -> LogExtent:
    """Of the stats of one write and group that are equal but for their names."""
    names = dict.fromkeys(name for one in alike for name in _names(format, one, of_group))
    return LogExtent(instant, tuple(names), min(one.start for one in alike), alike[0].end)


def _names(format: TableFormat, file: WrittenFile, of_group: FileSlice) -> list[str]:
    """The logs of a slice that a stat may speak of: those of the first releases leave the write token out, and where
    they don't say a length either, they don't always name the log that took the blocks.
    """
    log = format.parse_log_file(file.name)
    if log is None or log.write_token is not None:
        return [file.name]
    alike = [one.name for one in of_group.log_files if one.name.instant == log.instant]
    return [str(one) for one in alike if not file.end or one.version == log.version] or [file.name]


def _check_base(one: FileSlice, instant: str, written: WrittenFile) -> None:
    path, base = join(one.partition, written.name), one.base_file
    if base is None or base.name.instant != instant:
        raise damaged(path, instant, f"it is gone, and instant {instant} wrote it", "base file")
    if str(base.name) == written.name and written.end and base.size != written.end:
        fault = f"it has {base.size} bytes, and instant {instant} wrote {written.end}"
        raise damaged(path, instant, fault, "base file")


def _check_listed(one: FileSlice, logs: Collection[LogExtent], sizes_known: bool) -> None:
    there = {str(log.name): log.size for log in one.log_files}
    for extent in logs:
        listed = [name for name in extent.names if name in there]
        path = join(one.partition, (listed or extent.names)[0])
        if not listed:
            raise damaged(path, extent.instant, f"it is gone, and instant {extent.instant} wrote it")
        if sizes_known and all(there[name] < extent.end for name in listed):
            fault = f"it has {there[listed[0]]} bytes, and instant {extent.instant} wrote it up to byte {extent.end}"
            raise damaged(path, extent.instant, fault)
