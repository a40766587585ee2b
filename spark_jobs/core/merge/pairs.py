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
    above = pc.greater(one, other)
    if pa.types.is_floating(one.type):
        above = pc.or_(above, pc.and_not(pc.is_nan(one), pc.is_nan(other)))
    return np.asarray(pc.fill_null(above, False), bool)


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
