"""Files of several file groups, encoded side by side: compression lets other threads run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_AT_ONCE = 4


def encoded(pieces: Sequence[T], encode: Callable[[T], R]) -> Iterator[tuple[T, R]]:
    """Each piece with what ``encode`` made of it, in order; a few of them are in memory at a time."""
    if len(pieces) == 1:
        yield pieces[0], encode(pieces[0])
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for begin in range(0, len(pieces), _AT_ONCE):
            some = pieces[begin : begin + _AT_ONCE]
            yield from zip(some, pool.map(encode, some), strict=True)
