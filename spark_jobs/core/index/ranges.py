"""Which files can hold which keys, by the ranges of keys in their footers (Hudi: IndexFileFilter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.files.key_range import java_order

Keys: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"

_IN_ANY_ORDER = "\ue000"
"""From this character on Java's order of strings is another than that of UTF-8; ranges are written in either."""
_HIGH_CHARACTER = "[\\x{E000}-\\x{10FFFF}]"
"""Keys with one of these stand in another order as UTF-8 than as Java's strings; writers of ranges use either."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys of a file: ``low`` and ``high``, both inclusive; None for both where nothing is known.

    ``number`` is the caller's name for the file.
    """

    number: int
    low: str | None = None
    high: str | None = None


def candidates(keys: Keys, ranges: Sequence[KeyRange]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Every pair of a file and a key that it can hold: the files' numbers, and the places of the keys in ``keys``.

    A file without a range can hold every key; a key whose order depends on the encoding can be in every file.
    """
    texts: Any = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    texts = texts.cast(pa.large_string())
    known = [one for one in ranges if one.low is not None and one.high is not None]
    unknown = [one.number for one in ranges if one.low is None or one.high is None]
    count = len(texts)
    special = np.asarray(pc.match_substring_regex(texts, _HIGH_CHARACTER), dtype=np.bool_)
    files: list[npt.NDArray[np.int32]] = []
    places: list[npt.NDArray[np.int64]] = []

    def add(number: int, found: npt.NDArray[np.int64]) -> None:
        if len(found):
            files.append(np.full(len(found), number, dtype=np.int32))
            places.append(found)

    if known and count:
        lows, highs = pa.array([one.low for one in known]), pa.array([one.high for one in known])
        together = pa.concat_arrays([texts, lows.cast(pa.large_string()), highs.cast(pa.large_string())])
        ranks = np.asarray(pc.rank(together, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
        order = np.argsort(ranks[:count], kind="stable")
        order = order[~special[order]]
        ordered = ranks[order]
        begins = np.searchsorted(ordered, ranks[count : count + len(known)], side="left")
        ends = np.searchsorted(ordered, ranks[count + len(known) :], side="right")
        for one, begin, end in zip(known, begins, ends, strict=True):
            add(one.number, order[begin:end])
            add(one.number, np.flatnonzero(special))
    for number in unknown:
        add(number, np.arange(count, dtype=np.int64))
    if not files:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    return np.concatenate(files), np.concatenate(places)


def are_apart(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two ranges, low and high, have no key in common, in whatever order their writers compared."""
    if any(max(bound, default="") >= _IN_ANY_ORDER for bound in (*one, *other)):
        return False
    return java_order(one[1]) < java_order(other[0]) or java_order(other[1]) < java_order(one[0])


def overlapping(ranges: Sequence[KeyRange]) -> float:
    """The mean part of the files that a key can be in, of keys spread evenly over the bounds of the files.

    1.0 where every range covers all, or none is known; 1/n where n ranges lie side by side; 0.0 without files.
    """
    if not ranges:
        return 0.0
    known = [(one.low, one.high) for one in ranges if one.low is not None and one.high is not None]
    bounds = pa.array(sorted({bound for pair in known for bound in pair if bound is not None}), pa.string())
    if not len(bounds):
        return 1.0
    files, _ = candidates(bounds, ranges)
    return float(len(files)) / (len(bounds) * len(ranges))
