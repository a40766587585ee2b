"""Comparing and choosing between two columns, position by position; null where a column lacks is false."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.merge.protocol import Mask
from spark_jobs.core.schema.meta_fields import IS_DELETED


def greater(one: Any, other: Any) -> Mask:
    """Where the column ``one`` is the greater, as Java compares: NaN is above all; a null never is."""
    if pa.types.is_boolean(one.type):
        one, other = one.cast(pa.int8()), other.cast(pa.int8())
    elif pa.types.is_binary(one.type):
        one, other = with_signed_bytes(one), with_signed_bytes(other)
    above = pc.greater(one, other)
    if pa.types.is_floating(one.type):
        above = pc.or_(above, pc.and_not(pc.is_nan(one), pc.is_nan(other)))
    return np.asarray(pc.fill_null(above, False), bool)


def with_signed_bytes(column: Any) -> pa.ChunkedArray:
    """Binary values of such bytes that they have the order of Java's ByteBuffer, whose bytes have a sign."""
    chunks = [_with_flipped_signs(chunk) for chunk in _chunks(column)]
    return pa.chunked_array(chunks, column.type)


def _with_flipped_signs(array: Any) -> Any:
    valid, offsets, data = array.buffers()
    if data is None:
        return array
    flipped = pa.py_buffer(np.frombuffer(data, np.uint8) ^ np.uint8(0x80))
    return pa.Array.from_buffers(array.type, len(array), [valid, offsets, flipped], offset=array.offset)


def ordering_values(rows: pa.Table, path: str | None) -> pa.ChunkedArray | None:
    """A column, or by ``a.b`` a field of a struct (null where the struct is); None where there is none."""
    name, *fields = path.split(".") if path else ("",)
    if name not in rows.schema.names:
        return None
    found: pa.ChunkedArray = rows.column(name)
    for field in fields:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(field) < 0:
            return None
        found = pc.struct_field(found, field)
    return found


def marked(rows: pa.Table) -> Mask:
    """Where ``_hoodie_is_deleted`` is true; nowhere without such a column of booleans."""
    index = rows.schema.get_field_index(IS_DELETED)
    if index < 0 or not pa.types.is_boolean(rows.schema.field(index).type):
        return np.zeros(rows.num_rows, bool)
    return np.asarray(pc.fill_null(rows.column(index), False), bool)


def choose(left: Mask, one: Any, other: Any) -> Any:
    """``one`` where ``left`` is true, ``other`` elsewhere; columns of one type."""
    if not left.any():
        return other
    if left.all():
        return one
    if pa.types.is_nested(one.type) or pa.types.is_dictionary(one.type):
        count = len(left)
        chunks = [*_chunks(one), *_chunks(other)]
        wanted = np.arange(count)
        wanted[~left] += count
        return pa.chunked_array(chunks, one.type).take(pa.array(wanted))
    return pc.if_else(pa.array(left), one, other)


def all_of(rows: pa.Table) -> Mask:
    return np.ones(rows.num_rows, bool)


def none_of(rows: pa.Table) -> Mask:
    return np.zeros(rows.num_rows, bool)


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
