"""Leaving files out of a query by the statistics of the metadata table (Hudi: ColumnStatsIndexSupport)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS, ColumnStats, Wrapped
from spark_jobs.core.metadata_table.keys import column_id, column_stats_key, partition_id
from spark_jobs.core.metadata_table.scan import read_prefixes
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import FileSlice

_MOST_PREFIXES = 1000
_FOOTERS_AT_ONCE = 16
_STORED_SCALE = 15
_FIRST_SURROGATE = "\ud800"
"""From here on Java, which picked the bounds, orders text otherwise than Arrow, which compares with them."""

_ACCEPTED: Mapping[str, frozenset[str]] = {
    "bool": frozenset({"BooleanWrapper"}),
    "integer": frozenset({"IntWrapper", "LongWrapper"}),
    "text": frozenset({"StringWrapper"}),
    "date": frozenset({"DateWrapper", "IntWrapper"}),
    "timestamp": frozenset({"LongWrapper", "TimestampMicrosWrapper"}),
    "decimal": frozenset({"DecimalWrapper", "BytesWrapper"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSkipping:
    """The column statistics of a table, read when a query with a condition asks."""

    storage: Storage
    base_path: str
    timeline: ActiveTimeline
    clock: Clock

    def keep(self, slices: Sequence[FileSlice], condition: pc.Expression, schema: pa.Schema) -> list[FileSlice]:
        """The slices that may have rows of a condition.

        Only slices of a base file alone are left out: what logs make of a row, statistics of files don't tell. A file
        without statistics stays, and all stay where the metadata table is not readable.

        :param schema: the columns that the condition may speak of.
        """
        text = str(condition)
        columns = [field for field in schema if field.name in text and _kind_of(field.type)]
        judged = [one for one in slices if one.base_file is not None and not one.log_files]
        if not columns or not judged:
            return list(slices)
        try:
            stats = self._stats([field.name for field in columns], {one.partition for one in judged})
        except StorageError:
            return list(slices)
        hopeless = _without_match(judged, columns, stats, self._times(judged, columns), condition, schema)
        return [one for one in slices if (one.partition, one.file_id) not in hopeless]

    def _times(self, slices: Sequence[FileSlice], columns: Sequence[pa.Field[Any]]) -> Mapping[str, frozenset[str]]:
        """Those of the timestamp columns that the files of a write have in their present unit, by its instant.

        Bounds of timestamps are numbers of the unit that the file has, which its statistics don't tell, and Hudi lets a
        table's unit change. The files of one write share their schema: one footer of each is read.
        """
        times = [field for field in columns if _kind_of(field.type) == "timestamp"]
        of_write = {one.base_file.name.instant: one.base_file.relative_path for one in slices if one.base_file}
        if not times:
            return {}

        def alike(path: RelativePath) -> frozenset[str]:
            try:
                stored = open_base_file(self.storage, resolve(self.base_path, path)).schema_arrow
            except (StorageError, CorruptTableError):
                return frozenset()  # who reads the file tells what is wrong with it
            return frozenset(field.name for field in times if _unit_of(stored, field.name) == _unit(field.type))

        with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
            return dict(zip(of_write, pool.map(alike, of_write.values()), strict=True))

    def _stats(self, columns: Iterable[str], partitions: Iterable[str]) -> Mapping[str, ColumnStats]:
        table = MetadataTable.open(self.storage, self.base_path, self.timeline, self.clock)
        ids = [column_id(column) for column in columns]
        prefixes = [one + partition_id(partition) for one in ids for partition in partitions]
        wanted = prefixes if len(prefixes) <= _MOST_PREFIXES else ids
        return read_prefixes(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS, wanted)


def _without_match(
    slices: Sequence[FileSlice],
    columns: Sequence[pa.Field[Any]],
    stats: Mapping[str, ColumnStats],
    times: Mapping[str, frozenset[str]],
    condition: pc.Expression,
    schema: pa.Schema,
) -> frozenset[tuple[str, str]]:
    """(partition, file id) of those that can't have a row of the condition: Arrow judges by what is sure of each.

    :param times: the timestamp columns that may be judged, by the instant of the file.
    """
    format, files = ds.ParquetFileFormat(), LocalFileSystem()
    fragments = []
    for number, one in enumerate(slices):
        assert one.base_file is not None
        sure: pc.Expression = pc.scalar(True)
        known = times.get(one.base_file.name.instant, frozenset())
        for field in columns:
            if _kind_of(field.type) == "timestamp" and field.name not in known:
                continue
            found = stats.get(column_stats_key(field.name, one.partition, str(one.base_file.name)))
            bound = None if found is None else guarantee(field, found)
            sure = sure if bound is None else sure & bound
        fragments.append(format.make_fragment(str(number), files, partition_expression=sure))
    dataset = ds.FileSystemDataset(fragments, schema, format, files)
    kept = {int(fragment.path) for fragment in dataset.get_fragments(filter=condition)}
    return frozenset((one.partition, one.file_id) for number, one in enumerate(slices) if number not in kept)


def guarantee(field: pa.Field[Any], stats: ColumnStats) -> pc.Expression | None:
    """What is sure of every value of a column in a file; None where nothing is."""
    column = pc.field(field.name)
    if stats.is_deleted or stats.values <= 0:
        return None
    if stats.nulls >= stats.values:
        return column.is_null()
    low, high = _scalar(field.type, stats.low), _scalar(field.type, stats.high)
    if low is None or high is None:
        return None
    above, below = column >= low, column <= high
    if stats.nulls == 0:
        return above & below
    # Arrow takes this form apart, and not a null beside both bounds
    return (above | column.is_null()) & (below | column.is_null())


def _kind_of(kind: pa.DataType) -> str | None:
    """How values of a type are judged; None for those that are not: a NaN is within no bounds of floating point."""
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_date32(kind):
        return "date"
    if pa.types.is_timestamp(kind) and kind.unit in ("ms", "us"):
        return "timestamp"
    return "decimal" if pa.types.is_decimal(kind) else None


def _unit_of(stored: pa.Schema, name: str) -> str | None:
    place = stored.get_field_index(name)
    return None if place < 0 else _unit(stored.field(place).type)


def _unit(kind: Any) -> str | None:
    return kind.unit if isinstance(kind, pa.TimestampType) else None


def _scalar(kind: pa.DataType, bound: Wrapped | None) -> pa.Scalar[Any] | None:
    """A bound in the type of its column; None where that is not certain."""
    name = _kind_of(kind)
    if bound is None or name is None or bound.wrapper not in _ACCEPTED[name]:
        return None
    value = bound.value
    if name == "text" and (not isinstance(value, str) or any(letter >= _FIRST_SURROGATE for letter in value)):
        return None
    try:
        if name == "date":
            return pa.scalar(value, pa.int32()).cast(kind)
        if name == "timestamp":
            if bound.wrapper == "TimestampMicrosWrapper" and kind.unit != "us":
                return None
            return pa.scalar(value, pa.int64()).cast(kind)
        if name == "decimal":
            number = (
                Decimal(int.from_bytes(value, signed=True)).scaleb(-_STORED_SCALE)
                if isinstance(value, bytes)
                else value
            )
            return pa.scalar(_rescaled(number, kind.scale), kind)
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError, ArithmeticError, OverflowError):
        return None


def _rescaled(number: Decimal, scale: int) -> Decimal:
    """
    :raises ValueError: digits would be lost.
    """
    exact = number.quantize(Decimal(1).scaleb(-scale))
    if exact != number:
        raise ValueError(f"{number} has more than {scale} digits after the point")
    return exact
