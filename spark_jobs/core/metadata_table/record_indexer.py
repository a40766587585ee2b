"""What the record index of one table holds, from the table as of a timeline; decided in ``record_index``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.hfile.row_limits import RECORD_INDEX_LIMIT
from spark_jobs.core.format.instant import COMMITS, Instant
from spark_jobs.core.metadata_table.listing import MetadataListing
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges, split_by_group
from spark_jobs.core.metadata_table.record_index import (
    RecordIndexSettings,
    all_records,
    cells_of_group,
    changes_of_commit,
    partitions_to_view,
)
from spark_jobs.core.metadata_table.record_keys import KeySource
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.view.file_system_view import FileSystemView, group_files
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.core.view.written_files import CommittedFiles, with_extents


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndexer:
    """``table`` has its partition ``files``; the data table is seen as of ``source.timeline``."""

    table: MetadataTable
    source: KeySource
    settings: RecordIndexSettings

    def content(self) -> tuple[int, Callable[[int, str], Cells]]:
        """All records that the table has: the number of file groups, and the cells of each one's base file."""
        written = CommittedFiles(self.source.timeline, self.table.clock)
        slices = with_extents(self._view(None).latest_slices(), written, sizes_known=False)
        records = all_records(slices, self.source)
        RECORD_INDEX_LIMIT.check(records.keys)
        groups = self.settings.groups_for(len(records.keys))
        shares = split_by_group(records.keys, groups)
        return groups, lambda group, name: cells_of_group(records, shares.get(group), name)

    def changes(self, instant: Instant, payload: Payload) -> PartitionChanges:
        """What an action that is about to complete changes.

        :param payload: of its completed file.
        """
        if instant.comparable_action not in COMMITS:
            return PartitionChanges()
        metadata = CommitMetadata.of(payload.record, str(instant))
        timeline = self.source.timeline
        view = self._view(partitions_to_view(metadata))
        changes = changes_of_commit(timeline.format, metadata, instant.timestamp, view, self.source)
        RECORD_INDEX_LIMIT.check(changes.added.keys)
        return changes.encode()

    def _view(self, partitions: Collection[str] | None) -> FileSystemView:
        table, timeline = self.table, self.source.timeline
        on_storage = StorageListing(table.storage, table.base_path)
        listing = MetadataListing(table.storage, table.base_path, timeline, table.clock, on_storage)
        wanted = listing.partitions() if partitions is None else sorted(partitions)
        files = listing.names(wanted) if wanted else ()
        pending = read_pending_services(timeline, table.clock)
        asked = None if partitions is None else frozenset(wanted)
        return group_files(timeline.format, files, Visibility.of(timeline), pending, partitions=asked)
