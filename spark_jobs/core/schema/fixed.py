"""Types of a fixed size, which Arrow keeps whole where a value is null."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import UnsupportedTableError

_MOST_BYTES = 1 << 30


def fixed_bytes(kinds: Iterable[pa.DataType]) -> int:
    """The bytes of fixed size in a row of null columns. What is in lists counts nothing: a null list has no items."""
    found = 0
    for kind in kinds:
        if pa.types.is_fixed_size_binary(kind):
            found += kind.byte_width
        elif pa.types.is_struct(kind):
            found += fixed_bytes(field.type for field in kind)
    return found


def nulls_of(count: int, kind: pa.DataType) -> pa.Array[Any]:
    """So many nulls of a type that a schema says.

    :raises UnsupportedTableError: they would take more than a gigabyte of values of a fixed size.
    """
    if count * fixed_bytes([kind]) > _MOST_BYTES:
        raise UnsupportedTableError(f"{count} null values of the type {kind} take more than {_MOST_BYTES} bytes")
    return pa.nulls(count, kind)
