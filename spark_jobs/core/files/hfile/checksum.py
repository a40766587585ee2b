"""CRC-32C (Castagnoli) of many chunks at once; the standard library has CRC-32 only.

A CRC is linear: that of two stretches joined is that of the first, advanced over as many zero bytes as the second has,
XORed with that of the second. So neighbours are joined pairwise, a whole array in each step.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

_U32 = npt.NDArray[np.uint32]

_REVERSED_POLYNOMIAL = 0x82F63B78
_ONES = 0xFFFFFFFF
_SLICE_BYTES = 4 << 20
"""So much is worked on at a time; the intermediate arrays take a few times as much."""


def crc32c_of_chunks(data: bytes | memoryview, chunk: int) -> _U32:
    """The CRC-32C of each ``chunk`` bytes (a power of two, at least 4) of ``data``, the last ones shorter."""
    raw = np.frombuffer(data, dtype=np.uint8)
    whole = len(raw) // chunk
    rows_at_once = max(1, _SLICE_BYTES // chunk)
    parts = [
        _crc(raw[begin * chunk : min(begin + rows_at_once, whole) * chunk].reshape(-1, chunk), chunk)
        for begin in range(0, whole, rows_at_once)
    ]
    rest = raw[whole * chunk :]
    if len(rest):
        padded = np.zeros((1, max(4, 1 << (len(rest) - 1).bit_length())), dtype=np.uint8)
        padded[0, -len(rest) :] = rest  # zeros in front leave a CRC that starts at 0 as it is
        parts.append(_crc(padded, len(rest)))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)


def _crc(rows: npt.NDArray[np.uint8], length: int) -> _U32:
    """Of each row, whose last ``length`` bytes count and whose width is a power of two."""
    words: _U32 = np.ascontiguousarray(rows).view("<u4")
    power = 2
    while words.shape[1] > 1:
        words = _advance(words[:, 0::2], power) ^ words[:, 1::2]
        power += 1
    start = np.full(1, _ONES, dtype=np.uint32)
    for power in range(length.bit_length()):
        if length >> power & 1:
            start = _advance(start, power)
    return _advance(words[:, 0], 2) ^ start ^ np.uint32(_ONES)


def _advance(registers: _U32, power: int) -> _U32:
    """Registers after 2**power zero bytes more."""
    tables = _zero_bytes(power)
    result: _U32 = tables[0][registers & 255]
    result ^= tables[1][registers >> 8 & 255]
    result ^= tables[2][registers >> 16 & 255]
    result ^= tables[3][registers >> 24]
    return result


@functools.cache
def _zero_bytes(power: int) -> _U32:
    """By the place of a byte in the register (lowest first) and its value: what 2**power zero bytes make of it."""
    if power:
        return _advance(_zero_bytes(power - 1), power - 1)
    tables = np.zeros((4, 256), dtype=np.uint32)
    value = np.arange(256, dtype=np.uint32)
    for place in (1, 2, 3):
        tables[place] = value << (8 * place - 8)
    for _ in range(8):
        value = np.where(value & 1, value >> 1 ^ np.uint32(_REVERSED_POLYNOMIAL), value >> 1)
    tables[0] = value
    return tables
