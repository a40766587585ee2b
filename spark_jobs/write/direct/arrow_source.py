"""Rows in the memory of this process as the source of a write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.create import require_storable
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.write.direct.source import ROWS_PER_BATCH, RowRange, even_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowSource:
    """The rows of ``data``, numbered from 0, in ``schema``: types as tables have them. Pickles with its rows."""

    data: pa.Table
    schema: pa.Schema

    @staticmethod
    def of(data: Any, name: str) -> ArrowSource:
        """
        :param data: a table, batch or reader of Arrow's, or anything with ``__arrow_c_stream__``. A reader is read to
            its end.
        :param name: of the table that is written to. Meta columns are left out.
        :raises ConfigError: it is none of these, has a column twice, or one of a type that no table has.
        """
        rows = _table_of(data)
        require_storable(pa.struct(list(rows.schema)), "the data")
        rows = _without_views(rows.select([one for one in rows.column_names if one not in META_FIELDS]))
        nullable = pa.schema([field.with_nullable(True).remove_metadata() for field in rows.schema])
        stored = arrow_schema_of(avro_schema_of(nullable, name)) if len(nullable) else nullable
        return ArrowSource(data=rows, schema=stored)

    @property
    def rows(self) -> int:
        return int(self.data.num_rows)

    @property
    def content_size(self) -> int:
        """Bytes of the values in memory."""
        return int(self.data.nbytes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The same, in one piece."""
        return (self.content_size,)

    def shares(self, count: int) -> list[RowRange]:
        """The rows cut into ``count`` ranges of equal length, but for one row; fewer where there are fewer rows."""
        return even_shares(self.rows, count)

    def aligned_shares(self, count: int) -> list[RowRange]:
        """The same: any row is as near as any other."""
        return even_shares(self.rows, count)

    def read(self, share: RowRange, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a range in batches; of the named columns in their order, else of all."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        part = self.data.slice(share.start, share.stop - share.start).select(schema.names)
        for batch in part.to_batches(max_chunksize=ROWS_PER_BATCH):
            yield conform(batch, schema)

    def take(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        """The rows of these numbers, which ascend and differ."""
        return conform(self.data.take(pa.array(rows)), self.schema)


def _table_of(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data).read_all()
        except pa.ArrowInvalid as error:
            if "non-struct" not in str(error):  # of a stream of one column's values
                raise
    kind = type(data)
    raise ConfigError(
        f"data of type {kind.__module__}.{kind.__qualname__} is no Arrow table",
        todo="give a table or reader of Arrow's, or what has __arrow_c_stream__ (Polars, DuckDB, pandas 2.2)",
    )


def _without_views(rows: pa.Table) -> pa.Table:
    """Most of Arrow's functions don't take texts as views, which Polars gives."""
    columns = [_cast(rows.column(field.name), _without_view(field.type)) for field in rows.schema]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _cast(column: pa.ChunkedArray[Any], wanted: Any) -> pa.ChunkedArray[Any]:
    if column.type.equals(wanted):
        return column
    if "list_view<" in str(column.type):  # of which Arrow's own cast makes lists with wrong offsets where one is null
        return pa.chunked_array([pa.array(chunk.to_pylist(), wanted) for chunk in column.chunks], wanted)
    return column.cast(wanted)


def _without_view(kind: Any) -> Any:
    if kind.equals(pa.string_view()):
        return pa.large_string()
    if kind.equals(pa.binary_view()):
        return pa.large_binary()
    if isinstance(kind, pa.DictionaryType):
        return pa.dictionary(kind.index_type, _without_view(kind.value_type), ordered=kind.ordered)
    if isinstance(kind, pa.MapType):
        return pa.map_(_without_view(kind.key_type), _without_view(kind.item_type), keys_sorted=kind.keys_sorted)
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_without_view(field.type)) for field in kind])
    if isinstance(kind, pa.FixedSizeListType):
        return pa.list_(kind.value_field.with_type(_without_view(kind.value_type)), kind.list_size)
    if isinstance(kind, pa.LargeListType | pa.LargeListViewType | pa.ListViewType):
        return pa.large_list(kind.value_field.with_type(_without_view(kind.value_type)))
    if isinstance(kind, pa.ListType):
        return pa.list_(kind.value_field.with_type(_without_view(kind.value_type)))
    return kind
