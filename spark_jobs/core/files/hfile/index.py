"""The index of an HFile: nodes of one to several levels that lead from a row to the block it can be in.

Source: HBase's ``HFileBlockIndex``. A node's entry has the first row that can be in its child: the child's own first
one, or a shorter one above all rows of the child before it.
"""

from __future__ import annotations

import itertools
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.hfile.format import FIRST_ON_ROW_SUFFIX, KEY_SUFFIX, ROW_LENGTH

_PLACE = struct.Struct(">qi")
_INT = struct.Struct(">i")


class Place(NamedTuple):
    """A whole block in the file."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Node:
    """Children in ascending order of their first possible rows."""

    rows: list[bytes]
    places: list[Place]

    def child_of(self, row: bytes) -> int:
        """Which child can have the row; -1 for none."""
        return bisect_right(self.rows, row) - 1

    def children_within(self, low: bytes, high: bytes | None) -> range:
        """The children that can have rows from ``low``, inclusive, to ``high``, exclusive (None: no bound)."""
        end = len(self.rows) if high is None else bisect_left(self.rows, high)
        return range(max(self.child_of(low), 0), end)


def decode_root(payload: memoryview, count: int, *, keys_are_rows: bool = False) -> Node:
    """A root node, whose entries the trailer counts. Behind those of a deep index stands what is not needed here.

    :param keys_are_rows: of the meta index, whose keys are the names of the meta blocks.
    :raises CorruptTableError: it has fewer entries.
    """
    rows, places = [], []
    at = 0
    try:
        for _ in range(count):
            places.append(Place(*_PLACE.unpack_from(payload, at)))
            length, at = _read_vint(payload, at + _PLACE.size)
            key = payload[at : at + length]
            if length < 0 or len(key) != length:
                raise CorruptTableError(f"a key of {length} bytes leads out of an HFile's index")
            rows.append(bytes(key) if keys_are_rows else _row(key))
            at += length
    except (struct.error, IndexError):
        raise CorruptTableError(f"an HFile's index has {len(rows)} entries where the trailer says {count}") from None
    return Node(rows, places)


def decode_node(payload: memoryview) -> Node:
    """A leaf or a node between it and the root.

    :raises CorruptTableError: the bytes are no such node, or it has no entries.
    """
    try:
        count = _INT.unpack_from(payload)[0]
        if not 0 < count <= len(payload) // _INT.size:
            raise CorruptTableError(f"a node of an HFile's index says that it has {count} entries")
        offsets = struct.unpack_from(f">{count + 1}i", payload, _INT.size)
        begin = _INT.size * (count + 2)
        rows, places = [], []
        for start, end in itertools.pairwise(offsets):
            entry = payload[begin + start : begin + end]
            if start < 0 or end - start != len(entry):
                raise CorruptTableError("an entry leads out of its node of an HFile's index")
            places.append(Place(*_PLACE.unpack_from(entry)))
            rows.append(_row(entry[_PLACE.size :]))
    except struct.error:
        raise CorruptTableError("a node of an HFile's index is cut off") from None
    return Node(rows, places)


def encode_root(entries: list[tuple[Place, bytes]]) -> bytes:
    """A root node from blocks and their whole keys."""
    return b"".join(_PLACE.pack(*place) + _write_vint(len(key)) + key for place, key in entries)


def first_key(row: bytes) -> bytes:
    """The whole key of a cell."""
    return ROW_LENGTH.pack(len(row)) + row + KEY_SUFFIX


def key_between(last: bytes, first: bytes) -> bytes:
    """The index key of a block that begins with the row ``first``, after a block that ends with ``last``.

    As short as HBase makes it (``HFileWriterImpl.getMidpoint``): it is above ``last`` and not above ``first``.
    """
    if last == first:
        return first_key(first)
    same = next((place for place, (a, b) in enumerate(zip(last, first, strict=False)) if a != b), len(last))
    row = last[:same] + bytes([last[same] + 1]) if same < len(last) else last + b"\0"
    return ROW_LENGTH.pack(len(row)) + row + FIRST_ON_ROW_SUFFIX


def prefix_ranges(prefixes: Iterable[bytes]) -> list[tuple[bytes, bytes | None]]:
    """The ranges of rows that begin with one of some prefixes, ascending and disjoint; the upper bound is exclusive."""
    ranges: list[tuple[bytes, bytes | None]] = []
    for prefix in sorted(set(prefixes)):
        if ranges and prefix.startswith(ranges[-1][0]):
            continue
        stem = prefix.rstrip(b"\xff")
        ranges.append((prefix, stem[:-1] + bytes([stem[-1] + 1]) if stem else None))
    return ranges


def _row(key: memoryview) -> bytes:
    length = ROW_LENGTH.unpack_from(key)[0]
    row = bytes(key[ROW_LENGTH.size : ROW_LENGTH.size + length])
    if length < 0 or len(row) != length:
        raise CorruptTableError(f"a row of {length} bytes leads out of its key in an HFile's index")
    return row


def _read_vint(data: memoryview, at: int) -> tuple[int, int]:
    """Hadoop's VInt (``WritableUtils``): a byte from -112 to 127 as it is, else a count of bytes before the number."""
    first = data[at] - 256 if data[at] > 127 else data[at]
    if first >= -112:
        return first, at + 1
    size = -120 - first if first < -120 else -112 - first
    number = data[at + 1 : at + 1 + size]
    if len(number) < size:
        raise IndexError
    value = int.from_bytes(number, "big")
    return ~value if first < -120 else value, at + 1 + size


def _write_vint(value: int) -> bytes:
    """The same for a number that is not negative."""
    if value <= 127:
        return bytes([value])
    number = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(number)]) + number
