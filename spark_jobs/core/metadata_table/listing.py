"""A table's files as its metadata table lists them (Hudi: BaseTableMetadata, FileSystemBackedTableMetadata)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import InstantGoneError, StorageError
from spark_jobs.core.files.partition_metafile import Enter
from spark_jobs.core.format.folders import METADATA_FOLDER
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.order import follows
from spark_jobs.core.metadata_table.layout import identifier_of, partition_of
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, RAW_FILES, RawEntries
from spark_jobs.core.metadata_table.recovery import is_compacted
from spark_jobs.core.metadata_table.scan import read_listing
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import FileStatus, RelativePath, Storage, join, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.listing import Listing


@dataclass(frozen=True, slots=True)
class MetadataListing:
    """Listed files without a directory being looked at. Their sizes are lower bounds for log files.

    :param timeline: of the data table, loaded before: what completed later is not in the listing.
    :param fallback: asked where the metadata table is damaged, or was taken off by a writer just now.
    :raises InstantGoneError: the metadata table was compacted or made anew since, and lists what is there now.
    """

    storage: Storage
    base_path: str
    timeline: ActiveTimeline
    clock: Clock
    fallback: Listing

    def partitions(self, enter: Enter = list) -> list[RelativePath]:
        records = self._read([ALL_PARTITIONS])
        if records is None or ALL_PARTITIONS not in records:
            return self.fallback.partitions(enter)
        live = [name for name, entry in records[ALL_PARTITIONS].items() if not entry["isDeleted"]]
        if ALL_PARTITIONS in live or any(entry["size"] for entry in records[ALL_PARTITIONS].values()):
            return self.fallback.partitions(enter)  # a partition of that name had its files written over the list
        return sorted(RelativePath(partition_of(name)) for name in live)

    def files(self, partitions: Iterable[str]) -> Iterator[tuple[str, FileStatus]]:
        wanted = list(partitions)
        records = self._files_of(wanted)
        if records is None:
            yield from self.fallback.files(wanted)
            return
        for partition in wanted:
            for name, entry in sorted(_live(partition, records).items()):
                yield partition, self._status(partition, name, entry["size"])

    def names(self, partitions: Iterable[str]) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
        wanted = list(partitions)
        listed = self.committed(wanted)
        yield from self.fallback.names(wanted) if listed is None else listed

    def committed(self, partitions: Iterable[str]) -> Iterator[tuple[str, Sequence[str], Sequence[int]]] | None:
        """:meth:`names` by the metadata table alone, which lists what was completed; None where it can't be read."""
        wanted = list(partitions)
        records = self._files_of(wanted)
        return None if records is None else _names(wanted, records)

    def added_by(self, pending: Instant, partitions: Collection[str] | None) -> str | None:
        """What the metadata table has of a write of the data table that looks pending: a file that it would list more,
        were the write completed, or itself where it was compacted since, which it is not while a write is under way.

        :param partitions: where files are looked for; None for all.
        """
        supposed = replace(self, timeline=self.timeline.supposing(pending))
        try:
            table = MetadataTable.open(self.storage, self.base_path, self.timeline, self.clock)
        except StorageError:
            return None
        if not any(one.is_completed for one in table.timeline.find(pending.timestamp)):
            return None
        if is_compacted(table, pending.timestamp):
            return METADATA_FOLDER
        wanted = list(supposed.partitions() if partitions is None else partitions)
        now, then = self.committed(wanted), supposed.committed(wanted)
        if now is None or then is None:
            return None
        listed = {partition: frozenset(names) for partition, names, _ in now}
        added = (
            join(partition, name)
            for partition, names, _ in then
            for name in names
            if name not in listed.get(partition, ())
        )
        return next(added, None)

    def _files_of(self, partitions: Collection[str]) -> Mapping[str, RawEntries] | None:
        if ALL_PARTITIONS in partitions:
            return None  # the record of that key is the list of partitions
        return self._read([identifier_of(partition) for partition in partitions])

    def _read(self, keys: Collection[str]) -> Mapping[str, RawEntries] | None:
        try:
            table = MetadataTable.open(self.storage, self.base_path, self.timeline, self.clock)
            found = read_listing(table, RAW_FILES, keys)
        except StorageError:
            return None
        self._refuse_later(table)
        return found

    def _refuse_later(self, table: MetadataTable) -> None:
        """What cleans took away by then is not listed any more, and what stands in its place is not seen: file groups
        would be missing without a word.
        """
        layout, last = table.timeline.format.metadata, self.timeline.last_time
        behind = (layout.stands_behind(one.timestamp) for one in table.timeline.instants if one.is_completed)
        later = next((one for one in behind if one is not None and follows(one, last)), None)
        if later is not None:
            raise InstantGoneError(
                f"the metadata table of {self.base_path} was compacted behind instant {later}, after the timeline was "
                f"loaded, which ends with {last}",
                todo="run it again",
                instant=later,
            )

    def _status(self, partition: str, name: str, size: int) -> FileStatus:
        path = resolve(self.base_path, join(partition, name))
        return FileStatus(path=path, size=size, modified_ms=0, is_directory=False, etag="")


def _names(
    partitions: Iterable[str], records: Mapping[str, RawEntries]
) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    for partition in partitions:
        live = _live(partition, records)
        yield partition, list(live), [entry["size"] for entry in live.values()]


def _live(partition: str, records: Mapping[str, RawEntries]) -> RawEntries:
    entries = records.get(identifier_of(partition), {})
    if True not in [entry["isDeleted"] for entry in entries.values()]:
        return entries
    return {name: entry for name, entry in entries.items() if not entry["isDeleted"]}
