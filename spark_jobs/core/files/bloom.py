"""Hudi's bloom filters SIMPLE and DYNAMIC_V0, hashed over whole Arrow arrays.

Source: ``org.apache.hudi.common.bloom`` (InternalBloomFilter, InternalDynamicBloomFilter, MurmurHash). The filter of
a base file stands base64-encoded in its footer; keys are record keys, hashed as UTF-8.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError, CorruptTableError, HudiError, UnsupportedTableError

SIMPLE = "SIMPLE"
DYNAMIC_V0 = "DYNAMIC_V0"

_VERSION = -1
_MURMUR = 1
_HEAD = struct.Struct(">iibi")
_DYNAMIC_BODY = struct.Struct(">iii")
_M = np.uint32(0x5BD1E995)
_CHUNK = 16384
"""Keys hashed at a time: their state stays in the processor's cache."""

_U32 = npt.NDArray[np.uint32]
_I64 = npt.NDArray[np.int64]
_Bits = npt.NDArray[np.bool_]
_Keys: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


class BloomFilter:
    """A set of record keys without false negatives. Not thread-safe; pickles by value.

    ``rows`` holds one bool per bit, of shape (number of simple filters, bits of one). A SIMPLE filter has one row. A
    DYNAMIC_V0 filter opens a further row whenever the newest holds ``entries_per_row`` keys, until all rows
    together may hold ``max_entries``; later keys go round over the rows, which then hold more than they were made for.
    """

    def __init__(
        self, *, kind: str, hashes: int, rows: _Bits, entries_per_row: int, max_entries: int, entries_in_row: int
    ) -> None:
        self.kind = kind
        self._hashes = hashes
        self._rows = rows
        self._entries_per_row = entries_per_row
        self._max_entries = max_entries
        self._entries_in_row = entries_in_row
        self._turn: int | None = None

    @classmethod
    def create(
        cls, num_entries: int = 60000, fpp: float = 1e-9, kind: str = DYNAMIC_V0, max_entries: int = 100000
    ) -> BloomFilter:
        """An empty filter, sized so that one row with ``num_entries`` keys has false positives at the rate ``fpp``."""
        _check_kind(kind)
        if num_entries < 1 or not 0 < fpp < 1:
            raise HudiError(
                f"a bloom filter can't have {num_entries} entries and a false positive rate of {fpp}",
                todo="give at least 1 entry and a rate between 0 and 1",
            )
        bits = math.ceil(num_entries * (-math.log(fpp) / (math.log(2) ** 2)))
        return cls(
            kind=kind,
            hashes=math.ceil(math.log(2) * bits / num_entries),
            rows=np.zeros((1, bits), dtype=np.bool_),
            entries_per_row=num_entries,
            max_entries=max_entries,
            entries_in_row=0,
        )

    @classmethod
    def from_base64(cls, text: str | bytes, kind: str = DYNAMIC_V0, *, max_entries: int = 100000) -> BloomFilter:
        """Read the text of a footer; ``max_entries`` is not in it and bounds how a DYNAMIC_V0 filter grows from here.

        :raises CorruptTableError: the text is not such a filter.
        :raises UnsupportedTableError: it hashes with Jenkins (by very old releases), or ``kind`` is unknown.
        """
        _check_kind(kind)
        try:
            data = base64.b64decode(text, validate=True)
            if kind == SIMPLE:
                hashes, bits, at = _read_head(data, 0)
                row, at = _read_bits(data, at, bits)
                rows, per_row, in_row = row.reshape(1, bits), 0, 0
            else:
                hashes, bits, at = _read_head(data, 0)
                per_row, in_row, count = _DYNAMIC_BODY.unpack_from(data, at)
                at += _DYNAMIC_BODY.size
                if count < 1 or count * (_HEAD.size + bits // 8) > len(data):
                    raise ValueError(f"{count} rows")
                rows = np.empty((count, bits), dtype=np.bool_)
                for index in range(count):
                    row_hashes, row_bits, at = _read_head(data, at)
                    if (row_hashes, row_bits) != (hashes, bits):
                        raise ValueError(f"row {index} differs from the head")
                    rows[index], at = _read_bits(data, at, bits)
            if at != len(data):
                raise ValueError(f"{len(data) - at} bytes behind its end")
        except (binascii.Error, struct.error, ValueError) as error:
            raise CorruptTableError(f"a bloom filter of type {kind} is not readable ({error})") from error
        return cls(
            kind=kind, hashes=hashes, rows=rows, entries_per_row=per_row, max_entries=max_entries, entries_in_row=in_row
        )

    def to_base64(self) -> str:
        """The text that goes into a footer."""
        bits = self._rows.shape[1]
        head = _HEAD.pack(_VERSION, self._hashes, _MURMUR, bits)
        simple = [head + np.packbits(row, bitorder="little").tobytes() for row in self._rows]
        if self.kind == SIMPLE:
            return base64.b64encode(simple[0]).decode("ascii")
        body = _DYNAMIC_BODY.pack(self._entries_per_row, self._entries_in_row, len(self._rows))
        return base64.b64encode(head + body + b"".join(simple)).decode("ascii")

    def add(self, keys: _Keys) -> None:
        """Add all keys, in their order (which decides their rows).

        :raises BadRecordError: a key is null or empty; nothing is added then.
        """
        strings = _keys_of(keys)
        row_of_key = self._assign_rows(len(strings)) if self.kind == DYNAMIC_V0 and len(strings) else None
        bits = self._rows.shape[1]
        flat = self._rows.reshape(-1)
        for group in _groups(strings):
            start = None if row_of_key is None else row_of_key[group.index] * bits
            seed: _U32 | int = 0
            for _ in range(self._hashes):
                seed = group.hash(seed)
                position = _positions(seed, bits)
                flat[position if start is None else position + start] = True

    def contains(self, keys: _Keys) -> npt.NDArray[np.bool_]:
        """For every key False if it was never added, else True (or, at the rate of false positives, True all the same).

        :raises BadRecordError: a key is null or empty.
        """
        strings = _keys_of(keys)
        found = np.zeros(len(strings), dtype=np.bool_)
        bits = self._rows.shape[1]
        for group in _groups(strings):
            seed: _U32 | int = 0
            alive: _Bits = np.ones((len(self._rows), len(group.index)), dtype=np.bool_)
            for _ in range(self._hashes):
                seed = group.hash(seed)
                alive &= self._rows[:, _positions(seed, bits)]
                possible: _Bits = alive[0] if len(alive) == 1 else np.any(alive, axis=0)
                if np.count_nonzero(possible) * 2 < len(possible):
                    group, seed, alive = group.only(possible), seed[possible], alive[:, possible]
                    if not len(group.index):
                        break
            found[group.index] = alive.any(axis=0)
        return found

    def _assign_rows(self, count: int) -> _I64 | None:
        """The row of each of the next ``count`` keys, growing the filter; None stands for row 0 throughout.

        The arithmetic of InternalDynamicBloomFilter.getActiveStandardBF, by segments of keys that share a row.
        """
        parts: list[_I64] = []
        left = count
        while left and self._turn is None:
            rows = len(self._rows)
            room = min(left, self._entries_per_row - self._entries_in_row)
            if room > 0:
                parts.append(np.full(room, rows - 1, dtype=np.int64))
                self._entries_in_row += room
                left -= room
            elif rows * self._entries_per_row < self._max_entries:
                self._rows = np.concatenate([self._rows, np.zeros((1, self._rows.shape[1]), dtype=np.bool_)])
                self._entries_in_row = 0
            else:  # the first key beyond the bound goes to row 0, and so does the next, which starts the round
                parts.append(np.zeros(1, dtype=np.int64))
                self._entries_in_row += 1
                left -= 1
                self._turn = 0
        if left and self._turn is not None:
            parts.append((self._turn + np.arange(left, dtype=np.int64)) % len(self._rows))
            self._turn += left
            self._entries_in_row += left
        return None if len(self._rows) == 1 else np.concatenate(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Keys of one length, readied for any number of hashes.

    ``index``: their places in the input. ``words``: (whole words of a key, keys), mixed already, as that does not
    depend on the seed. ``tail``: what the bytes after the last whole word contribute; None when there are none.
    """

    index: _I64
    length: int
    words: _U32
    tail: _U32 | None

    def hash(self, seed: _U32 | int) -> _U32:
        """Murmur2 of every key with its own seed."""
        state = np.full(len(self.index), self.length, dtype=np.uint32)
        state ^= np.uint32(seed) if isinstance(seed, int) else seed
        for word in self.words:
            state *= _M
            state ^= word
        if self.tail is not None:
            state ^= self.tail
            state *= _M
        state ^= state >> np.uint32(13)
        state *= _M
        state ^= state >> np.uint32(15)
        return state

    def only(self, mask: _Bits) -> _Group:
        tail = None if self.tail is None else self.tail[mask]
        return _Group(index=self.index[mask], length=self.length, words=self.words[:, mask], tail=tail)


def _groups(strings: pa.LargeBinaryArray) -> Iterator[_Group]:
    """The keys by length, at most ``_CHUNK`` at a time."""
    if not len(strings):
        return
    buffers: list[Any] = strings.buffers()
    offsets = np.frombuffer(buffers[1], dtype=np.int64)[strings.offset : strings.offset + len(strings) + 1]
    data = np.frombuffer(buffers[2], dtype=np.uint8)
    lengths = np.diff(offsets)
    by_length = np.argsort(lengths, kind="stable")
    ends = np.flatnonzero(np.diff(lengths[by_length], append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        length = int(lengths[by_length[begin]])
        for at in range(begin, end, _CHUNK):
            index = by_length[at : min(at + _CHUNK, end)]
            yield _ready(index, length, data, offsets[index])
        begin = end


def _ready(index: _I64, length: int, data: npt.NDArray[np.uint8], starts: _I64) -> _Group:
    whole = length // 4
    unaligned = np.ndarray(shape=(max(len(data) - 3, 0),), dtype="<u4", buffer=data, strides=(1,))
    words = np.empty((whole, len(index)), dtype=np.uint32)
    for number in range(whole):
        words[number] = unaligned[starts + 4 * number]
    words *= _M
    words ^= words >> np.uint32(24)
    words *= _M
    left = length % 4
    if not left:
        return _Group(index=index, length=length, words=words, tail=None)
    # Java's bytes are signed: a tail byte of 0x80 or more fills all higher bits with ones.
    tail: npt.NDArray[np.int32] = np.zeros(len(index), dtype=np.int32)
    for back in range(1, left + 1):
        tail ^= data[starts + (length - back)].view(np.int8).astype(np.int32) << np.int32(8 * (back - 1))
    return _Group(index=index, length=length, words=words, tail=tail.view(np.uint32))


def _positions(hashes: _U32, bits: int) -> _I64:
    """Java's ``abs(hash % bits)`` with a signed remainder: the remainder of the magnitude."""
    magnitude: _U32 = np.abs(hashes.view(np.int32)).view(np.uint32)
    return (magnitude % np.uint32(bits)).astype(np.int64)


def _keys_of(keys: _Keys) -> pa.LargeBinaryArray:
    array: Any = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    strings: Any = array.cast(pa.large_string()).cast(pa.large_binary())
    if strings.null_count:
        raise BadRecordError(f"{strings.null_count} record keys are null", todo="give every row a key")
    if len(strings) and pc.min(pc.binary_length(strings)).as_py() == 0:
        raise BadRecordError("a record key is empty", todo="give every row a key")
    result: pa.LargeBinaryArray = strings
    return result


def _check_kind(kind: str) -> None:
    if kind not in (SIMPLE, DYNAMIC_V0):
        raise UnsupportedTableError(f"no bloom filter type {kind!r}", todo=f"use {SIMPLE} or {DYNAMIC_V0}")


def _read_head(data: bytes, at: int) -> tuple[int, int, int]:
    """Number of hashes, bits, and the place after the head."""
    version, hashes, hash_type, bits = _HEAD.unpack_from(data, at)
    if version > 0 or (version == _VERSION and hash_type == 0):
        raise UnsupportedTableError(
            "a bloom filter is hashed by Jenkins, which only very old Hudi releases wrote",
            todo="rewrite the file (by clustering) with a newer Hudi",
        )
    if version != _VERSION or hash_type != _MURMUR or hashes < 1 or bits < 1:
        raise ValueError(f"head {version}, {hashes}, {hash_type}, {bits}")
    return hashes, bits, at + _HEAD.size


def _read_bits(data: bytes, at: int, bits: int) -> tuple[_Bits, int]:
    size = -(-bits // 8)
    packed = np.frombuffer(data, dtype=np.uint8, count=size, offset=at)
    return np.unpackbits(packed, count=bits, bitorder="little").view(np.bool_), at + size
