"""What is read of a table as it stands at one moment, each part when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.listing import MetadataListing
from spark_jobs.core.read.lost_completion import refuse_lost_completions
from spark_jobs.core.read.table_schema import committed_evolution, committed_schema, schema_of_file
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.heartbeat import HeartbeatSettings
from spark_jobs.core.view.collector import collector_paused
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, PendingServices, group_files
from spark_jobs.core.view.history import built_upon, written_by
from spark_jobs.core.view.listing import Listing, StorageListing
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.core.view.written_files import (
    CommittedFiles,
    LostCommit,
    Parts,
    refuse_lost_commits,
    refuse_lost_groups,
    refuse_lost_partition,
    with_extents,
)


@dataclass(kw_only=True)
class Snapshot:
    """A table by one timeline. Safe to use in one thread.

    :raises InstantGoneError: by all that reads a plan or a write which another process takes back meanwhile.
    """

    storage: Storage
    base_path: str
    config: TableConfig
    clock: Clock
    timeline: ActiveTimeline
    heartbeats: HeartbeatSettings
    lists_storage: bool
    """Files are looked for on storage even where the table has a metadata table that lists them."""

    @cached_property
    def pending(self) -> PendingServices:
        return read_pending_services(self.timeline, self.clock)

    @cached_property
    def avro_schema(self) -> dict[str, Any]:
        """Avro record schema without meta columns.

        :raises ConfigError: an empty table that was made without a schema.
        """
        return self.avro_schema_at(None)

    def avro_schema_at(self, until: str | None) -> dict[str, Any]:
        """The schema as of an instant (inclusive; None: now)."""
        found = self.known_avro_schema(until)
        if found is None:
            raise ConfigError(
                f"table {self.config.name} has no schema yet", todo="write to it first", table=self.config.name
            )
        return found

    def known_avro_schema(self, until: str | None) -> dict[str, Any] | None:
        """As :meth:`avro_schema_at`, or None for a table that has no schema yet."""
        found = committed_schema(self.timeline, self.config, self.clock, until)
        if found is None:
            bases = self.view(None, until).latest_base_files()
            found = schema_of_file(self.storage, self.base_path, bases[0], self.config.name) if bases else None
        return found

    def evolution_at(self, until: str | None) -> SchemaEvolution | None:
        """The history of the schema as of an instant (inclusive; None: now), where the table has one."""
        return committed_evolution(self.storage, self.base_path, self.timeline, self.clock, until)

    @cached_property
    def listing(self) -> Listing:
        """Where partitions and files are looked up: the metadata table where it lists files, else the storage."""
        from_metadata = None if self.lists_storage else self.metadata_listing
        return from_metadata or self._storage_listing

    @property
    def _storage_listing(self) -> StorageListing:
        return StorageListing(self.storage, self.base_path, self._refuse_lost_partition)

    def _refuse_lost_partition(self, folder: str, names: Sequence[str]) -> None:
        refuse_lost_partition(self.config.format, folder, names, self._written_by, lambda: self.pending.replaced)

    @property
    def metadata_listing(self) -> MetadataListing | None:
        """Where the table has a metadata table that lists files."""
        trusted = self.config.format.trusts_metadata_table
        if not trusted or not self.config.lists(MetadataPartition.FILES):
            return None
        return MetadataListing(self.storage, self.base_path, self.timeline, self.clock, self._storage_listing)

    def view(self, partitions: Sequence[str] | None, until: str | None) -> FileSystemView:
        """File groups and slices of some partitions (None: all), as of an instant (inclusive; None: now).

        :raises CorruptTableError: the completed file of a write is gone upon which later ones were built, or of which
            the listing has files.
        """
        refuse_lost_commits(self._lost_commits, until)
        found = self._view(partitions, until)

        def file_of(pending: Instant) -> str | None:
            listed = found.a_file_of(pending.timestamp)
            if listed is None and isinstance(self.listing, MetadataListing):
                return self.listing.added_by(pending, partitions)
            return listed

        refuse_lost_completions(self.timeline, self.base_path, self.heartbeats, self.clock, until, file_of)
        return found

    def _view(self, partitions: Sequence[str] | None, until: str | None) -> FileSystemView:
        # the timeline comes before the listing: a commit that lands in between stays unseen as a whole
        format, visibility, pending = self.timeline.format, Visibility.of(self.timeline, until), self.pending
        asked = None if partitions is None else frozenset(partitions)
        if isinstance(self.listing, MetadataListing):
            wanted = self.listing.partitions() if partitions is None else partitions
            with collector_paused():  # from the first record that is read until the last is sorted
                listed = self.listing.committed(wanted)
                if listed is not None:  # what the metadata table lists was completed, whatever the archive still knows
                    return group_files(
                        format,
                        listed,
                        visibility,
                        pending,
                        self._written_by,
                        is_proven=lambda instant: True,
                        partitions=asked,
                    )
            self.listing = self._storage_listing  # by which slices are checked, too
        return group_files(
            format,
            self._storage_listing.all_names() if partitions is None else self._storage_listing.names(partitions),
            visibility,
            pending,
            self._written_by,
            self.proves_committed,
            partitions=asked,
        )

    def proves_committed(self, partition: str, name: str, instant: str) -> bool:
        """Whether a write was completed of which neither archive nor rollbacks know: a later commit built on a file of
        it, or the metadata table lists this one.
        """
        return instant in self._built_upon or name in self._listed_by_metadata(partition)

    @cached_property
    def _built_upon(self) -> frozenset[str]:
        return built_upon(self.timeline, self.clock)

    def _listed_by_metadata(self, partition: str) -> frozenset[str]:
        """Names of the files of a partition; empty where no metadata table is to be trusted."""
        if partition not in self._listed:
            listed = self.metadata_listing.committed([partition]) if self.metadata_listing is not None else None
            self._listed[partition] = frozenset(name for _, names, _ in listed or () for name in names)
        return self._listed[partition]

    @cached_property
    def _listed(self) -> dict[str, frozenset[str]]:
        return {}

    def _written_by(self, instant: str) -> frozenset[str] | None:
        return written_by(self.timeline, self.clock, instant)

    def written_partitions(self, until: str | None) -> frozenset[str]:
        """Where completed writes of the timeline left files, as of an instant (inclusive; None: now). None are named
        where the metadata table lists files: it has the partitions, too.
        """
        if not isinstance(self.listing, StorageListing):
            return frozenset()
        written = self._committed_files.since("", until).values()
        return frozenset(file.partition for files in written for file in files)

    def checked_of(self, view: FileSystemView, slices: Sequence[FileSlice], parts: Parts) -> list[FileSlice]:
        """:meth:`checked` of what a query reads of a view, beside which no file group is gone as a whole: of a metadata
        table it is found missing when it is opened, a listing of the storage says nothing of it.

        :raises CorruptTableError: as :meth:`checked`, or all files of a file group are gone.
        """
        until = view.visibility.until
        if isinstance(self.listing, StorageListing):
            refuse_lost_groups(slices, self._committed_files, self.pending.replaced, view.partitions, until, parts)
        return self.checked(slices, until, parts)

    def checked(self, slices: Sequence[FileSlice], until: str | None, parts: Parts) -> list[FileSlice]:
        """The slices with what completed writes put into their logs, for who reads them to compare.

        Of those that the metadata table lists, the ones with logs alone are looked up: it names every file, so a lost
        one is found missing, and a base file has the length that it says.

        :raises CorruptTableError: a file that a completed write left is gone, or has not its length.
        """
        on_storage = isinstance(self.listing, StorageListing)
        asked = [one for one in slices if on_storage or one.log_files]
        if not asked:
            return list(slices)
        found = with_extents(asked, self._committed_files, until=until, sizes_known=on_storage, parts=parts)
        by_key = {(one.partition, one.file_id): one for one in found}
        return [by_key.get((one.partition, one.file_id), one) for one in slices]

    @cached_property
    def _lost_commits(self) -> tuple[LostCommit, ...]:
        return self._committed_files.built_upon_pending()

    @cached_property
    def _committed_files(self) -> CommittedFiles:
        return CommittedFiles(self.timeline, self.clock)
