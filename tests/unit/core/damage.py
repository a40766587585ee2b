"""Damage to the bytes of files, and a watch over what reading them takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from hypothesis import strategies as st

NUMBERS = tuple(map(bytes.fromhex, ("ffffffff", "7fffffff", "80000000", "ffffff7f", "00" * 8, "ff" * 9 + "01")))
"""Lengths and counts that are not so, in either order of bytes and as variable-length integers."""


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """The bytes cut, or with some of them changed, added, taken out or doubled."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        place = draw(st.integers(0, len(data) - 1))
        length = draw(st.integers(1, 64))
        form = draw(st.sampled_from(("cut", "byte", "bytes", "number", "take out", "double")))
        if form == "cut":
            del data[place:]
        elif form == "byte":
            data[place] ^= draw(st.integers(1, 255))
        elif form == "bytes":
            data[place : place + length] = draw(st.binary(max_size=length))
        elif form == "number":
            number = draw(st.sampled_from(NUMBERS))
            data[place : place + len(number)] = number
        elif form == "take out":
            del data[place : place + length]
        else:
            data[place:place] = data[place : place + length]
    return bytes(data)


_POOLS: list[pa.MemoryPool] = []
"""Kept: what outlives its watch gives its memory back to the pool that it came from."""


@contextmanager
def bounded_memory(limit: int) -> Iterator[None]:
    """What Python, numpy and Arrow hold inside at their most, and that it stays below ``limit`` bytes."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert peak <= limit, f"{peak} bytes were held, {limit} are granted"
