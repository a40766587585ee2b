"""Records of the partition ``files`` and how two of one key become one (Hudi: HoodieMetadataPayload)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.keygen.path_names import RESERVED_PATH
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.layout import identifier_of

ALL_PARTITIONS = RESERVED_PATH
"""The key of the one record that lists the partitions."""

PARTITION_LIST_TYPE = 1
FILE_LIST_TYPE = 2


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What is known of a name: ``size`` in bytes (0 for partitions); a deleted one is a tombstone.

    The size of a log file is a lower bound: see docs/format.md, metadata table.
    """

    size: int = 0
    is_deleted: bool = False


FileEntries = Mapping[str, FileEntry]
"""By file name; in the record of all partitions, by partition as keys spell it."""

_DELETED = FileEntry(0, True)
_PRESENT = FileEntry()


def merge_entries(older: FileEntries, newer: FileEntries) -> FileEntries:
    """One record from two of the same key.

    A deletion takes a name away, or stays as a tombstone where there is no such name; a name that comes again is live;
    of two sizes the larger counts, since files only grow.
    """
    merged = dict(older)
    for name, entry in newer.items():
        known = merged.get(name)
        if known is None or known.is_deleted:
            merged[name] = entry
        elif entry.is_deleted:
            del merged[name]
        elif entry.size > known.size:
            merged[name] = entry
    return merged


def partition_list(partitions: Iterable[str], deleted: Iterable[str] = ()) -> dict[str, FileEntry]:
    """The entries of the record of all partitions, from partition paths."""
    found = {identifier_of(partition): _PRESENT for partition in partitions}
    found.update({identifier_of(partition): _DELETED for partition in deleted})
    return found


def file_list(sizes: Mapping[str, int], deleted: Iterable[str] = ()) -> dict[str, FileEntry]:
    """The entries of a partition's record, from bytes by file name."""
    found = {name: FileEntry(size) for name, size in sizes.items()}
    found.update(dict.fromkeys(deleted, _DELETED))
    return found


def _to_avro(key: str, entries: FileEntries) -> Mapping[str, Any]:
    return {
        "type": PARTITION_LIST_TYPE if key == ALL_PARTITIONS else FILE_LIST_TYPE,
        "filesystemMetadata": {
            name: {"size": entry.size, "isDeleted": entry.is_deleted} for name, entry in sorted(entries.items())
        },
    }


def _from_avro(record: Mapping[str, Any], where: str) -> FileEntries:
    entries = _raw_from_avro(record, where)
    return {name: FileEntry(int(one["size"]), bool(one["isDeleted"])) for name, one in entries.items()}


FILES: Codec[FileEntries] = Codec(_to_avro, _from_avro, merge_entries)


RawEntries = Mapping[str, Mapping[str, Any]]
"""As Avro gives them, ``size`` and ``isDeleted`` by name: for listings, which have no use for 100,000 values more."""


def _merge_raw(older: RawEntries, newer: RawEntries) -> RawEntries:
    """As :func:`merge_entries`."""
    merged = dict(older)
    for name, entry in newer.items():
        known = merged.get(name)
        if known is None or known["isDeleted"]:
            merged[name] = entry
        elif entry["isDeleted"]:
            del merged[name]
        elif entry["size"] > known["size"]:
            merged[name] = entry
    return merged


def _raw_to_avro(key: str, entries: RawEntries) -> Mapping[str, Any]:
    kind = PARTITION_LIST_TYPE if key == ALL_PARTITIONS else FILE_LIST_TYPE
    return {"type": kind, "filesystemMetadata": dict(sorted(entries.items()))}


def _raw_from_avro(record: Mapping[str, Any], where: str) -> RawEntries:
    if record.get("type") not in (PARTITION_LIST_TYPE, FILE_LIST_TYPE):
        raise CorruptTableError(f"{where} has a record of type {record.get('type')} among files", where=where)
    entries: RawEntries = record.get("filesystemMetadata") or {}
    return entries


RAW_FILES: Codec[RawEntries] = Codec(_raw_to_avro, _raw_from_avro, _merge_raw)
