"""Statistics of columns by file: values as Hudi wraps them, and how two records of a file become one.

Hudi: HoodieMetadataColumnStats, HoodieTableMetadataUtil.mergeColumnStatsRecords.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.metadata_table.codec import Codec

COLUMN_STATS_TYPE = 3
_NAMESPACE = "org.apache.hudi.avro.model."


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A bound as it is stored: ``wrapper`` names its record (``LongWrapper``), ``value`` is what fastavro gives.

    The wrapper does not tell the column's type: a date is an ``IntWrapper`` after a compaction, for instance.
    """

    wrapper: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """What is known of one column in one file (``file_name`` without its folder); bounds are inclusive, None where
    there are none. ``values`` counts nulls too; sizes are bytes. A deleted one is a tombstone.
    """

    file_name: str
    column: str
    low: Wrapped | None = None
    high: Wrapped | None = None
    values: int = 0
    nulls: int = 0
    size: int = 0
    uncompressed_size: int = 0
    is_deleted: bool = False


def tombstone(file_name: str, column: str) -> ColumnStats:
    """For a file that is gone."""
    return ColumnStats(
        file_name=file_name, column=column, values=-1, nulls=-1, size=-1, uncompressed_size=-1, is_deleted=True
    )


def merge_stats(older: ColumnStats, newer: ColumnStats) -> ColumnStats:
    """The newer one where either is deleted; else both together, which is how a log file's grow."""
    if older.is_deleted or newer.is_deleted:
        return newer
    return replace(
        newer,
        low=_outer(older.low, newer.low, lambda a, b: a if a <= b else b),
        high=_outer(older.high, newer.high, lambda a, b: a if a >= b else b),
        values=older.values + newer.values,
        nulls=older.nulls + newer.nulls,
        size=older.size + newer.size,
        uncompressed_size=older.uncompressed_size + newer.uncompressed_size,
    )


def _outer(one: Wrapped | None, other: Wrapped | None, choose: Callable[[Any, Any], Any]) -> Wrapped | None:
    if one is None or other is None:
        return one or other
    if type(one.value) is not type(other.value):
        return None  # bounds of different types have none in common
    return Wrapped(other.wrapper, choose(one.value, other.value))


def _to_avro(_: str, stats: ColumnStats) -> Mapping[str, Any]:
    return {
        "type": COLUMN_STATS_TYPE,
        "ColumnStatsMetadata": {
            "fileName": stats.file_name,
            "columnName": stats.column,
            "minValue": _wrap(stats.low),
            "maxValue": _wrap(stats.high),
            "valueCount": stats.values,
            "nullCount": stats.nulls,
            "totalSize": stats.size,
            "totalUncompressedSize": stats.uncompressed_size,
            "isDeleted": stats.is_deleted,
        },
    }


def _from_avro(record: Mapping[str, Any], where: str) -> ColumnStats:
    raw = record.get("ColumnStatsMetadata")
    if record.get("type") != COLUMN_STATS_TYPE or not isinstance(raw, Mapping):
        raise CorruptTableError(f"{where} has a record of type {record.get('type')} among column stats", where=where)
    return ColumnStats(
        file_name=raw.get("fileName") or "",
        column=raw.get("columnName") or "",
        low=_unwrap(raw.get("minValue")),
        high=_unwrap(raw.get("maxValue")),
        values=raw.get("valueCount") or 0,
        nulls=raw.get("nullCount") or 0,
        size=raw.get("totalSize") or 0,
        uncompressed_size=raw.get("totalUncompressedSize") or 0,
        is_deleted=bool(raw.get("isDeleted")),
    )


def _wrap(bound: Wrapped | None) -> tuple[str, dict[str, Any]] | None:
    return None if bound is None else (_NAMESPACE + bound.wrapper, {"value": bound.value})


def _unwrap(raw: Any) -> Wrapped | None:
    if not isinstance(raw, tuple) or len(raw) != 2 or not isinstance(raw[1], Mapping):
        return None
    return Wrapped(str(raw[0]).rsplit(".", 1)[-1], raw[1].get("value"))


COLUMN_STATS: Codec[ColumnStats] = Codec(_to_avro, _from_avro, merge_stats)
