"""File groups and slices from a listing (Hudi: AbstractTableFileSystemView); pure but for the listing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError, UnknownInstantError
from spark_jobs.core.format.file_groups import GroupFiles, Groups, RawBase, RawLog
from spark_jobs.core.format.file_groups import GroupKey as GroupKey
from spark_jobs.core.format.order import follows, latest, newest_first
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import FileStatus, join
from spark_jobs.core.view.collector import collector_paused
from spark_jobs.core.view.file_slice import BaseFile, FileGroup, FileSlice
from spark_jobs.core.view.listing import by_partition
from spark_jobs.core.view.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingServices:
    """What plans on the timeline hold: (partition, file id) -> instant."""

    compaction: Mapping[GroupKey, str]
    clustering: Mapping[GroupKey, str]
    replaced: Mapping[GroupKey, str]
    """By completed replace commits."""


@dataclass(frozen=True, slots=True)
class _SliceInstants:
    """What a format asks that makes slices by more than names."""

    visibility: Visibility
    services: PendingServices

    def completed_at(self, instant: str) -> str | None:
        return self.visibility.completed_at(instant)

    def is_reached(self, instant: str) -> bool:
        return self.visibility.is_reached(instant)

    def makes_slice(self, key: GroupKey, instant: str) -> bool:
        return self.visibility.fate(instant) is not False

    def planned(self, key: GroupKey) -> str | None:
        return self.services.compaction.get(key)


class FileSystemView:
    """The slices of the partitions that were listed, as one reader sees them.

    :param log_versions: (partition, file id, base instant) -> the highest log version on storage, seen or not.
    """

    partitions: frozenset[str] | None = frozenset()
    """Those that were listed, with files or without; None for all of the table. None of a view that was put together
    from groups: what it lacks says nothing."""

    def __init__(
        self,
        groups: tuple[FileGroup, ...],
        visibility: Visibility,
        log_versions: Mapping[tuple[str, str, str], int],
    ) -> None:
        self.visibility = visibility
        self._groups = groups
        self._log_versions = log_versions

    @property
    def groups(self) -> tuple[FileGroup, ...]:
        """With every visible slice, replaced groups included."""
        return self._groups

    @property
    def log_versions(self) -> Mapping[tuple[str, str, str], int]:
        return self._log_versions

    def all_groups(self) -> tuple[FileGroup, ...]:
        return self.groups

    def a_file_of(self, instant: str) -> str | None:
        """The relative path of a base file that a write made, seen or not; None where none was listed."""
        return None

    def live_groups(self) -> tuple[FileGroup, ...]:
        """Groups not replaced at the reader's moment."""
        return tuple(group for group in self.groups if is_live(group.replaced_at, self.visibility))

    def latest_slices(self) -> tuple[FileSlice, ...]:
        """The newest slice of each live group; the logs of a pending compaction come on top of the slice before it."""
        return tuple(merged for group in self.live_groups() if (merged := merged_slice(group)) is not None)

    def latest_base_files(self) -> tuple[BaseFile, ...]:
        """The newest base file of each live group, for read-optimized queries and key look-ups."""
        found = (
            next((one.base_file for one in group.slices if one.base_file is not None), None)
            for group in self.live_groups()
        )
        return tuple(base for base in found if base is not None)


def is_live(replaced_at: str | None, visibility: Visibility) -> bool:
    """Whether a group was not replaced yet at the reader's moment."""
    return replaced_at is None or not visibility.is_reached(replaced_at)


def merged_slice(group: FileGroup) -> FileSlice | None:
    """What a reader merges: below a pending compaction the slice before it, then the logs written since it was
    planned.
    """
    return _merged((one for one in group.slices if not one.is_empty), group.pending_compaction)


def _merged(newest_first: Iterator[FileSlice], pending: str | None) -> FileSlice | None:
    """
    :raises CorruptTableError: a later compaction was completed upon one that looks pending, or the slice that it reads
        is gone. A file group is in one pending plan at a time, and while it is nothing else makes slices of it, and
        cleaning keeps the one below.
    """
    newest = next(newest_first, None)
    if newest is not None and pending is not None and follows(newest.base_instant, pending):
        raise CorruptTableError(
            f"compaction {pending} looks pending for file group {newest.file_id} of partition {newest.partition!r}, "
            f"whose slice of {newest.base_instant} is newer and complete: its completed file is gone",
            todo="restore it from a copy of the table; where nothing was written since, "
            f"`compact.py --mode execute --instant-time {pending}` makes it again",
            instant=pending,
            file_id=newest.file_id,
        )
    if newest is None or pending is None or newest.base_instant != pending or newest.base_file is not None:
        return newest
    below = next(newest_first, None)
    if below is None:
        raise lost_inputs(pending, (newest.partition, newest.file_id))
    return replace(below, log_files=below.log_files + newest.log_files)


def lost_inputs(pending: str, key: GroupKey) -> CorruptTableError:
    """Cleaning keeps what a pending compaction reads: the error of one of which nothing is there."""
    return CorruptTableError(
        f"compaction {pending} looks pending for file group {key[1]} of partition {key[0]!r}, of which there is no "
        f"older slice: .hoodie/{pending}.commit is gone",
        todo=RESTORE_FILE,
        instant=pending,
        file_id=key[1],
    )


Proof = Callable[[str, str, str], bool]
"""Whether something else proves that the write of a file was completed which is older than the timeline, and of which
neither archive nor rollbacks say anything; asked with its partition, its name and its instant.
"""


class ListedView(FileSystemView):
    """A view that makes its values when they are asked for: most readers want the latest slices alone, and of those
    that are older than the timeline it takes a look into the archive to tell whether they count.
    """

    def __init__(
        self,
        format: TableFormat,
        listed: Groups,
        visibility: Visibility,
        services: PendingServices,
        proof: Proof | None,
        is_proven: Callable[[str], bool] | None,
        partitions: frozenset[str] | None,
    ) -> None:
        self.visibility = visibility
        self.partitions = partitions
        self._format = format
        self._listed = listed
        self._services = services
        self._proof = proof
        self._is_proven = is_proven
        self._seen: dict[str, bool] = {}

    @cached_property
    def groups(self) -> tuple[FileGroup, ...]:
        with collector_paused():
            made = (self._group(key, files) for key, files in sorted(self._listed.files.items(), key=itemgetter(0)))
            return tuple(group for group in made if group.slices)

    @cached_property
    def log_versions(self) -> Mapping[tuple[str, str, str], int]:
        found = {}
        for (partition, file_id), files in self._listed.files.items():
            for instant, logs in files.logs.items():
                found[(partition, file_id, instant)] = self._format.last_version(logs)
        for (group, instant), version in self._listed.change_data.items():
            key = (*group, instant)
            found[key] = max(version, found.get(key, 0))
        return found

    def a_file_of(self, instant: str) -> str | None:
        for (partition, file_id), files in self._listed.files.items():
            raw = files.bases.get(instant)
            if raw is not None:
                return self._format.base_of(partition, file_id, instant, raw).relative_path
        return None

    def latest_slices(self) -> tuple[FileSlice, ...]:
        with collector_paused():
            return tuple(self._latest())

    def _latest(self) -> Iterator[FileSlice]:
        compaction, replaced = self._services.compaction, self._services.replaced
        for key, pending in compaction.items():
            is_listed = self.partitions is None or key[0] in self.partitions
            if is_listed and key not in self._listed.files and key not in replaced and self._is_due(pending):
                raise lost_inputs(pending, key)
        for key, files in sorted(self._listed.files.items(), key=itemgetter(0)):
            if key in replaced and not is_live(replaced[key], self.visibility):
                continue
            if key in compaction:
                merged = _merged(self._slices(key, files, compaction[key]), compaction[key])
                if merged is not None:
                    yield merged
                elif self._is_due(compaction[key]):
                    raise lost_inputs(compaction[key], key)
                continue
            newest = self._newest_seen(key, files)
            if newest is not None:
                yield self._file_slice(key, newest, files.bases.get(newest), files.logs.get(newest, ()))

    def _is_due(self, pending: str) -> bool:
        """Whether the reader has to find what a pending compaction reads."""
        return self.visibility.is_reached(pending)

    def _newest_seen(self, key: GroupKey, files: GroupFiles) -> str | None:
        """What is behind the newest slice that counts is not judged: it may be long archived."""
        instants = {**files.bases, **files.logs}
        newest = latest(instants)
        if self._sees(newest, key):
            return newest
        older = newest_first(instants)[1:]
        return next((instant for instant in older if self._sees(instant, key)), None)

    def _group(self, key: GroupKey, files: GroupFiles) -> FileGroup:
        pending = self._services.compaction.get(key)
        return FileGroup(
            partition=key[0],
            file_id=key[1],
            slices=tuple(self._slices(key, files, pending)),
            pending_compaction=pending,
            replaced_at=self._services.replaced.get(key),
        )

    def _slices(self, key: GroupKey, files: GroupFiles, pending: str | None) -> Iterator[FileSlice]:
        """Newest first."""
        for instant in newest_first(files.bases.keys() | files.logs.keys()):
            is_seen = self._sees(instant, key)
            is_planned = instant == pending and self.visibility.is_reached(instant)
            raw = files.bases.get(instant) if is_seen and instant != pending else None
            # logs on a base instant that never completed hold nothing but blocks of it, unless a plan made it
            logs = files.logs.get(instant, ()) if is_seen or is_planned else ()
            if raw is not None or logs:
                yield self._file_slice(key, instant, raw, logs)

    def _file_slice(self, key: GroupKey, instant: str, raw: RawBase | None, logs: Sequence[RawLog]) -> FileSlice:
        partition, file_id = key
        return FileSlice(
            partition=partition,
            file_id=file_id,
            base_instant=instant,
            base_file=None if raw is None else self._format.base_of(partition, file_id, instant, raw),
            log_files=self._format.logs_of(partition, file_id, instant, logs) if logs else (),
        )

    def _sees(self, instant: str, key: GroupKey) -> bool:
        """Each instant is judged once."""
        found = self._seen.get(instant)
        if found is None:
            found = self._seen[instant] = self.visibility.is_reached(instant) and self.is_committed(instant, key)
        return found

    def is_committed(self, instant: str, key: GroupKey) -> bool:
        """Whether the write of an instant that a file group has a slice of was completed.

        :raises UnknownInstantError: nothing says.
        """
        if self._is_proven is not None and self.visibility.is_old(instant) and self._is_proven(instant):
            return True
        found = self.visibility.fate(instant)
        if found is not None:
            return found
        partition, file_id = key
        raw = self._listed.files[key].bases.get(instant)
        if raw is not None:
            name = str(self._format.base_of(partition, file_id, instant, raw).name)
        else:
            name = str(self._format.logs_of(partition, file_id, instant, self._listed.files[key].logs[instant])[0].name)
        if self._proof is None or not self._proof(partition, name, instant):
            raise UnknownInstantError.of(instant, join(partition, name), path=join(partition, name))
        if self.visibility.history is not None:
            self.visibility.history.prove(instant)
        return True


def build_view(
    format: TableFormat,
    files: Iterable[tuple[str, FileStatus]],
    visibility: Visibility,
    services: PendingServices,
    written_by: Callable[[str], frozenset[str] | None] = lambda instant: None,
    proof: Proof | None = None,
    *,
    partitions: frozenset[str] | None,
    is_proven: Callable[[str], bool] | None = None,
) -> FileSystemView:
    """:func:`group_files` of a listing of (partition, file)."""
    named = by_partition(files)
    return group_files(
        format, named, visibility, services, written_by, proof, partitions=partitions, is_proven=is_proven
    )


def group_files(
    format: TableFormat,
    files: Iterable[tuple[str, Sequence[str], Sequence[int]]],
    visibility: Visibility,
    services: PendingServices,
    written_by: Callable[[str], frozenset[str] | None] = lambda instant: None,
    proof: Proof | None = None,
    *,
    partitions: frozenset[str] | None,
    is_proven: Callable[[str], bool] | None = None,
) -> FileSystemView:
    """Group (partition, file names, their bytes) into slices.

    Files of instants that are not completed, and base files of pending compactions or clusterings, are not seen; files
    with other names are passed over.

    :param written_by: the relative paths that a completed instant says it wrote, None where that is not known; asked
        only where there are several base files of one slice, left by attempts of a task that outlived the commit.
    :param proof: what else may say that a write was completed which is older than the timeline.
    :param partitions: those that were listed, with files or without; None for all of the table. Pending compactions
        of file groups in others are no concern of the view.
    :param is_proven: of which such instants the listing has files only where they were completed; of others the
        archive is asked.
    :raises CorruptTableError: several base files of one slice, and none that its commit names.
    """
    with collector_paused():
        found = format.sort_into_groups(files, _SliceInstants(visibility, services))
    view = ListedView(format, found, visibility, services, proof, is_proven, partitions)
    for (key, instant), others in found.rivals.items():
        if view.is_committed(instant, key):
            several = [found.files[key].bases[instant], *others]
            named = [format.base_of(*key, instant, raw) for raw in several]
            chosen = _the_committed_one(instant, named, written_by)
            found.files[key].bases[instant] = several[named.index(chosen)]
    return view


def _the_committed_one(
    instant: str, several: list[BaseFile], written_by: Callable[[str], frozenset[str] | None]
) -> BaseFile:
    written = written_by(instant)
    named = [base for base in several if written is None or base.relative_path in written]
    if (written is None and len(named) > 1) or not named:
        paths = ", ".join(sorted(base.relative_path for base in several))
        raise CorruptTableError(
            f"{len(several)} base files of one file slice, and instant {instant} does not say which it wrote: {paths}",
            todo="remove those that its commit does not name",
            instant=instant,
        )
    return named[0]
