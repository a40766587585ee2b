"""Values as the text that Hudi puts into keys: Java's toString after Avro's logical conversion.

Hudi: HoodieAvroUtils.getNestedFieldValAsString.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.keygen.zones import local_zone

_PLAIN_FROM, _PLAIN_BELOW = -3, 7
"""Java writes floating-point numbers from 10^-3 to below 10^7 without an exponent."""


def java_text(column: pa.Array, name: str, *, consistent_timestamps: bool = False) -> pa.Array:
    """Strings, null where the value is.

    Timestamps are the number that Avro has for them, or with ``consistent_timestamps`` text of java.sql.Timestamp by
    the clock of this machine's zone, in whole milliseconds.

    :param name: of the column, for messages.
    :raises ConfigError: a type that has no such text.
    :raises BadRecordError: a text that is no UTF-8, which a Parquet file may hold.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        texts = java_text(column.dictionary, name, consistent_timestamps=consistent_timestamps)
        return texts.take(column.indices)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return utf8(column.cast(pa.string()), name)
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "true", "false")
    if pa.types.is_timestamp(kind):
        return _timestamp_text(column) if consistent_timestamps else column.cast(pa.int64()).cast(pa.string())
    if pa.types.is_floating(kind):
        single = pa.types.is_float32(kind)
        return _by_distinct(column, lambda value: _java_float(value, single=single))
    if pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_date32(kind):
        texts = column.cast(pa.string())
        return pc.if_else(
            pc.greater(column.cast(pa.int32()), _YEAR_9999), pc.binary_join_element_wise("+", texts, ""), texts
        )
    raise ConfigError(
        f"column {name} is {_shown(kind)} and can't be a key or partition column", todo="choose another", column=name
    )


def utf8(texts: pa.Array, name: str) -> pa.Array:
    """The same strings.

    :raises BadRecordError: one is no UTF-8.
    """
    try:
        return texts.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        raise BadRecordError(
            f"a text in column {name}, which makes keys or partition paths, is no UTF-8",
            todo="correct it in the source",
            column=name,
        ) from None


_YEAR_9999 = pa.scalar(2_932_896, pa.int32())
"""The last day of year 9999; java.time.LocalDate puts a sign before later years."""


def _shown(kind: pa.DataType) -> str:
    return "binary" if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind) else str(kind)


def _by_distinct(column: pa.Array, text_of: Callable[[float], str]) -> pa.Array:
    codes = column.dictionary_encode()
    texts = pa.array([text_of(value) for value in codes.dictionary.to_pylist()], pa.string())
    return texts.take(codes.indices)


def _java_float(value: float, *, single: bool) -> str:
    """Double.toString, or Float.toString with ``single``."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if str(value).startswith("-") else ""
    if value == 0:
        return f"{sign}0.0"
    shortest = str(np.float32(abs(value))) if single else repr(abs(value))
    _, digits, exponent = Decimal(shortest).as_tuple()
    if len(digits) == 1:  # Java gives two digits at least, those nearest to the number
        _, digits, exponent = Decimal(f"{abs(value):.1e}").as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    text = text.rstrip("0")
    if _PLAIN_FROM < point <= _PLAIN_BELOW:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{text}"
        return f"{sign}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    return f"{sign}{text[0]}.{text[1:] or '0'}E{point - 1}"


def whole_millis(column: pa.Array) -> npt.NDArray[np.int64]:
    """Timestamps as milliseconds, cut towards zero as Hudi does it; 0 for null."""
    numbers = np.asarray(column.cast(pa.int64()).fill_null(0))
    if column.type.unit == "s":
        return numbers * 1000
    per_milli = {"ms": 1, "us": 1000, "ns": 1_000_000}[column.type.unit]
    return cut(numbers, per_milli)


def cut(numbers: npt.NDArray[np.int64], divisor: int) -> npt.NDArray[np.int64]:
    """Quotients cut towards zero, as Java has them."""
    quotients: npt.NDArray[np.int64] = numbers // divisor
    towards_zero: npt.NDArray[np.bool_] = (numbers < 0) & (numbers % divisor != 0)
    return quotients + towards_zero


def _timestamp_text(column: pa.Array) -> pa.Array:
    """java.sql.Timestamp.toString."""
    millis = whole_millis(column)
    local = millis + local_zone().offsets_at(millis)
    text = pc.strftime(pa.array(local).cast(pa.timestamp("ms")), format="%Y-%m-%d %H:%M:%S")
    # of the fraction at least one digit stays
    short = pc.replace_substring_regex(text, pattern=r"(\.\d)(\d*?)0+$", replacement=r"\1\2")
    return pc.if_else(pc.is_valid(column), short, pa.scalar(None, pa.string()))
