"""The payload of data blocks: cells to and from Arrow arrays of rows and values.

A cell is int key length, int value length, key, value, and its MVCC number as a Hadoop vlong (0, one byte, in what Hudi
writes). Its key is the row with a short length in front, and a suffix that is the same in all of Hudi's cells. The row
is what Hudi calls the key.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.format import KEY_SUFFIX, MAX_ROW_BYTES

_LENGTHS = struct.Struct(">II")
_ROW_AT = 8 + 2
_KEY_OVERHEAD = 2 + len(KEY_SUFFIX)
CELL_OVERHEAD = 8 + _KEY_OVERHEAD + 1
"""Bytes of a cell besides its row and its value."""
_PUT = 4
_FEW_BYTES = 16 << 10
"""Of a block whose cells are found one by one as fast."""
_PIECE_BYTES = 128 << 10
_MOST_ROW_LENGTHS = 40
"""Of the rows in a block whose cells are found at once."""

_I64 = npt.NDArray[np.int64]
_U8 = npt.NDArray[np.uint8]


class Cells(NamedTuple):
    """Keys in ascending order (as unsigned bytes) and their values, both ``large_binary``."""

    keys: pa.Array[Any]
    values: pa.Array[Any]

    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        return zip(self.keys.to_pylist(), self.values.to_pylist(), strict=True)


NO_CELLS = Cells(pa.array([], pa.large_binary()), pa.array([], pa.large_binary()))


def decode_cells(payload: memoryview, *, has_mvcc: bool, mvcc_varies: bool) -> Cells:
    """All cells of a data block; see :meth:`CellBlock.of`."""
    return CellBlock.of(payload, has_mvcc=has_mvcc, mvcc_varies=mvcc_varies).cells()


@dataclass(frozen=True, slots=True)
class CellBlock:
    """Where the rows and values of the cells stand in the raw bytes of a data block."""

    payload: memoryview
    rows: _I64
    row_lengths: _I64
    values: _I64
    value_lengths: _I64

    @staticmethod
    def of(payload: memoryview, *, has_mvcc: bool, mvcc_varies: bool) -> CellBlock:
        """
        :param has_mvcc: whether a cell ends with its MVCC number; ``mvcc_varies``: whether that can be other than 0.
        :raises CorruptTableError: the bytes are no cells.
        :raises UnsupportedTableError: a cell that deletes.
        """
        found = None
        if not mvcc_varies and len(payload) >= _FEW_BYTES:
            found = _found_by_suffix(payload, has_mvcc)
        return _found_one_by_one(payload, has_mvcc, mvcc_varies) if found is None else found

    def cells(self, numbers: _I64 | None = None) -> Cells:
        """All cells, or those of some numbers, in the order of these."""
        rows, row_lengths, values, value_lengths = self.rows, self.row_lengths, self.values, self.value_lengths
        if numbers is not None:
            rows, row_lengths = rows[numbers], row_lengths[numbers]
            values, value_lengths = values[numbers], value_lengths[numbers]
        if len(rows) == 0:
            return NO_CELLS
        # the bytes of a block as one array, cut at these places; every fourth piece is a row, or a value
        cuts = np.empty((len(rows), 4), dtype=np.int64)
        cuts[:, 0], cuts[:, 1], cuts[:, 2], cuts[:, 3] = rows, rows + row_lengths, values, values + value_lengths
        offsets = np.concatenate(([0], cuts.ravel()))
        pieces = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(self.payload)]
        )
        every = np.arange(len(rows), dtype=np.int64) * 4
        return Cells(pieces.take(pa.array(every + 1)), pieces.take(pa.array(every + 3)))

    def lookup(self, wanted: list[bytes]) -> Cells:
        """The cells with one of these keys, which ascend.

        Of the other cells no more is looked at than the eight bytes behind what all keys of the block begin with.
        """
        if len(self.rows) == 0:
            return NO_CELLS
        first, last = self._row(0), self._row(-1)
        asked = pa.array(wanted[bisect_left(wanted, first) : bisect_right(wanted, last)], pa.large_binary())
        if len(asked) == 0:
            return NO_CELLS
        differ = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
        shared = next(differ, min(len(first), len(last)))  # bytes at the beginning of all keys, as of these two
        words = _words(self.payload, self.rows + shared, self.row_lengths - shared)
        if (words[1:] < words[:-1]).any():
            raise CorruptTableError("the keys in a block of an HFile do not ascend")
        _, offsets, joined = asked.buffers()
        bounds = np.frombuffer(offsets, np.int64, len(asked) + 1)
        ask = np.unique(_words(memoryview(joined or b""), bounds[:-1] + shared, np.diff(bounds) - shared))
        low, high = np.searchsorted(words, ask, "left"), np.searchsorted(words, ask, "right")
        counts = high - low
        numbers = np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        likely = self.cells(numbers)
        found = pc.is_in(likely.keys, value_set=asked)
        return Cells(likely.keys.filter(found), likely.values.filter(found))

    def _row(self, number: int) -> bytes:
        begin = int(self.rows[number])
        return bytes(self.payload[begin : begin + int(self.row_lengths[number])])


def encode_cells(cells: Cells, after: bytes | None = None) -> pa.Array[Any]:
    """Each cell as it stands in a block, one after the other in the buffer of the array.

    :param after: the key of the cell before these.

    :raises BadRecordError: a key too long for an HFile, or keys that do not ascend.
    """
    keys, values = cells
    row_lengths = pc.binary_length(keys).to_numpy(zero_copy_only=False).astype(np.int64)
    value_lengths = pc.binary_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    if len(keys) and int(row_lengths.max()) > MAX_ROW_BYTES:
        raise BadRecordError(f"a key of {int(row_lengths.max())} bytes is longer than an HFile's {MAX_ROW_BYTES}")
    ascend = pc.all(pc.less_equal(keys.slice(0, max(len(keys) - 1, 0)), keys.slice(1)), min_count=0).as_py()
    if not ascend or (after is not None and len(keys) and keys[0].as_py() < after):
        raise BadRecordError("the keys for an HFile do not ascend", todo="sort them as unsigned bytes")
    heads = np.empty(len(keys), dtype=[("key", ">i4"), ("value", ">i4"), ("row", ">i2")])
    heads["key"], heads["value"], heads["row"] = row_lengths + _KEY_OVERHEAD, value_lengths, row_lengths
    head = pa.FixedSizeBinaryArray.from_buffers(pa.binary(_ROW_AT), len(keys), [None, pa.py_buffer(heads.tobytes())])
    kind = pa.large_binary()
    suffix, mvcc, nothing = (pa.scalar(value, kind) for value in (KEY_SUFFIX, b"\0", b""))
    return pc.binary_join_element_wise(head.cast(pa.binary()).cast(kind), keys, suffix, values, mvcc, nothing)


def _found_one_by_one(payload: memoryview, has_mvcc: bool, mvcc_varies: bool) -> CellBlock:
    starts = _starts(payload, has_mvcc, mvcc_varies)
    data = np.frombuffer(payload, dtype=np.uint8)
    key_lengths, value_lengths = _numbers(data, starts, 4), _numbers(data, starts + 4, 4)
    if (key_lengths < _KEY_OVERHEAD).any():
        raise CorruptTableError(f"a cell of an HFile has a key of {int(key_lengths.min())} bytes")
    row_lengths = _numbers(data, starts + 8, 2)
    if (row_lengths > key_lengths - _KEY_OVERHEAD).any():
        raise CorruptTableError("a cell of an HFile has a row longer than its key")
    rows, values = starts + _ROW_AT, starts + 8 + key_lengths
    if (data[values - 1] != _PUT).any():
        raise UnsupportedTableError(
            "an HFile has cells that delete, which Hudi does not write", todo="read it with HBase"
        )
    return CellBlock(payload, rows, row_lengths, values, value_lengths)


def _starts(payload: memoryview, has_mvcc: bool, mvcc_varies: bool) -> _I64:
    """Where the cells begin. Each tells only where the next one does: hence this one loop over them."""
    starts: list[int] = []
    begins = starts.append
    lengths_at = _LENGTHS.unpack_from
    end = len(payload)
    extra = 8 + has_mvcc
    at = 0
    try:
        while at < end:
            begins(at)
            key, value = lengths_at(payload, at)
            at += key + value + extra
            if mvcc_varies:
                at += _vlong_size(payload[at - 1]) - 1
    except (struct.error, IndexError):
        at = -1
    if at != end:
        raise CorruptTableError(f"cell {len(starts)} of an HFile block leads out of its {end} bytes")
    return np.array(starts, dtype=np.int64)


def _found_by_suffix(payload: memoryview, has_mvcc: bool) -> CellBlock | None:
    """The cells by looking for what all keys end with, without a loop over them.

    None where that does not lead from each cell to the next one through the whole block: a value may hold the same
    bytes, and cells need not be as Hudi writes them.
    """
    data = np.frombuffer(payload, dtype=np.uint8)
    ends = _places_of(KEY_SUFFIX[1], data[1 : len(data) - len(KEY_SUFFIX) + 2])
    for place in (2, 0, 8, 9):  # enough: that cell leads to cell is what counts
        ends = ends[data[ends + place] == KEY_SUFFIX[place]]
    ends = ends[ends >= _ROW_AT]
    if len(ends) == 0:
        return None
    heads = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))
    row_lengths, value_lengths = np.full(len(ends), -1, dtype=np.int64), np.zeros(len(ends), dtype=np.int64)
    behind = len(KEY_SUFFIX) + has_mvcc
    left: _I64 | None = None
    for _ in range(_MOST_ROW_LENGTHS):
        first = 0 if left is None else int(left[0])
        start = 0 if first == 0 else int(ends[first - 1] + behind + value_lengths[first - 1])
        row_length = int(ends[first]) - start - _ROW_AT
        if not 0 <= row_length <= MAX_ROW_BYTES:
            return None
        starts = np.maximum((ends if left is None else ends[left]) - (row_length + _ROW_AT), 0)
        head = heads[starts + 2].byteswap()  # the lower half of the key's length, those of the value and the row
        fits = head & 0xFFFF_0000_0000_FFFF == (row_length + _KEY_OVERHEAD) << 48 | row_length
        values = (head >> 16 & 0xFFFF_FFFF).astype(np.int64)
        if left is None and fits.all():
            row_lengths[:], value_lengths = row_length, values
            break
        left = np.arange(len(ends)) if left is None else left
        row_lengths[left[fits]], value_lengths[left[fits]] = row_length, values[fits]
        left = left[~fits]
        if len(left) == 0:
            break
    else:
        return None
    rows = ends - row_lengths
    starts = rows - _ROW_AT
    leads = np.array_equal(ends + behind + value_lengths, np.append(starts[1:], len(data)))
    if starts[0] != 0 or not leads or (data[starts] | data[starts + 1]).any():
        return None
    return CellBlock(payload, rows, row_lengths, ends + len(KEY_SUFFIX), value_lengths)


def _places_of(byte: int, data: _U8) -> _I64:
    """Where a byte stands; in pieces, whose temporary arrays stay in the processor's cache."""
    pieces = range(0, len(data), _PIECE_BYTES)
    found = [(data[begin : begin + _PIECE_BYTES] == byte).nonzero()[0] + begin for begin in pieces]
    return np.concatenate([np.zeros(0, np.int64), *found])


def _words(data: memoryview, at: _I64, lengths: _I64) -> npt.NDArray[np.uint64]:
    """The first eight bytes of texts, numbers in the order of the texts; those of shorter ones as if zeros followed."""
    raw = np.frombuffer(data, dtype=np.uint8)
    if len(raw) < 8:
        raw = np.concatenate([raw, np.zeros(8, np.uint8)])
    last = len(raw) - 8
    places = np.minimum(at, last)
    words: npt.NDArray[np.uint64] = np.ndarray(last + 1, ">u8", raw, strides=(1,))[places].astype(np.uint64)
    words <<= (8 * np.minimum(at - places, 7)).astype(np.uint64)
    missing = 8 - np.minimum(lengths, 8)
    kept = np.where(missing < 8, ~np.uint64(0) << (8 * np.minimum(missing, 7)).astype(np.uint64), np.uint64(0))
    return words & kept


def _vlong_size(first: int) -> int:
    """Bytes of a Hadoop vlong by its first one (``WritableUtils.decodeVIntSize``)."""
    signed = first - 256 if first > 127 else first
    if signed >= -112:
        return 1
    return -119 - signed if signed < -120 else -111 - signed


def _numbers(data: _U8, at: _I64, width: int) -> _I64:
    """The unsigned big-endian numbers of 2 or 4 bytes that begin at these places.

    :raises CorruptTableError: one leads out of the data.
    """
    last = len(data) - width
    if len(at) and (last < 0 or int(at.max()) > last):
        raise CorruptTableError("a cell of an HFile is cut off")
    if len(at) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.ndarray(last + 1, f">u{width}", data, strides=(1,))[at].astype(np.int64)
