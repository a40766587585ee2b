"""What an action of the data table means for the partitions that follow from its base files.

Hudi: HoodieTableMetadataUtil (convertMetadataToColumnStatsRecords, convertMetadataToBloomFilterRecords).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.metadata_table.bloom_filters import StoredBloomFilter, bloom_tombstone, read_footer_filter
from spark_jobs.core.metadata_table.changes import FileChanges, changes_of
from spark_jobs.core.metadata_table.codecs import CODECS
from spark_jobs.core.metadata_table.column_stats import ColumnStats, tombstone
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.initialize import records_by_group
from spark_jobs.core.metadata_table.keys import bloom_filter_key, column_stats_key
from spark_jobs.core.metadata_table.layout import partition_of
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, FileEntry
from spark_jobs.core.metadata_table.scan import read_file_records
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.storage import Storage, join, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.view.pending import being_cleaned

R = TypeVar("R")
_File = tuple[str, str]

_FOOTERS_AT_ONCE = 8


class Index(Protocol):
    """A partition of the metadata table that follows from the base files of the data table.

    ``groups`` is the number of file groups of a new partition.
    """

    partition: ClassVar[MetadataPartition]

    @property
    def groups(self) -> int: ...

    def changes(self, files: FileChanges) -> Mapping[str, Any]:
        """Records, in the form of the partition's codec, for what changes in ``files``.

        New base files are read, deleted files are tombstones. Log files have no records.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedTable:
    """The data table, as far as its footers are read."""

    storage: Storage
    base_path: str
    format: TableFormat

    def path_of(self, file: _File) -> str:
        return resolve(self.base_path, join(*file))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatsIndex:
    """``columns`` of base files, by their footers."""

    partition: ClassVar[MetadataPartition] = MetadataPartition.COLUMN_STATS
    table: IndexedTable
    columns: tuple[str, ...]
    groups: int

    def changes(self, files: FileChanges) -> dict[str, ColumnStats]:
        new, gone = _files_of(files, self.table.format)
        found = {
            column_stats_key(column, partition, name): tombstone(name, column)
            for partition, name in gone
            for column in self.columns
        }
        for (partition, name), stats in zip(new, _each(self._footer, new), strict=True):
            found.update({column_stats_key(one.column, partition, name): one for one in stats})
        return found

    def _footer(self, file: _File) -> list[ColumnStats]:
        return read_footer_stats(self.table.storage, self.table.path_of(file), self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomFilterIndex:
    """The filters in the footers of base files; ``instant`` stands in the records."""

    partition: ClassVar[MetadataPartition] = MetadataPartition.BLOOM_FILTERS
    table: IndexedTable
    instant: str
    groups: int

    def changes(self, files: FileChanges) -> dict[str, StoredBloomFilter]:
        new, gone = _files_of(files, self.table.format)
        found = {
            bloom_filter_key(partition, name): bloom_tombstone(self.instant)
            for partition, name in gone
            if self.table.format.parse_base_file(name) is not None
        }
        for file, one in zip(new, _each(self._footer, new), strict=True):
            if one is not None:
                found[bloom_filter_key(*file)] = one
        return found

    def _footer(self, file: _File) -> StoredBloomFilter | None:
        return read_footer_filter(self.table.storage, self.table.path_of(file), self.instant)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOfFiles:
    """What the partition of an index holds, from the files that ``table`` lists."""

    table: MetadataTable
    index: Index

    def content(self) -> tuple[int, Callable[[int, str], Cells]]:
        """The number of file groups, and the cells of each one's base file, by its number and the file's name."""
        deletable = being_cleaned(self.table.data_timeline, self.table.clock)
        live = {
            key: {name: entry for name, entry in entries.items() if not _is_deleted(key, name, entry, deletable)}
            for key, entries in read_file_records(self.table).items()
        }
        codec, groups = CODECS[self.index.partition], self.index.groups
        return groups, records_by_group(self.index.changes(live), codec, groups)

    def changes(self, instant: Instant, payload: Payload) -> PartitionChanges:
        """What an action changes.

        :param payload: of its completed file.
        :raises UnsupportedTableError: one that the metadata table can't follow.
        """
        files = changes_of(instant, payload)
        if files is None:
            raise UnsupportedTableError(f"the metadata table can't follow {instant}", todo="run the job again")
        codec = CODECS[self.index.partition]
        return PartitionChanges.of({key: codec.encode(key, one) for key, one in self.index.changes(files).items()})


def _is_deleted(key: str, name: str, entry: FileEntry, deletable: Collection[str]) -> bool:
    """Whether a file was deleted, or is about to be by one of the cleans that have begun."""
    return entry.is_deleted or (key != ALL_PARTITIONS and join(partition_of(key), name) in deletable)


def _files_of(changes: FileChanges, format: TableFormat) -> tuple[list[_File], list[_File]]:
    """(partition, name) of the base files that come, and of all files that go."""
    new: list[_File] = []
    gone: list[_File] = []
    for key, entries in changes.items():
        if key == ALL_PARTITIONS:
            continue
        for name, entry in entries.items():
            if entry.is_deleted:
                gone.append((partition_of(key), name))
            elif format.parse_base_file(name) is not None:
                new.append((partition_of(key), name))
    return new, gone


def _each(read: Callable[[_File], R], files: Sequence[_File]) -> list[R]:
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        return list(pool.map(read, files))


def newest_schema(timeline: ActiveTimeline, clock: Clock) -> str:
    """The schema of the newest commit that has one; empty where none has."""
    for instant in reversed(timeline.completed_commits()):
        text = timeline.commit_metadata(instant, clock).schema_text
        if text:
            return text
    return ""


def top_columns(schema_json: str) -> tuple[str, ...]:
    """The meta columns and all columns at the top of an Avro schema, which may have the former or not.

    :raises CorruptTableError: it is no record schema.
    """
    try:
        names = [str(field["name"]) for field in json.loads(schema_json)["fields"]]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CorruptTableError(f"the schema to index the columns of is none ({error})") from error
    return tuple(dict.fromkeys([*META_FIELDS, *names]))
