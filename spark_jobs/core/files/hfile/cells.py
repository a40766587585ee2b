"""The payload of data blocks: cells to and from Arrow arrays of rows and values.

A cell is int key length, int value length, key, value, and its MVCC number as a Hadoop vlong (0, one byte, in what Hudi
writes). Its key is the row with a short length in front, and a suffix that is the same in all of Hudi's cells. The row
is what Hudi calls the key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
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
    """All cells of a data block.

    :param has_mvcc: whether a cell ends with its MVCC number; ``mvcc_varies``: whether that can be other than 0.
    :raises CorruptTableError: the bytes are no cells.
    :raises UnsupportedTableError: a cell that deletes.
    """
    starts = _starts(payload, has_mvcc, mvcc_varies)
    if len(starts) == 0:
        return NO_CELLS
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
    # the bytes of a block as one array, cut at these places; every fourth piece is a row, or a value
    cuts = np.empty((len(starts), 4), dtype=np.int64)
    cuts[:, 0], cuts[:, 1], cuts[:, 2], cuts[:, 3] = rows, rows + row_lengths, values, values + value_lengths
    offsets = np.concatenate(([0], cuts.ravel()))
    pieces = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(payload)]
    )
    every = np.arange(len(starts), dtype=np.int64) * 4
    return Cells(pieces.take(pa.array(every + 1)), pieces.take(pa.array(every + 3)))


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


def _vlong_size(first: int) -> int:
    """Bytes of a Hadoop vlong by its first one (``WritableUtils.decodeVIntSize``)."""
    signed = first - 256 if first > 127 else first
    if signed >= -112:
        return 1
    return -119 - signed if signed < -120 else -111 - signed


def _numbers(data: _U8, at: _I64, width: int) -> _I64:
    """The unsigned big-endian numbers that begin at these places."""
    result = np.zeros(len(at), dtype=np.int64)
    for place in range(width):
        result = result << 8 | data[at + place]
    return result
