"""Keys in a table that is made once: sorted hashes, so that many keys take little memory (about 30 bytes each)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_U64 = npt.NDArray[np.uint64]
_I32 = npt.NDArray[np.int32]

_KEYS_AT_ONCE = 16 * 1024
"""Their state stays in the processor's cache."""
_WORD = 8
_MASKS: _U64 = np.array([(1 << (8 * count)) - 1 for count in range(_WORD + 1)], np.uint64)
"""Of the first so many bytes of a word."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_BITS_PER_KEY = 8


class KeyTable:
    """Finds the places of keys that differ.

    :param keys: no nulls.
    """

    def __init__(self, keys: pa.Array | pa.ChunkedArray) -> None:
        self._keys = keys
        hashes = hashes_of(keys)
        self._order = np.argsort(hashes).astype(np.int32)
        self._hashes = hashes[self._order]
        bits = max(10, (len(hashes) * _BITS_PER_KEY).bit_length())
        self._shift = np.uint64(64 - bits)
        self._present = np.zeros(1 << bits, bool)
        self._present[hashes >> self._shift] = True

    def find(self, keys: pa.Array) -> _I32:
        """For each of these its place in the table, or -1."""
        hashes = hashes_of(keys)
        places: _I32 = np.full(len(hashes), -1, np.int32)
        rows = np.flatnonzero(self._present[hashes >> self._shift])  # the others need no search
        at = np.searchsorted(self._hashes, hashes[rows])
        while len(rows):
            inside = at < len(self._hashes)
            rows, at = rows[inside], at[inside]
            hit = self._hashes[at] == hashes[rows]
            rows, at = rows[hit], at[hit]
            found = self._order[at]
            equal = pc.equal(keys.take(pa.array(rows)), self._keys.take(pa.array(found)))
            same = np.asarray(pc.fill_null(equal, False), bool)
            places[rows[same]] = found[same]
            rows, at = rows[~same], at[~same] + 1  # another key of that hash
        return places


def are_distinct(keys: pa.ChunkedArray) -> bool:
    """Whether no key is there twice."""
    hashes = np.sort(hashes_of(keys))
    if not (hashes[1:] == hashes[:-1]).any():
        return True
    return bool(pc.count_distinct(keys).as_py() == len(keys))


def hashes_of(keys: pa.Array | pa.ChunkedArray) -> _U64:
    """A 64-bit hash of each key, the same for equal ones. A null has that of the empty text."""
    if isinstance(keys, pa.ChunkedArray):
        return np.concatenate([np.zeros(0, np.uint64), *(hashes_of(chunk) for chunk in keys.chunks)])
    buffers: list[Any] = keys.buffers()
    hashes = np.empty(len(keys), np.uint64)
    if not len(keys):
        return hashes
    offsets = np.frombuffer(buffers[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(b"" if buffers[2] is None else buffers[2], np.uint8)
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        hashes[first : first + _KEYS_AT_ONCE] = _hashed(data, offsets[first : first + _KEYS_AT_ONCE + 1])
    return hashes


def _hashed(data: npt.NDArray[np.uint8], offsets: _I32) -> _U64:
    """The words of each key, each folded and times an odd number of its place, summed up; beyond a key's end they are
    zero, which adds nothing.
    """
    padded = np.zeros(int(offsets[-1]) - int(offsets[0]) + _WORD, np.uint8)
    padded[:-_WORD] = data[offsets[0] : offsets[-1]]
    words = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))  # one from each byte on
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    shortest, longest = int(lengths.min()), int(lengths.max())
    state: _U64 = lengths.astype(np.uint64)
    state *= _ODD
    factor = int(_ODD)
    for begin in range(0, longest, _WORD):
        if begin + _WORD <= shortest:
            word = words[starts + begin]
        elif shortest == longest:
            word = words[starts + begin] & _MASKS[longest - begin]
        else:
            word = words[np.minimum(starts + begin, len(words) - 1)] & _MASKS[np.clip(lengths - begin, 0, _WORD)]
        factor = factor * int(_ODD) % 2**64
        word ^= word >> _HALF
        word *= np.uint64(factor)
        state += word
    state ^= state >> _HALF
    state *= _ODD
    state ^= state >> _HALF
    return state
