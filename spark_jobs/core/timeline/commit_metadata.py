"""What commits, delta commits and replace commits say (Hudi: HoodieCommitMetadata, HoodieReplaceCommitMetadata)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.storage.relative_path import RelativePath, file_name
from spark_jobs.core.timeline.payloads.payload import Kind, Payload
from spark_jobs.core.timeline.write_stat import NO_PREVIOUS_COMMIT, WriteStat, WrittenFile

SCHEMA_KEY = "schema"
IDEMPOTENCY_KEY = "_pyhudi.idempotency.key"


class OperationType(StrEnum):
    INSERT = "INSERT"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT = "UPSERT"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    BULK_INSERT = "BULK_INSERT"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    DELETE = "DELETE"
    DELETE_PREPPED = "DELETE_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    CLUSTER = "CLUSTER"
    DELETE_PARTITION = "DELETE_PARTITION"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    COMPACT = "COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    LOG_COMPACT = "LOG_COMPACT"
    UNKNOWN = "UNKNOWN"


SERVICE_OPERATIONS = frozenset(
    {OperationType.CLUSTER, OperationType.COMPACT, OperationType.INDEX, OperationType.LOG_COMPACT}
)
"""Operations whose schema does not count when the table's schema is resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMetadata:
    """What a commit did. ``replaced_file_ids`` (partition -> file ids) is None but for replace commits."""

    write_stats: tuple[WriteStat, ...] = ()
    operation_type: OperationType = OperationType.UNKNOWN
    compacted: bool = False
    extra_metadata: Mapping[str, str | None] = field(default_factory=dict)
    replaced_file_ids: Mapping[str, tuple[str, ...]] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the file says nothing at all, as one that its writer died over: what the write made is not known."""
        return self == CommitMetadata()

    @property
    def schema_text(self) -> str:
        """Avro schema JSON of the writer, empty where there is none."""
        return self.extra_metadata.get(SCHEMA_KEY) or ""

    @property
    def idempotency_key(self) -> str | None:
        return self.extra_metadata.get(IDEMPOTENCY_KEY)

    def touched_file_groups(self) -> frozenset[tuple[str, str]]:
        """(partition, file id) of everything written or replaced."""
        written = {(stat.partition_path, stat.file_id) for stat in self.write_stats if stat.file_id}
        replaced = {(p, file_id) for p, ids in (self.replaced_file_ids or {}).items() for file_id in ids}
        return frozenset(written | replaced)

    def written_files(self) -> tuple[WrittenFile, ...]:
        return tuple(one for stat in self.write_stats if (one := WrittenFile.of(stat)) is not None)

    def payload(self) -> Payload:
        """What its file holds."""
        by_partition: dict[str, list[dict[str, Any]]] = {}
        for stat in self.write_stats:
            by_partition.setdefault(stat.partition_path, []).append(stat.to_json())
        out: dict[str, Any] = {"partitionToWriteStats": by_partition}
        out["compacted"] = self.compacted
        out["extraMetadata"] = dict(self.extra_metadata)
        out["operationType"] = self.operation_type.value
        if self.replaced_file_ids is not None:
            out["partitionToReplaceFileIds"] = {key: list(ids) for key, ids in self.replaced_file_ids.items()}
        return Payload(Kind.COMMIT, out)

    @staticmethod
    def of(raw: Mapping[str, Any], name: str) -> CommitMetadata:
        """
        :param raw: the record of a file; without anything of one that was left empty.
        :param name: of the file, as an error names it.
        :raises CorruptTableError: it is no record of a commit.
        :raises OutsideTableError: it names a path that leads out of the table.
        """
        try:
            extra = raw.get("extraMetadata") or {}
            if not isinstance(extra, dict) or not all(isinstance(one, str | None) for one in extra.values()):
                raise TypeError("extraMetadata does not hold texts")
            return CommitMetadata(
                write_stats=tuple(_stats(raw.get("partitionToWriteStats") or {}, name)),
                operation_type=OperationType(raw.get("operationType") or "UNKNOWN"),
                compacted=bool(raw.get("compacted", False)),
                extra_metadata=extra,
                replaced_file_ids=replaced_ids(raw.get("partitionToReplaceFileIds"), name),
            )
        except (ValueError, AttributeError, TypeError, OverflowError, RecursionError) as error:
            what = f"{name} is not commit metadata ({error})"
            raise CorruptTableError(what, todo=RESTORE_FILE, name=name) from error


def written_files_of(raw: Mapping[str, Any], name: str) -> tuple[WrittenFile, ...]:
    """The files of a commit, and nothing else of its metadata: a tenth of the time of :meth:`CommitMetadata.of`.

    :param raw: the record of its file.
    :raises CorruptTableError: it is no record of a commit.
    """
    try:
        by_partition = raw.get("partitionToWriteStats") or {}
        found = (_written_file(partition, one) for partition, stats in by_partition.items() for one in stats)
        return tuple(one for one in found if one is not None)
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        what = f"{name} is not commit metadata ({error})"
        raise CorruptTableError(what, todo=RESTORE_FILE, name=name) from error


def _written_file(partition: str, raw: Mapping[str, Any]) -> WrittenFile | None:
    path, counts = raw.get("path"), [raw.get(name) or 0 for name in _COUNTS]
    if not path:
        return None
    own, file_id = raw.get("partitionPath") or partition, raw.get("fileId") or ""
    previous = raw.get("prevCommit") or NO_PREVIOUS_COMMIT
    texts = (path, own, file_id, previous)
    if not all(isinstance(one, str) for one in texts) or not all(isinstance(one, int) for one in counts):
        raise TypeError(f"a write stat of {path!r} has values of other types")
    return WrittenFile.of_values(own, file_id, path, *counts, previous=previous)


_COUNTS = (
    "fileSizeInBytes",
    "logOffset",
    "totalWriteBytes",
    "numWrites",
    "numDeletes",
    "numUpdateWrites",
    "numInserts",
)
"""In the order of :meth:`WrittenFile.of_values`."""


def _stats(by_partition: Mapping[str, list[Mapping[str, Any]]], where: str) -> Iterable[WriteStat]:
    for partition, stats in by_partition.items():
        for raw in stats:
            own = raw.get("partitionPath")
            yield WriteStat.from_json({**raw, "partitionPath": partition if own in (None, "") else own}, where)


def replaced_ids(raw: Mapping[str, list[str]] | None, where: str) -> Mapping[str, tuple[str, ...]] | None:
    """
    :param where: the file that it stands in.
    :raises TypeError: a value of another type than Hudi's.
    :raises OutsideTableError: a partition that leads out of the table, or an id that is more than a part of a name.
    """
    if raw is None:
        return None
    if not all(isinstance(one, str) for ids in raw.values() for one in ids):
        raise TypeError("partitionToReplaceFileIds does not hold texts")
    return {
        RelativePath(partition, where): tuple(file_name(one, where) for one in ids) for partition, ids in raw.items()
    }
