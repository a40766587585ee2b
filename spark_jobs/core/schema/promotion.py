"""Which type a column may have in place of its own: one rule for changes of a schema, one for what Avro reads."""

from __future__ import annotations

import re

from spark_jobs.core.schema.avro import bytes_of_precision
from spark_jobs.core.schema.internal import InternalType

_NUMBERS = {
    "int": ("long", "float", "double", "string"),
    "long": ("float", "double", "string"),
    "float": ("double", "string"),
    "double": ("string",),
}
_BY_CHANGE = {**_NUMBERS, "date": ("string",), "string": ("date",)}
_BY_AVRO = {**_NUMBERS, "string": ("binary",), "binary": ("string",)}
_TO_DECIMAL = (*_NUMBERS, "string")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def decimal_of(kind: InternalType) -> tuple[int, int] | None:
    """Precision and scale; None of other types."""
    match = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    return (int(match[1]), int(match[2])) if match is not None else None


def may_become(old: InternalType, new: InternalType) -> bool:
    """Whether Hudi lets a column of one type have the other from now on; types with parts never change as a whole.

    Hudi: SchemaChangeUtils.isTypeUpdateAllow.
    """
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    if old == new or new in _BY_CHANGE.get(old, ()):
        return True
    narrower, wider = decimal_of(old), decimal_of(new)
    if wider is None:
        return new == "string" and narrower is not None
    if narrower is None:
        return old in _TO_DECIMAL
    (precision, scale), (new_precision, new_scale) = narrower, wider
    return new_scale >= scale and new_precision - new_scale >= precision - scale


def is_readable_as(old: InternalType, new: InternalType, *, by_history: bool) -> bool:
    """Whether stored values of one type are read as the other (Hudi: AvroSchemaCompatibility); of types with parts,
    whose parts are asked one by one, the kind is to be the same.

    :param by_history: a schema history leads readers from one to the other, too.
    """
    if not isinstance(old, str) or not isinstance(new, str):
        return type(old) is type(new)
    if old == new or new in _BY_AVRO.get(old, ()) or (by_history and may_become(old, new)):
        return True
    narrower, wider = decimal_of(old), decimal_of(new)
    if narrower is None or wider is None:
        return False
    (precision, scale), (new_precision, new_scale) = narrower, wider
    same_size = bytes_of_precision(precision) == bytes_of_precision(new_precision)
    return same_size and scale == new_scale and new_precision >= precision
