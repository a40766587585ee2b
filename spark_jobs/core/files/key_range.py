"""The range of record keys in a footer, in the order of Java's String.compareTo."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_FIRST_BYTE_OF_FOUR = 0xEE
"""From this lead byte on, the order of UTF-8 bytes and Java's order of UTF-16 units can differ."""


def widened(known: tuple[str, str] | None, keys: pa.Array) -> tuple[str, str]:
    lowest, highest = java_min_max(keys)
    if known is None:
        return lowest, highest
    return min(known[0], lowest, key=java_order), max(known[1], highest, key=java_order)


def java_min_max(keys: pa.Array) -> tuple[str, str]:
    """Smallest and greatest key in the order of Java's String.compareTo."""
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
    if data.size and int(data.max()) >= _FIRST_BYTE_OF_FOUR:
        values = keys.to_pylist()
        return min(values, key=java_order), max(values, key=java_order)
    found = pc.min_max(keys).as_py()
    return found["min"], found["max"]


def java_order(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")
