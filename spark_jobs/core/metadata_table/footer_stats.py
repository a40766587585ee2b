"""Statistics of the columns of a base file, from its footer (Hudi: ParquetUtils.readColumnStatsFromMetadata)."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.base_file import column_chunks, open_base_file
from spark_jobs.core.metadata_table.column_stats import ColumnStats, Wrapped, merge_stats
from spark_jobs.core.storage import Storage

_STORED_SCALE = 15
_STORED_DIGITS = 30
_BY_PHYSICAL_TYPE = {
    "BOOLEAN": "BooleanWrapper",
    "INT32": "IntWrapper",
    "INT64": "LongWrapper",
    "FLOAT": "FloatWrapper",
    "DOUBLE": "DoubleWrapper",
    "BYTE_ARRAY": "BytesWrapper",
}


def read_footer_stats(storage: Storage, path: str, columns: Collection[str]) -> list[ColumnStats]:
    """One entry for each of the columns that the file has, row groups taken together.

    Nested columns, lists and maps have none.

    :raises CorruptTableError: the file is no Parquet file, or a damaged one.
    """
    name = path.rsplit("/", 1)[-1]
    found: dict[str, ColumnStats] = {}
    file = open_base_file(storage, path)
    try:
        for chunk in column_chunks(file, frozenset(columns), path):
            column = chunk.path_in_schema
            one = _of_chunk(name, column, chunk)
            known = found.get(column)
            found[column] = one if known is None else _together(known, one)
    except UnicodeDecodeError as error:
        raise CorruptTableError(f"base file {path} is damaged ({error})", path=path) from error
    finally:
        file.close(force=True)
    return list(found.values())


def _of_chunk(file_name: str, column: str, chunk: Any) -> ColumnStats:
    statistics = chunk.statistics
    low = high = None
    nulls = 0
    if statistics is not None:
        nulls = statistics.null_count or 0
        if statistics.has_min_max:
            low, high = (_wrapped(statistics, raw, value) for raw, value in _bounds(statistics))
    if low is None or high is None:
        low = high = None
    return ColumnStats(
        file_name=file_name,
        column=column,
        low=low,
        high=high,
        values=chunk.num_values,
        nulls=nulls,
        size=chunk.total_compressed_size,
        uncompressed_size=chunk.total_uncompressed_size,
    )


def _bounds(statistics: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (statistics.min_raw, statistics.min), (statistics.max_raw, statistics.max)


def _wrapped(statistics: Any, raw: Any, value: Any) -> Wrapped | None:
    """A bound as Hudi wraps it: dates, decimals and text by their meaning, all else by its physical type."""
    kind = statistics.logical_type.type
    if kind == "DATE":
        return Wrapped("DateWrapper", raw)
    if kind == "DECIMAL":
        return _decimal(value)
    if kind == "STRING":
        return Wrapped("StringWrapper", value)
    wrapper = _BY_PHYSICAL_TYPE.get(statistics.physical_type)
    return None if wrapper is None else Wrapped(wrapper, raw)


def _decimal(value: object) -> Wrapped | None:
    """At the one scale that the wrapper has; None where it has no room."""
    if not isinstance(value, Decimal):
        return None
    _, digits, exponent = value.as_tuple()
    if (
        not isinstance(exponent, int)
        or exponent < -_STORED_SCALE
        or len(digits) + exponent + _STORED_SCALE > _STORED_DIGITS
    ):
        return None
    return Wrapped("DecimalWrapper", value)


def _together(one: ColumnStats, other: ColumnStats) -> ColumnStats:
    """Two row groups; a bound that one of them lacks, although it has values, is unknown for both."""
    merged = merge_stats(one, other)
    if any(each.low is None and each.nulls < each.values for each in (one, other)):
        return ColumnStats(
            file_name=merged.file_name,
            column=merged.column,
            values=merged.values,
            nulls=merged.nulls,
            size=merged.size,
            uncompressed_size=merged.uncompressed_size,
        )
    return merged
