"""INT96 columns as moments, as Spark reads them, by which Hudi's bootstrap has its schema (Spark:
ParquetToSparkSchemaConverter).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

_INT96 = "INT96"


def schema_with_moments(file: pq.ParquetFile) -> pa.Schema:
    """The Arrow schema of a file, in which the type of an INT96 column, at any depth, tells a moment.

    The footer says of INT96 neither that nor another; Arrow takes it for a time on any wall clock.
    """
    schema = file.schema_arrow
    physical = [file.schema.column(number).physical_type for number in range(len(file.schema))]
    if _INT96 not in physical:
        return schema
    leaves = iter(physical)
    return pa.schema([field.with_type(_with_moments(field.type, leaves)) for field in schema], metadata=schema.metadata)


def _with_moments(kind: pa.DataType, leaves: Iterator[str]) -> pa.DataType:
    """``leaves`` are the physical types of the columns below, in the order of the file."""
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_with_moments(field.type, leaves)) for field in kind])
    if isinstance(kind, pa.MapType):
        key = _with_moments(kind.key_type, leaves)
        item = kind.item_field
        return pa.map_(key, item.with_type(_with_moments(item.type, leaves)))
    if isinstance(kind, pa.ListType):
        value = kind.value_field
        return pa.list_(value.with_type(_with_moments(value.type, leaves)))
    if isinstance(kind, pa.LargeListType):
        value = kind.value_field
        return pa.large_list(value.with_type(_with_moments(value.type, leaves)))
    if isinstance(kind, pa.FixedSizeListType):
        value = kind.value_field
        return pa.list_(value.with_type(_with_moments(value.type, leaves)), kind.list_size)
    is_moment = next(leaves) == _INT96
    return pa.timestamp("us", kind.tz or "UTC") if is_moment and isinstance(kind, pa.TimestampType) else kind
