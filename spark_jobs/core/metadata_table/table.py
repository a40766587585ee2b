"""The metadata table of a table as one reader or writer sees it (Hudi: HoodieBackedTableMetadata)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.java_properties import parse_properties
from spark_jobs.core.config.table_config import TableConfig, read_table_config
from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.files.names import PARTITION_METAFILE
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.order import BEFORE_ALL, earliest, follows
from spark_jobs.core.metadata_table.layout import metadata_path
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline, load_timeline
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, PendingServices, build_view
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.core.view.written_files import CommittedFiles, Parts, with_extents

REBUILD = (
    "repair.py --only metadata-table makes it anew, and so does the next write, unless that looks keys up in it; or "
    "delete .hoodie/metadata and take hoodie.table.metadata.partitions out of hoodie.properties (Hudi's `hudi-cli "
    "metadata delete`): readers list the storage then"
)


@dataclass(frozen=True)
class MetadataTable:
    """``base_path`` is that of the data table; both timelines were loaded before any file was listed."""

    storage: Storage
    base_path: str
    config: TableConfig
    timeline: ActiveTimeline
    data_timeline: ActiveTimeline
    clock: Clock

    @staticmethod
    def open(storage: Storage, base_path: str, data_timeline: ActiveTimeline, clock: Clock) -> MetadataTable:
        """
        :raises TableNotFoundError: there is none.
        :raises CorruptTableError: it has no completed instant, or not that of a completed write of the data table.
        """
        folder = metadata_path(base_path)
        config = read_table_config(storage, folder, clock)
        timeline = load_timeline(storage, folder, config)
        if not timeline.completed_commits():
            raise CorruptTableError(
                f"the metadata table of {base_path} has no completed instant", todo=REBUILD, path=folder
            )
        table = MetadataTable(storage, base_path, config, timeline, data_timeline, clock)
        missed = table.missed_commits
        if missed:
            raise CorruptTableError(
                f"the metadata table of {base_path} does not know the completed instant {missed[0]}",
                todo=REBUILD,
                path=folder,
                instant=missed[0],
            )
        return table

    def reloaded(self) -> MetadataTable:
        """The same with its timeline as it stands now."""
        return MetadataTable(
            self.storage, self.base_path, self.config, self.timeline.reload(), self.data_timeline, self.clock
        )

    @property
    def folder(self) -> str:
        """The base path of the metadata table."""
        return metadata_path(self.base_path)

    @property
    def partitions(self) -> Iterable[MetadataPartition]:
        """All that tables of this version can have."""
        return self.timeline.format.metadata.names

    def path_of(self, partition: MetadataPartition) -> str:
        """Its directory."""
        return self.timeline.format.metadata.path(partition)

    def is_making(self, instant: str) -> bool:
        """Whether a partition was made by this instant."""
        return self.timeline.format.metadata.made_as_of(instant) is not None

    def view(self, partition: MetadataPartition) -> FileSystemView:
        """The file groups of a partition, with the metadata table's own timeline as the judge of base files. Those by
        which a partition was made need no look into its archive: the properties list the partition since.
        """
        path = self.path_of(partition)
        listed = [one for one in self.storage.list(f"{self.folder}/{path}") if not one.is_directory]
        self._etags.update((one.path, one.etag) for one in listed)
        files = ((path, status) for status in listed)
        return build_view(
            self.timeline.format,
            files,
            self._committed,
            self._pending,
            partitions=frozenset({path}),
            is_proven=self.is_making,
        )

    def open_file(self, path: str) -> pa.NativeFile:
        """A file of a view, by its whole path."""
        return self.storage.open_input(path, etag=self._etags.get(path, ""))

    @cached_property
    def _etags(self) -> dict[str, str]:
        """Of the files of all views until now."""
        return {}

    def slices(self, partition: MetadataPartition, view: FileSystemView | None = None) -> tuple[FileSlice, ...]:
        """The latest slice of each file group in the order of their numbers, with all that was written to it.

        :param view: of the partition, where the caller has it.
        :raises CorruptTableError: the partition has no file groups, although it is listed, or a file of them is not as
            its delta commit or compaction left it.
        """
        try:
            found = (self.view(partition) if view is None else view).latest_slices()
        except CorruptTableError as error:
            what = f"partition {self.path_of(partition)} of the metadata table: {error.what}"
            raise CorruptTableError(what, todo=REBUILD, path=self.folder) from error
        if not found:
            raise CorruptTableError(
                f"partition {self.path_of(partition)} of the metadata table has no files",
                todo=REBUILD,
                path=self.folder,
            )
        checked = with_extents(found, self._written, counts=self.counts, sizes_known=True, reads_archive=False)
        self._refuse_lost_groups(partition, found)
        number_of = self.timeline.format.metadata.number_of
        return tuple(sorted(checked, key=lambda one: (number_of(partition, one.file_id) or 0, one.file_id)))

    def _refuse_lost_groups(self, partition: MetadataPartition, found: Sequence[FileSlice]) -> None:
        """Keys are dealt over the file groups by their number: without one of them no key is where it is looked for.

        :raises CorruptTableError: a file group is gone, or a delta commit is empty, which may have written to any.
        """
        layout, path = self.timeline.format.metadata, self.path_of(partition)
        there = {one.file_id for one in found}
        oldest = earliest(one.base_instant for one in found)
        since = self._written.since(oldest)
        written = {one.file_id for files in since.values() for one in files if one.partition == path}
        numbers = {layout.number_of(partition, one) for one in there}
        lost = sorted(written - there)
        if None not in numbers:
            lost += [layout.file_id(partition, number) for number in range(len(numbers)) if number not in numbers]
        if lost:
            raise CorruptTableError(
                f"file group {lost[0]} of partition {path} of the metadata table is gone",
                todo=REBUILD,
                path=self.folder,
                file_id=lost[0],
            )
        for time in (time for time, files in since.items() if not files):
            if not all(map(self.timeline.has_content, self.timeline.find(time))):
                raise CorruptTableError(
                    f"delta commit {time} of the metadata table of {self.base_path} is empty",
                    todo=REBUILD,
                    path=self.folder,
                    instant=time,
                )

    def checked(self, planned: Sequence[FileSlice]) -> list[FileSlice]:
        """The slices of a plan with what delta commits put into their logs, for who reads them to compare."""
        return with_extents(
            planned, self._written, counts=self.counts, sizes_known=True, reads_archive=False, parts=Parts.PLANNED
        )

    @cached_property
    def missed_commits(self) -> tuple[str, ...]:
        """Completed writes of the data table that should be here and are not: a delta commit was lost, or somebody
        wrote without updating the metadata table.

        What completed before it was made is in its base files. The one that made it may be older than that.
        """
        known = {one.timestamp for one in self.timeline.completed_commits()}
        first = earliest(known)
        done = (one.timestamp for one in self.data_timeline.completed_commits())
        missed = [one for one in done if follows(one, first) and one not in known]
        if not missed:
            return ()
        made = self._made_at
        return tuple(one for one in missed if follows(one, made))

    @property
    def _made_at(self) -> str:
        """The instant of the data table whose files the partition ``files`` began with; empty where nothing says so."""
        path = f"{self.folder}/{self.path_of(MetadataPartition.FILES)}/{PARTITION_METAFILE}"
        try:
            values = parse_properties(self.storage.read(path))
        except StorageError:
            return ""
        made = values.get("commitTime", "")
        return self.timeline.format.metadata.made_as_of(made) or BEFORE_ALL

    def counts(self, instant: str) -> bool:
        """Whether the log blocks of an instant hold.

        It has to be completed here, and either on the data table too (a write completes here first) or be an instant
        that only the metadata table has. Hudi: HoodieTableMetadataUtil.getValidInstantTimestamps.
        """
        is_proven = self._committed.is_old(instant) and self.is_making(instant)
        if not is_proven and not self._committed.is_completed(instant):
            return False
        is_own = self.timeline.format.metadata.is_own(instant)
        return is_own or instant in self._completed_data or instant in self._rolled_back

    @cached_property
    def pending_compactions(self) -> tuple[Instant, ...]:
        return self.timeline.pending({Action.COMPACTION, Action.LOG_COMPACTION})

    def base_instant_for(self, file_id: str, partition: MetadataPartition, view: FileSystemView) -> str | None:
        """The base instant that new logs of a file group get; that of a pending compaction where there is one."""
        pending = self._pending.compaction.get((self.path_of(partition), file_id))
        if pending is not None:
            return pending
        return next((group.slices[0].base_instant for group in view.all_groups() if group.file_id == file_id), None)

    @cached_property
    def _committed(self) -> Visibility:
        return Visibility.of(self.timeline)

    @cached_property
    def _written(self) -> CommittedFiles:
        return CommittedFiles(self.timeline, self.clock)

    @cached_property
    def _pending(self) -> PendingServices:
        return read_pending_services(self.timeline, self.clock)

    @cached_property
    def _completed_data(self) -> frozenset[str]:
        return frozenset(one.timestamp for one in self.data_timeline.instants if one.is_completed)

    @cached_property
    def _rolled_back(self) -> frozenset[str]:
        """What completed rollbacks of the data table undid; only asked for blocks that nothing else accounts for."""
        found: set[str] = set()
        for rollback in self.data_timeline.completed(Action.ROLLBACK):
            found.update(self.data_timeline.rollback_result(rollback, self.clock).rolled_back)
        for restore in self.data_timeline.completed(Action.RESTORE):
            found.update(self.data_timeline.restore_result(restore, self.clock).rolled_back)
        return frozenset(found)
