"""What PySpark 3.5 and 4.0 lack of the functions of ``spark_api``, by what they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import DataType, DateType, StructType, TimestampNTZType, TimestampType

_TRIED_PER_TASK = 64
"""A number belongs to each of ``n`` tasks with odds of 1 in n: of 64 n numbers none is left without, but for luck that
nobody has; then there are more.
"""
_STRICT = "error_on_duplicated_field_names_in_struct"
"""PySpark 4.0."""
_SEED = 42
"""Of Spark's hashes of rows (HashPartitioning)."""


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    values = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    return spark.createDataFrame(values, from_arrow_schema(rows.schema))


def arrow_of(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([row.asDict() for row in frame.collect()], schema=schema)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Before PySpark 4.2 all times are in UTC unless one asks for another zone."""
    untyped: Any = to_arrow_schema
    strict = {_STRICT: True} if _STRICT in signature(to_arrow_schema).parameters else {}
    found: pa.Schema = untyped(schema, **strict)
    return found


def marks_of_tasks(tasks: int) -> Sequence[int]:
    """Numbers of which Spark's hash sends each to a task of its own."""
    found: dict[int, int] = {}
    first, count = 0, _TRIED_PER_TASK * tasks
    while len(found) < tasks:
        numbers = np.arange(first, first + count, dtype=np.int64)
        places, where = np.unique(spark_hash(numbers.astype(np.int32)).astype(np.int64) % tasks, return_index=True)
        for place, index in zip(places.tolist(), where.tolist(), strict=True):
            found.setdefault(place, int(numbers[index]))
        first += count
    return [found[task] for task in range(tasks)]


def spark_hash(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Spark's hash of a row of one 32-bit number (``org.apache.spark.unsafe.hash.Murmur3_x86_32.hashInt``)."""
    mixed = numbers.view(np.uint32) * np.uint32(0xCC9E2D51)
    mixed = _rotated(mixed, 15) * np.uint32(0x1B873593)
    found = _rotated(mixed ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    found ^= np.uint32(4)  # bytes of the number
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ (found >> np.uint32(shift))) * np.uint32(factor)
    found ^= found >> np.uint32(16)
    return found.view(np.int32)


def _rotated(values: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
    return (values << np.uint32(by)) | (values >> np.uint32(32 - by))


def texts_by_arrow(
    function: Callable[[pa.Array], pa.Array], column: Column, kind: DataType | None, wanted: pa.DataType | None
) -> Column:
    """By way of text: pandas would make other values of decimals, of times and of numbers beside nulls."""
    import pandas
    from pyspark.sql.pandas.functions import pandas_udf

    def by_texts(values: Any) -> Any:
        texts = pa.array(values.tolist(), pa.string())
        return function(_read(texts, wanted or pa.string())).cast(pa.string()).to_pandas()

    by_texts.__annotations__ = {"values": pandas.Series, "return": pandas.Series}
    made: Column = pandas_udf(by_texts, "string")(_text(column, kind))  # type: ignore[call-overload]
    return made


def _text(column: Column, kind: DataType | None) -> Column:
    if isinstance(kind, TimestampType):
        return F.unix_micros(column).cast("string")
    if isinstance(kind, TimestampNTZType):
        return F.unix_micros(F.to_utc_timestamp(column, F.current_timezone())).cast("string")
    if isinstance(kind, DateType):
        return F.unix_date(column).cast("string")
    return column.cast("string")


def _read(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return texts.cast(pa.int64()).cast(kind)
    if pa.types.is_date32(kind):
        return texts.cast(pa.int32()).cast(kind)
    return texts.cast(kind)


def is_utf8(text: Column) -> Column:
    """PySpark 3.5 reads what is no UTF-8 as other characters."""
    raw = text.cast("binary")
    return F.encode(F.decode(raw, "UTF-8"), "UTF-8") == raw
