"""Keys of the indexes: short hashes of columns, partitions and files in Base64.

Hudi: ColumnIndexID, PartitionIndexID, FileIndexID.
"""

from __future__ import annotations

import base64
import hashlib

from spark_jobs.core.metadata_table.layout import identifier_of

_SEED = 0xFFFFFFFFDABADABA
"""Hudi's int seed, its sign carried into 64 bits."""

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def column_id(column: str) -> str:
    """12 characters for a column name."""
    return _base64(xxhash64(column.encode(), _SEED).to_bytes(8))


def partition_id(partition: str) -> str:
    """12 characters for a partition path."""
    return _base64(xxhash64(identifier_of(partition).encode(), _SEED).to_bytes(8))


def file_id(file_name: str) -> str:
    """24 characters for the name of a file, without its folder."""
    return _base64(hashlib.md5(file_name.encode(), usedforsecurity=False).digest())


def column_stats_key(column: str, partition: str, file_name: str) -> str:
    """Hudi: HoodieMetadataPayload.getColumnStatsIndexKey."""
    return column_id(column) + partition_id(partition) + file_id(file_name)


def bloom_filter_key(partition: str, file_name: str) -> str:
    """Hudi: HoodieMetadataPayload.getBloomFilterIndexKey."""
    return partition_id(partition) + file_id(file_name)


def xxhash64(data: bytes, seed: int) -> int:
    """XXH64 as its specification (Yann Collet) defines it; for names, not for data."""
    at, size = 0, len(data)
    if size >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while at + 32 <= size:
            lanes = [_round(lane & _MASK, _word(data, at + 8 * number)) for number, lane in enumerate(lanes)]
            at += 32
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        value = (seed + _P5) & _MASK
    value = (value + size) & _MASK
    while at + 8 <= size:
        value = (_rotate(value ^ _round(0, _word(data, at)), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= size:
        value ^= int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK
        value = (_rotate(value, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        value = _rotate(value ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
