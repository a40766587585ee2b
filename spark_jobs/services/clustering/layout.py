"""The order of rows by several columns at once: along a Z-order or a Hilbert curve.

Each value becomes 64 bits that compare as the values do, nulls last; the curve's position of a row is a binary column,
by which rows are then sorted like by any other. Sources: Hudi's BinaryUtil and SpaceCurveSortingHelper (curves built
directly from the values); J. Skilling, "Programming the Hilbert curve", 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys.clustering import LayoutStrategy
from spark_jobs.core.errors import ConfigError

POSITION = "position on the curve"
"""Beside the columns of the rows, whose names in Avro have no blanks."""

_U64 = npt.NDArray[np.uint64]
_SIGN = np.uint64(1 << 63)
_LAST = np.uint64((1 << 64) - 1)


def with_position(batch: pa.RecordBatch, columns: Sequence[str], layout: LayoutStrategy) -> pa.RecordBatch:
    """The batch with :data:`POSITION` as its last column.

    :raises ConfigError: a column of a type that has no order on a curve.
    """
    values = [ordered_bits(batch.column(batch.schema.get_field_index(name)), name) for name in columns]
    position = hilbert(values) if layout is LayoutStrategy.HILBERT else interleave(values)
    width = position.shape[1]
    data = pa.Array.from_buffers(pa.binary(width), batch.num_rows, [None, pa.py_buffer(position.tobytes())])
    return batch.append_column(POSITION, data)


def ordered_bits(column: Any, name: str) -> _U64:
    """Numbers that compare as the values do; of a text its first 8 bytes count."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        bits = _integers(column.cast(pa.int64()))
    elif pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        wide = column.cast(pa.int32()) if kind.bit_width == 32 else column
        bits = _integers(wide.cast(pa.int64()))
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        bits = _floats(column.cast(pa.float64()))
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        bits = _texts(column)
    else:
        raise ConfigError(f"rows can't be laid out by column {name}, which is {kind}", todo="sort by other columns")
    bits[np.asarray(pc.is_null(column))] = _LAST
    return bits


def interleave(values: Sequence[_U64]) -> npt.NDArray[np.uint8]:
    """The bits of all values, highest first, the first value's before the second's; a row of bytes for each position.

    Each byte of a value is spread over as many bytes as there are values, by a table of all 256.
    """
    count = len(values)
    spread = np.zeros((256, count * 8), np.uint8)
    spread[:, ::count] = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    out = np.zeros((len(values[0]), 8, count), np.uint8)
    for number, value in enumerate(values):
        table = np.packbits(np.roll(spread, number, axis=1), axis=1)
        out |= table[value.astype(">u8").view(np.uint8).reshape(-1, 8)]
    return out.reshape(len(values[0]), 8 * count)


def hilbert(values: Sequence[_U64]) -> npt.NDArray[np.uint8]:
    """The position on the Hilbert curve through all values; a row of bytes for each."""
    axes = list(values)
    one = np.uint64(1)
    for shift in range(63, 0, -1):
        bit = one << np.uint64(shift)
        below = bit - one
        for number, axis in enumerate(axes):
            is_set = (axis & bit) != 0
            swapped = np.where(is_set, np.uint64(0), (axes[0] ^ axis) & below)
            first = np.where(is_set, axes[0] ^ below, axes[0] ^ swapped)
            if number:
                axes[number] = axis ^ swapped
            axes[0] = first
    for number in range(1, len(axes)):
        axes[number] = axes[number] ^ axes[number - 1]
    turn = np.zeros_like(axes[0])
    for shift in range(63, 0, -1):
        bit = one << np.uint64(shift)
        turn = np.where((axes[-1] & bit) != 0, turn ^ (bit - one), turn)
    return interleave([axis ^ turn for axis in axes])


def _integers(column: Any) -> _U64:
    found: npt.NDArray[np.int64] = np.asarray(pc.fill_null(column, 0))
    return found.astype(np.int64).view(np.uint64) ^ _SIGN


def _floats(column: Any) -> _U64:
    found = np.asarray(pc.fill_null(column, 0.0)).astype(np.float64) + 0.0  # no negative zero
    raw = found.view(np.uint64)
    return np.where(raw & _SIGN, ~raw, raw | _SIGN)


def _texts(column: Any) -> _U64:
    data = pc.fill_null(column.cast(pa.binary()), b"")
    padded = pc.binary_slice(data, 0, 8).cast(pa.large_binary())
    found = np.array(padded.to_numpy(zero_copy_only=False), dtype="S8")
    return found.view(">u8").astype(np.uint64)
