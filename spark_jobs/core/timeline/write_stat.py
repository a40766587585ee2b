"""What one handle did to one file, and its JSON form (Hudi: HoodieWriteStat, HoodieDeltaWriteStat)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

from spark_jobs.core.storage.relative_path import RelativePath, file_name, written_path

NO_PREVIOUS_COMMIT = "null"
"""The text, four letters, that stands for "a new file"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStat:
    """Counts are records, sizes bytes; ``path`` is relative to the table's base path.

    The last group of fields is set for log appends only (``log_version`` tells).
    """

    file_id: str
    path: RelativePath | None
    partition_path: str
    prev_commit: str = NO_PREVIOUS_COMMIT
    cdc_stats: Mapping[str, int] | None = None
    num_writes: int = 0
    num_deletes: int = 0
    num_update_writes: int = 0
    num_inserts: int = 0
    total_write_bytes: int = 0
    total_write_errors: int = 0
    temp_path: str | None = None
    total_log_records: int = 0
    total_log_files_compacted: int = 0
    total_log_size_compacted: int = 0
    total_updated_records_compacted: int = 0
    total_log_blocks: int = 0
    total_corrupt_log_block: int = 0
    total_rollback_blocks: int = 0
    file_size_in_bytes: int = 0
    min_event_time: int | None = None
    max_event_time: int | None = None
    runtime_stats: Mapping[str, int] | None = None
    log_version: int | None = None
    log_offset: int = 0
    base_file: str = ""
    log_files: tuple[str, ...] = ()

    @property
    def is_log_append(self) -> bool:
        return self.log_version is not None

    @property
    def file_name(self) -> str:
        return (self.path or "").rsplit("/", 1)[-1]

    def to_json(self) -> dict[str, Any]:
        out = {name: getattr(self, field) for name, field in _COMMON.items()}
        if self.is_log_append:
            out.update({name: getattr(self, field) for name, field in _APPEND.items()})
            out["logFiles"] = list(self.log_files)
            out["recordsStats"] = {"val": None}
        return out

    @staticmethod
    def from_json(raw: Mapping[str, Any], where: str) -> WriteStat:
        """
        :param where: the file that it stands in.
        :raises TypeError: a value of another type than Hudi's.
        :raises OutsideTableError: a path of it leads out of the table.
        """
        known: dict[str, Any] = {}
        for name, field, kind in _KINDS:
            value = raw.get(name)
            if value is not None:
                is_exact = type(value) is kind
                is_plain = is_exact and (kind is str or (kind is int and _LEAST <= value <= _MOST))
                if not is_plain and not _is_of(kind, value):
                    raise TypeError(f"{name} is {value!r}")
                known[field] = value
        known["log_files"] = tuple(known.get("log_files", ()))
        known.setdefault("file_id", "")
        partition = known["partition_path"] = _partition(known.get("partition_path", ""), where)
        path = known.get("path")
        known["path"] = written_path(partition, path, where) if path else None if path is None else RelativePath("")
        for name in known["log_files"]:
            file_name(name, where)
        for name in known.get("cdc_stats") or ():
            written_path(partition, name, where)
        if known["file_id"]:
            file_name(known["file_id"], where)
        if known.get("base_file"):
            file_name(known["base_file"], where)
        return WriteStat(**known)


_COMMON = {
    "fileId": "file_id",
    "path": "path",
    "cdcStats": "cdc_stats",
    "prevCommit": "prev_commit",
    "numWrites": "num_writes",
    "numDeletes": "num_deletes",
    "numUpdateWrites": "num_update_writes",
    "numInserts": "num_inserts",
    "totalWriteBytes": "total_write_bytes",
    "totalWriteErrors": "total_write_errors",
    "tempPath": "temp_path",
    "partitionPath": "partition_path",
    "totalLogRecords": "total_log_records",
    "totalLogFilesCompacted": "total_log_files_compacted",
    "totalLogSizeCompacted": "total_log_size_compacted",
    "totalUpdatedRecordsCompacted": "total_updated_records_compacted",
    "totalLogBlocks": "total_log_blocks",
    "totalCorruptLogBlock": "total_corrupt_log_block",
    "totalRollbackBlocks": "total_rollback_blocks",
    "fileSizeInBytes": "file_size_in_bytes",
    "minEventTime": "min_event_time",
    "maxEventTime": "max_event_time",
    "runtimeStats": "runtime_stats",
}
_APPEND = {"logVersion": "log_version", "logOffset": "log_offset", "baseFile": "base_file", "logFiles": "log_files"}
_ALL = {**_COMMON, **_APPEND}
_TEXTS = ("fileId", "path", "prevCommit", "tempPath", "partitionPath", "baseFile")
_TYPES: dict[str, type] = {**dict.fromkeys(_TEXTS, str), "cdcStats": dict, "runtimeStats": dict, "logFiles": list}
"""Of what is no number."""
_KINDS = tuple((name, field, _TYPES.get(name, int)) for name, field in _ALL.items())
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
assert {*_COMMON.values(), *_APPEND.values()} == {field.name for field in fields(WriteStat)}


@lru_cache(maxsize=1 << 12)
def _partition(text: str, where: str) -> RelativePath:
    """Of the stats of one commit many are in one partition."""
    return RelativePath(text, where)


def _is_of(kind: type, value: Any) -> bool:
    """Whether a value is of a type; numbers, those in maps too, have 64 bits."""
    if not isinstance(value, kind):
        return False
    if isinstance(value, dict):
        return all(_is_of(int, one) for one in value.values())
    return not isinstance(value, int) or _LEAST <= value <= _MOST


class WrittenFile(NamedTuple):
    """What a write stat says of one file, without its counts of rows: ``end`` is its length when the write was done (0:
    not said), ``start`` where the write began. ``likeness`` is equal for stats that one may have been copied from.
    ``previous`` is the instant of the slice that it was built upon, where it was.
    """

    partition: str
    file_id: str
    name: str
    start: int
    end: int
    likeness: tuple[int, ...]
    previous: str = NO_PREVIOUS_COMMIT

    @staticmethod
    def of(stat: WriteStat) -> WrittenFile | None:
        """None for a stat of no file."""
        if not stat.path:
            return None
        counts = (stat.num_writes, stat.num_deletes, stat.num_update_writes, stat.num_inserts)
        sizes = (stat.file_size_in_bytes, stat.log_offset, stat.total_write_bytes)
        return WrittenFile.of_values(
            stat.partition_path, stat.file_id, stat.path, *sizes, *counts, previous=stat.prev_commit
        )

    @staticmethod
    def of_values(
        partition: str, file_id: str, path: str, size: int, offset: int, written: int, *counts: int, previous: str
    ) -> WrittenFile:
        """:param offset: where a log append began, 0 where the stat does not say, as an archived one."""
        start = max(offset, size - written, 0) if size else 0
        return WrittenFile(partition, file_id, path.rpartition("/")[2], start, size, (size, *counts), previous)


def written_paths(stats: Iterable[WriteStat]) -> frozenset[RelativePath]:
    """Relative paths of the files that write stats name."""
    return frozenset(stat.path for stat in stats if stat.path)
