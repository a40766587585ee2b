"""Values of one type as values of another, as Hudi turns old values into a newer type (HoodieAvroUtils.rewriteRecord).

All of these take arrays of types without children and raise ``pa.ArrowInvalid`` where a value has no counterpart.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7
"""Java writes magnitudes of this range (inclusive, exclusive) without an exponent."""


def widen(array: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
    """``array`` in the type ``target``.

    Whole numbers round where a float can't hold them, times are cut to the coarser unit (towards the past; what a write
    would lose so, ``exact.py`` refuses), numbers become texts as Java writes them. A float keeps its value as a double,
    as in Avro (Hudi's vectorised reader goes by its decimal text instead, its other readers don't).
    """
    source = array.type
    if source.equals(target):
        return array
    if isinstance(source, pa.DictionaryType):
        return widen(pc.cast(array, source.value_type), target)
    if pa.types.is_string(target) or pa.types.is_large_string(target):
        return _to_text(array).cast(target)
    if pa.types.is_decimal(target) and (_is_text(source) or pa.types.is_floating(source)):
        return _of_distinct(array, target, lambda value: _decimal(value, target))
    if pa.types.is_integer(source) and pa.types.is_floating(target):
        return pc.cast(array, target, safe=False)
    if pa.types.is_decimal(target) and pa.types.is_integer(source):
        return pc.cast(pc.cast(array, pa.decimal128(20, 0)), target)
    if pa.types.is_date32(target) and _is_text(source):
        return _of_distinct(array, target, _date)
    if pa.types.is_timestamp(source) and pa.types.is_timestamp(target):
        return _timestamps(array, target)
    return pc.cast(array, target)


def java_text(value: float, *, single: bool = False) -> str:
    """A number as ``Double.toString`` (or ``Float.toString``) of Java writes it: 1.0, 1.0E10, 1.5E-5."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    number = np.float32(value) if single else np.float64(value)
    if _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, exponent = np.format_float_scientific(number, unique=True, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def _to_text(array: pa.Array[Any]) -> pa.Array[Any]:
    kind = array.type
    if pa.types.is_floating(kind):
        single = not pa.types.is_float64(kind)
        return _of_distinct(array, pa.string(), lambda value: java_text(value, single=single))
    if pa.types.is_fixed_size_binary(kind):
        return pc.cast(pc.cast(array, pa.binary()), pa.string())
    return pc.cast(array, pa.string())


def _of_distinct(array: pa.Array[Any], target: pa.DataType, change: Callable[[Any], Any]) -> pa.Array[Any]:
    """Each distinct value changed once."""
    encoded = array.dictionary_encode()
    changed = [None if value is None else change(value) for value in encoded.dictionary.to_pylist()]
    values: pa.Array[Any] = pa.array(changed, target)
    return values.take(encoded.indices)


def _decimal(value: Any, target: Any) -> Decimal:
    text = value.strip() if isinstance(value, str) else java_text(value)
    try:
        with localcontext(prec=max(target.precision, 1)):
            return Decimal(text).quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP)
    except InvalidOperation:
        raise pa.ArrowInvalid(f"{text!r} is no {target}") from None


def _date(value: str) -> dt.date:
    try:
        return dt.date.fromisoformat(value.strip())
    except ValueError:
        raise pa.ArrowInvalid(f"{value!r} is no date (yyyy-mm-dd)") from None


def _timestamps(array: pa.Array[Any], target: Any) -> pa.Array[Any]:
    source: Any = array.type
    order = ("s", "ms", "us", "ns")
    step = 1000 ** (order.index(source.unit) - order.index(target.unit))
    if step <= 1:
        return pc.cast(array, target)
    raw = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
    floored: pa.Array[Any] = pa.array(raw // int(step), pa.int64(), mask=np.asarray(pc.is_null(array)))
    return floored.cast(target)
