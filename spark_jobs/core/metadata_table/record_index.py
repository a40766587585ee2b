"""What the partition ``record_index`` holds of a table, and what an action changes in it.

Hudi: HoodieBackedTableMetadataWriter (initializeRecordIndexPartition, getRecordIndexUpserts,
getRecordIndexAdditionalUpserts). Hudi takes the changes from what its tasks report; here they are read from the key
columns of the files that a commit says it wrote, against those that were there before: a repeated or taken-over commit
gives the same, whoever wrote the files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.record_cells import RECORD_LOCATIONS, RecordLocation
from spark_jobs.core.metadata_table.record_keys import NO_KEYS, KeySource, distinct
from spark_jobs.core.metadata_table.record_locations import Located, first_of_each
from spark_jobs.core.storage import RelativePath
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import NO_PREVIOUS_COMMIT, WriteStat
from spark_jobs.core.view.file_slice import FileSlice, LogFile
from spark_jobs.core.view.file_system_view import FileSystemView, merged_slice

T = TypeVar("T")
R = TypeVar("R")

_BYTES_PER_RECORD = 48
_FILES_AT_ONCE = 4
_SAME_KEYS = frozenset({OperationType.COMPACT, OperationType.LOG_COMPACT})
"""Operations that leave every record where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndexSettings:
    """By how many records the number of file groups of a new index is chosen; ``group_bytes`` at 48 a record."""

    min_groups: int = 10
    max_groups: int = 10_000
    growth: float = 2.0
    group_bytes: int = 1 << 30

    def groups_for(self, records: int) -> int:
        """Hudi: HoodieTableMetadataUtil.estimateFileGroupCount."""
        if self.min_groups == self.max_groups:
            return self.min_groups
        expected = math.ceil(float(np.float32(records) * np.float32(self.growth)))
        wanted = expected // max(self.group_bytes // _BYTES_PER_RECORD, 1)
        return max(1, min(max(wanted, self.min_groups), self.max_groups))


class RecordChanges(NamedTuple):
    """Records with a new place, and keys that have none any more."""

    added: Located
    deleted: pa.Array[Any]

    def encode(self) -> PartitionChanges:
        return PartitionChanges(keys=self.added.keys, values=values_of(self.added, None), deleted=self.deleted)


def all_records(slices: Sequence[FileSlice], source: KeySource) -> Located:
    """Every record of a table, each key once."""
    found = _each(source.of_slice, slices)
    locations = [
        RecordLocation(partition=one.partition, file_id=one.file_id, instant=one.base_instant) for one in slices
    ]
    return _located(found, locations)


def changes_of_commit(
    format: TableFormat, metadata: CommitMetadata, instant: str, view: FileSystemView, source: KeySource
) -> RecordChanges:
    """What a commit that is about to complete does to the index.

    :param view: of the partitions that :func:`partitions_to_view` names, as they were before it.
    :raises CorruptTableError: a version of a file group that the commit built on is not there.
    """
    if metadata.operation_type in _SAME_KEYS:
        return RecordChanges(Located(NO_KEYS, np.zeros(0, np.int32), []), NO_KEYS)
    before = {group.key: one for group in view.all_groups() if (one := merged_slice(group)) is not None}
    stats = [stat for stat in metadata.write_stats if _changes_keys(stat)]
    found = _each(lambda stat: _changes_of(format, stat, instant, before, source), stats)
    locations = [RecordLocation(partition=stat.partition_path, file_id=stat.file_id, instant=instant) for stat in stats]
    added = _located([new for new, _ in found], locations)
    replaced = [
        before[(partition, file_id)]
        for partition, ids in (metadata.replaced_file_ids or {}).items()
        for file_id in ids
        if (partition, file_id) in before
    ]
    gone = [left for _, left in found] + _each(source.of_slice, replaced)
    return RecordChanges(added, distinct(pa.concat_arrays([NO_KEYS, *gone]).unique(), added.keys))


def partitions_to_view(metadata: CommitMetadata) -> frozenset[str]:
    """The partitions with file groups whose earlier versions :func:`changes_of_commit` reads."""
    if metadata.operation_type in _SAME_KEYS:
        return frozenset()
    built_on = {stat.partition_path for stat in metadata.write_stats if _changes_keys(stat) and not _is_new_file(stat)}
    return frozenset(built_on | set(metadata.replaced_file_ids or {}))


def base_file_cells(records: Located, file_name: str) -> Cells:
    """The cells of a base file, in the order of keys."""
    return PartitionChanges(keys=records.keys, values=values_of(records, file_name)).cells()


def cells_of_group(records: Located, places: pa.Array[Any] | None, file_name: str) -> Cells:
    """The same of the records at these places; None for no place."""
    if places is None:
        return Cells(NO_KEYS, NO_KEYS)
    share = Located(records.keys.take(places), records.codes[np.asarray(places)], records.locations)
    return base_file_cells(share, file_name)


def values_of(records: Located, file_name: str | None) -> pa.Array[Any]:
    """The values of the cells; see :meth:`Codec.encode`."""
    encoded = [RECORD_LOCATIONS.encode("", one, file_name) for one in records.locations]
    return pa.array(encoded, pa.large_binary()).take(pa.array(records.codes))


def _changes_keys(stat: WriteStat) -> bool:
    return bool(stat.path) and (_is_new_file(stat) or stat.num_inserts > 0 or stat.num_deletes > 0)


def _is_new_file(stat: WriteStat) -> bool:
    return not stat.is_log_append and stat.prev_commit == NO_PREVIOUS_COMMIT


def _changes_of(
    format: TableFormat, stat: WriteStat, instant: str, before: dict[tuple[str, str], FileSlice], source: KeySource
) -> tuple[pa.Array[Any], pa.Array[Any]]:
    """The keys that came into a file group, and those that left it."""
    path = stat.path or RelativePath("")
    if _is_new_file(stat):
        return source.of_base(path), NO_KEYS
    old = before.get((stat.partition_path, stat.file_id))
    if stat.is_log_append:
        new = source.written_to_log(path) if stat.num_inserts else NO_KEYS
        return new, _deleted(format, stat, instant, old, source) if stat.num_deletes else NO_KEYS
    if old is None:
        raise CorruptTableError(
            f"file group {stat.file_id} in partition {stat.partition_path!r} has no version before {instant}",
            path=path,
        )
    known, now = source.of_slice(old), source.of_base(path)
    came = distinct(now, known) if stat.num_inserts else NO_KEYS
    return came, distinct(known, now) if stat.num_deletes else NO_KEYS


def _deleted(
    format: TableFormat, stat: WriteStat, instant: str, old: FileSlice | None, source: KeySource
) -> pa.Array[Any]:
    """The keys that a log file takes away; one with ordering values may delete nothing."""
    deleted, is_final = source.deleted_by_log(stat.path or RelativePath(""))
    name = format.parse_log_file(stat.file_name)
    if is_final or old is None or name is None:
        return deleted
    log = LogFile(stat.partition_path, name, stat.file_size_in_bytes)
    return distinct(deleted, source.of_slice(replace(old, log_files=(*old.log_files, log)), also=instant))


def _located(keys: Sequence[pa.Array[Any]], locations: list[RecordLocation]) -> Located:
    codes = np.repeat(np.arange(len(keys), dtype=np.int32), [len(one) for one in keys])
    whole, places = first_of_each(pa.concat_arrays([NO_KEYS, *keys]), codes)
    return Located(whole, places, locations)


def _each(read: Callable[[T], R], pieces: Iterable[T]) -> list[R]:
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        return list(pool.map(read, pieces))
