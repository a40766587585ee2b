"""What a validation knows of a table, read once: timeline, archive, commit metadata, and all files on storage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from spark_jobs.core.config.features import refuse_unreadable
from spark_jobs.core.errors import CorruptTableError, HudiError, InstantGoneError, OutsideTableError
from spark_jobs.core.format.instant import COMMITS, Action, Instant
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.read.scan import Query, Scan
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.storage import FileStatus, join, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.results import RestoreResult, RollbackResult
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, GroupKey, PendingServices, build_view
from spark_jobs.core.view.history import History, written_by
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.services.validation.finding import Finding, error
from spark_jobs.services.validation.storage_survey import Folder, survey_folders

R = TypeVar("R")
_FROM_BACKUP = "restore the file from a copy of the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a completed write says of one file; ``size`` in bytes and ``rows`` are 0 where it says nothing."""

    instant: str
    partition: str
    file_id: str
    size: int
    rows: int
    is_log: bool
    previous: str
    base_file: str


@dataclass
class Evidence:
    """Facts of one table. What can't be read is a finding in ``unreadable``, and is left out.

    The timeline is loaded before the files are listed and again after, so that what writers do meanwhile is no fault:
    ``timeline`` says what has to be there, ``later`` what may be.

    :param reads_archive: the archived write stats too, which say what older commits wrote.
    """

    table: HudiTable
    reads_archive: bool
    unreadable: list[Finding] = field(default_factory=list)

    @property
    def format(self) -> TableFormat:
        return self.table.config.format

    @cached_property
    def timeline(self) -> ActiveTimeline:
        return self.table.timeline

    @cached_property
    def folders(self) -> tuple[Folder, ...]:
        self.commits  # noqa: B018  (what has to be there is read before what is)
        return tuple(sorted(survey_folders(self.table.storage, self.table.base_path), key=lambda one: one.path))

    @cached_property
    def later(self) -> ActiveTimeline:
        self.folders  # noqa: B018
        return self.timeline.reload()

    @cached_property
    def archived(self) -> ArchivedTimeline | None:
        """None where it can't be read."""
        try:
            return self.table.archived_timeline()
        except HudiError as failure:
            self.unreadable.append(error(8, self.relative(self.timeline.archive_folder), failure.what, _FROM_BACKUP))
            return None

    @cached_property
    def commits(self) -> Mapping[Instant, CommitMetadata]:
        """The metadata of the completed writes on the active timeline."""
        found = {}
        for instant in self.timeline.completed_commits():
            try:
                found[instant] = self.timeline.commit_metadata(instant, self.table.clock)
            except InstantGoneError:
                raise  # all is read once more
            except HudiError as failure:
                self.unreadable.append(
                    error(3, self.instant_path(instant), f"its metadata is unreadable ({failure.what})", _FROM_BACKUP)
                )
        return found

    @cached_property
    def written(self) -> Mapping[str, Written]:
        """By relative path, of writes on the active timeline."""
        return {
            path: one
            for instant, metadata in self.commits.items()
            for path, one in _stats(self.format, instant, metadata)
        }

    @cached_property
    def archived_written(self) -> Mapping[str, Written]:
        """The same of archived writes; empty unless the archive is read."""
        return self._archived_commits[0]

    @cached_property
    def replaced(self) -> Mapping[GroupKey, str]:
        """By which instant a file group was replaced; by archived ones only if the archive is read."""
        return {**self._archived_commits[1], **self.services.replaced}

    @cached_property
    def _archived_commits(self) -> tuple[dict[str, Written], dict[GroupKey, str]]:
        written: dict[str, Written] = {}
        replaced: dict[GroupKey, str] = {}
        if not self.reads_archive or self.archived is None:
            return written, replaced
        for instant in self.archived.instants:
            if not instant.is_completed or instant.action not in COMMITS:
                continue
            try:
                metadata = self.archived.commit_metadata(instant)
            except HudiError as failure:
                what = f"{instant} is unreadable ({failure.what})"
                self.unreadable.append(error(8, self.relative(self.archived.place.folder), what, _FROM_BACKUP))
                continue
            written.update(_stats(self.format, instant, metadata))
            for partition, ids in (metadata.replaced_file_ids or {}).items():
                replaced.update({(partition, file_id): instant.timestamp for file_id in ids})
        return written, replaced

    @cached_property
    def operations(self) -> Mapping[str, OperationType]:
        """By the time of a write on the active timeline."""
        return {instant.timestamp: metadata.operation_type for instant, metadata in self.commits.items()}

    @cached_property
    def silent(self) -> frozenset[str]:
        """Times of completed writes on the active timeline whose file is empty: readers count whatever they made."""
        return frozenset(instant.timestamp for instant, metadata in self.commits.items() if metadata.is_empty)

    @cached_property
    def archived_done(self) -> frozenset[str]:
        """Times of archived writes that completed."""
        instants = self.archived.instants if self.archived is not None else ()
        return frozenset(one.timestamp for one in instants if one.is_completed and one.action in COMMITS)

    @cached_property
    def active_done(self) -> frozenset[str]:
        """Times of writes that are completed on the active timeline, when first or when last looked at."""
        both = (*self.timeline.completed_commits(), *self.later.completed_commits())
        return frozenset(one.timestamp for one in both)

    @property
    def done(self) -> frozenset[str]:
        return self.active_done | self.archived_done

    @cached_property
    def pending(self) -> frozenset[str]:
        """Times of instants under way, when first or when last looked at."""
        both = (*self.timeline.instants, *self.later.instants)
        return frozenset(one.timestamp for one in both if not one.is_completed) - self.active_done

    @cached_property
    def rolled_back(self) -> frozenset[str]:
        """Times that completed rollbacks and restores took back, archived ones too."""
        found: set[str] = set()
        for rollback in self.results(Action.ROLLBACK, RollbackResult.of):
            found.update(rollback.rolled_back)
        for restored in self.results(Action.RESTORE, RestoreResult.of):
            found.update(restored.rolled_back)
            found.update(time for some in restored.rollbacks.values() for one in some for time in one.rolled_back)
        return frozenset(found)

    def results(self, action: Action, of: Callable[[Mapping[str, Any]], R]) -> Iterator[R]:
        """What completed cleans, rollbacks or restores did, archived ones first; empty files are left out.

        :param of: makes the value of a record.
        """
        if self.archived is not None:
            for instant in self.archived.completed(action):
                try:
                    payload = self.archived.payload(instant)
                except HudiError:
                    continue  # the timeline checks name it
                if payload is not None:
                    yield of(payload)
        for instant in self.later.completed(action):
            try:
                payload = self.later.payload(instant, self.table.clock)
            except HudiError:
                continue  # the timeline checks name it
            yield of(payload)

    @cached_property
    def partitions(self) -> tuple[Folder, ...]:
        """The folders that a reader lists."""
        return tuple(one for one in self.folders if one.has_metafile and one.inside is None)

    @cached_property
    def on_storage(self) -> Mapping[str, FileStatus]:
        """By relative path, all files of all partitions."""
        return {join(one.path, status.name): status for one in self.partitions for status in one.files}

    @cached_property
    def view(self) -> FileSystemView | None:
        """All file groups with all slices, of the files that belong to a write; None where they contradict each other.

        A base file that its write does not name is left out: it is a finding of its own.
        """
        try:
            return self._view(None, None)
        except (CorruptTableError, OutsideTableError) as failure:
            path = self.instant_path_of(str(failure.details.get("instant", "")))
            self.unreadable.append(error(5, path, failure.what, failure.todo))
            return None

    def view_at(self, until: str, partitions: AbstractSet[str]) -> FileSystemView | None:
        """The same of some partitions, as a reader of a moment (inclusive) sees it."""
        return None if self.view is None else self._view(frozenset(partitions), until)

    def _view(self, partitions: frozenset[str] | None, until: str | None) -> FileSystemView:
        folders = [one for one in self.partitions if partitions is None or one.path in partitions]
        files = ((one.path, status) for one in folders for status in one.files if self._belongs(one, status))
        pending, visibility = self.services, self.visibility(until)
        return build_view(self.format, files, visibility, pending, self.written_by, partitions=partitions)

    def written_by(self, instant: str) -> frozenset[str] | None:
        """Relative paths of the files that a completed write made, active or archived; None where nothing says it."""
        with suppress(HudiError):  # an archive that can't be read is a finding of its own
            return written_by(self.timeline, self.table.clock, instant)
        return None

    def visibility(self, until: str | None = None) -> Visibility:
        """What counts by both timelines: files of which neither knows are a finding, and no reason to stop here. Where
        the archive can't be read, all that is older counts.
        """
        found = Visibility.of(self.timeline, until)
        if self.archived is None:
            return dataclasses.replace(found, history=_AllCompleted(self.timeline))
        return Visibility(found.completed | self.archived_done, "", until)

    @cached_property
    def services(self) -> PendingServices:
        """What plans and replace commits hold; those that can't be read are a finding of the timeline, and left out."""
        found = PendingServices(compaction={}, clustering={}, replaced={})
        for instant in self.timeline.instants:
            with suppress(HudiError):
                one = read_pending_services(dataclasses.replace(self.timeline, instants=(instant,)), self.table.clock)
                found = PendingServices(
                    compaction={**found.compaction, **one.compaction},
                    clustering={**found.clustering, **one.clustering},
                    replaced={**found.replaced, **one.replaced},
                )
        return found

    def reader(self, view: FileSystemView, schema_at: str | None = None) -> SliceReader:
        """How the slices of a view are read, with the columns that the table has as of an instant (None: now).

        :raises HudiError: a table without a schema, or with features that this release does not read.
        """
        table = self.table
        refuse_unreadable(table.config)
        scan = Scan(
            lake=table.lake,
            storage=table.storage,
            base_path=table.base_path,
            config=table.config,
            avro_schema=table.known_avro_schema(schema_at) or table.avro_schema,
            view=view,
            query=Query.SNAPSHOT,
            columns=None,
            condition=None,
            begin=None,
            end=None,
            evolution=table.evolution_at(schema_at),
        )
        return scan.reader()

    def _belongs(self, folder: Folder, status: FileStatus) -> bool:
        name = self.format.parse_base_file(status.name)
        if name is None or name.instant not in self.operations or name.instant in self.silent:
            return True
        return join(folder.path, status.name) in self.written

    @cached_property
    def being_cleaned(self) -> frozenset[str]:
        """Relative paths in the plans of cleans that were not completed at first: they may be gone or not."""
        completed = {one.timestamp for one in self.timeline.completed(Action.CLEAN)}
        found: set[str] = set()
        for clean in self.later.filter(lambda one: one.action is Action.CLEAN and one.timestamp not in completed):
            with suppress(HudiError):
                found.update(RequestedClean.read(self.later, clean, self.table.clock).paths)
        return frozenset(found)

    def lost_meanwhile(self, slices: Iterable[FileSlice]) -> bool:
        """Whether files that were listed are gone by now, as cleaning takes them: no fault of what was listed."""
        storage, base = self.table.storage, self.table.base_path
        return any(storage.stat(resolve(base, path)) is None for one in slices for path in one.paths)

    def relative(self, path: str) -> str:
        return path.removeprefix(f"{self.table.base_path}/")

    def instant_path(self, instant: Instant) -> str:
        return self.relative(self.timeline.path(instant))

    def instant_path_of(self, time: str) -> str:
        found = self.timeline.find(time)
        return self.instant_path(found[-1]) if found else f"{self.relative(self.timeline.folder)}/{time}"


class _AllCompleted(History):
    """What Hudi's readers take for granted of instants that are older than the timeline."""

    def fate(self, instant: str) -> bool | None:
        return True


def _stats(format: TableFormat, instant: Instant, metadata: CommitMetadata) -> Iterable[tuple[str, Written]]:
    for stat in metadata.write_stats:
        if stat.path:
            yield (
                stat.path.lstrip("/"),
                Written(
                    instant=instant.timestamp,
                    partition=stat.partition_path,
                    file_id=stat.file_id,
                    size=stat.file_size_in_bytes,
                    rows=stat.num_writes,
                    is_log=stat.is_log_append or format.parse_log_file(stat.file_name) is not None,
                    previous=stat.prev_commit,
                    base_file=stat.base_file,
                ),
            )
