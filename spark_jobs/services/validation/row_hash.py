"""A number for each row by its values, and one for a set of rows whatever their order: without a loop over rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_U64 = npt.NDArray[np.uint64]
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_NULL = np.uint64(0x5851F42D4C957F2D)


def hash_text(values: Any) -> _U64:
    """A 64-bit hash of each text or binary value of an array; nulls have one of their own."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    array = array.cast(pa.large_binary()) if not pa.types.is_large_binary(array.type) else array
    buffers: list[Any] = array.buffers()
    count = len(array)
    if count == 0:
        return np.empty(0, np.uint64)
    offsets = np.frombuffer(buffers[1], np.int64)[array.offset : array.offset + count + 1]
    data = np.frombuffer(buffers[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    result: _U64 = lengths.astype(np.uint64) * _PRIME + np.uint64(1)
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    words = np.ndarray((len(padded) - 7,), "<u8", padded.data, strides=(1,))
    left = np.flatnonzero(lengths > 0)
    place = 0
    while len(left):
        word = words[offsets[left] + place]
        short = np.minimum(lengths[left] - place, 8).astype(np.uint64)
        word = word & (np.uint64(0xFFFFFFFFFFFFFFFF) >> (np.uint64(64) - short * np.uint64(8)))
        result[left] = _mixed(result[left] ^ word)
        place += 8
        left = left[lengths[left] > place]
    result = _mixed(result)
    if array.null_count:
        result[np.asarray(array.is_null().to_numpy(zero_copy_only=False))] = _NULL
    return result


def _mixed(state: _U64) -> _U64:
    state = (state ^ (state >> np.uint64(30))) * _MIX
    return (state ^ (state >> np.uint64(27))) * _PRIME


def hash_values(array: Any) -> _U64:
    """A hash of each value of an array of any type; equal values of one type have equal ones."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [hash_values(array.field(place)) for place in range(kind.num_fields)]
        return _with_nulls(array, _together(parts, len(array)))
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _with_nulls(array, _of_lists(array))
    if pa.types.is_dictionary(kind):
        return hash_values(array.cast(kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return hash_text(array)
    if pa.types.is_fixed_size_binary(kind):
        return hash_text(array.cast(pa.binary()))
    return hash_text(array.cast(pa.string()))


def _of_lists(array: Any) -> _U64:
    """Of the elements in their order."""
    if pa.types.is_map(array.type):
        keys, items = hash_values(array.keys), hash_values(array.items)
        elements = _together([keys, items], len(keys))
    else:
        elements = hash_values(array.values)
    offsets = np.asarray(array.offsets.to_numpy(zero_copy_only=False)).astype(np.int64)
    lengths = np.diff(offsets)
    result: _U64 = lengths.astype(np.uint64) + np.uint64(3)
    place = 0
    left = np.flatnonzero(lengths > 0)
    while len(left):
        result[left] = _mixed(result[left] ^ elements[offsets[left] + place])
        place += 1
        left = left[lengths[left] > place]
    return _mixed(result)


def _with_nulls(array: Any, hashes: _U64) -> _U64:
    if array.null_count:
        hashes = hashes.copy()
        hashes[np.asarray(array.is_null().to_numpy(zero_copy_only=False))] = _NULL
    return hashes


def _together(parts: Iterable[_U64], count: int) -> _U64:
    result: _U64 = np.full(count, 7, np.uint64)
    for part in parts:
        result = _mixed(result ^ part)
    return result


def hash_rows(batch: pa.RecordBatch | pa.Table) -> _U64:
    """A hash of each row by all columns in their order."""
    return _together((hash_values(batch.column(place)) for place in range(batch.num_columns)), batch.num_rows)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of a multiset of rows: equal for equal ones, and different for different ones but for one in 2 to the 64th."""

    rows: int = 0
    sum: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, (self.sum + other.sum) & 0xFFFFFFFFFFFFFFFF)

    def with_rows(self, hashes: _U64) -> Fingerprint:
        return Fingerprint(self.rows + len(hashes), (self.sum + int(hashes.sum(dtype=np.uint64))) & 0xFFFFFFFFFFFFFFFF)
