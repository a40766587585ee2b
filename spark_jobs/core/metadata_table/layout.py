"""Where the metadata table is, how its keys spell partitions, and which file group has a key.

Hudi: HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.format.folders import METADATA_FOLDER

NO_PARTITION = "."
"""How the partition of a table without partition columns is spelled in keys."""

_MULTIPLIER = 31
_FIRST_NOT_ASCII = 0x80
_HASHED_AT_ONCE = 1 << 15
"""Keys whose bytes stay in the processor's cache while they are hashed."""


def metadata_path(base_path: str) -> str:
    """The base path of a table's metadata table."""
    return f"{base_path}/{METADATA_FOLDER}"


def identifier_of(partition: str) -> str:
    """A partition path as keys have it."""
    return partition or NO_PARTITION


def partition_of(identifier: str) -> str:
    """A partition path from its spelling in a key."""
    return "" if identifier == NO_PARTITION else identifier


def group_indexes(keys: list[str], groups: int) -> npt.NDArray[np.int64]:
    """The number of the file group that has each key: see :func:`group_numbers`."""
    if groups == 1 or not keys:
        return np.zeros(len(keys), dtype=np.int64)
    encoded = (key.encode("utf-8", "surrogatepass") for key in keys)
    return group_numbers(pa.array(list(encoded), pa.large_binary()), groups)


def group_numbers(keys: pa.Array[Any], groups: int) -> npt.NDArray[np.int64]:
    """The number of the file group that has each key: Java's string hash over UTF-16 units, by the number of groups.

    :param keys: text, or its UTF-8 bytes; none is null.
    """
    if groups == 1 or not len(keys):
        return np.zeros(len(keys), dtype=np.int64)
    hashes = java_hashes(keys.cast(pa.large_binary())).view(np.int32).astype(np.int64)
    # abs(Integer.MIN_VALUE) stays negative in Java: its remainder is negative, and the outer abs takes the sign off
    return np.abs(hashes) % groups


def java_hashes(keys: pa.Array[Any]) -> npt.NDArray[np.uint32]:
    """``String.hashCode`` of each key, as unsigned bits.

    :param keys: UTF-8 in ``large_binary``.
    """
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for begin in range(0, len(keys), _HASHED_AT_ONCE):
        part = keys.slice(begin, _HASHED_AT_ONCE)
        offsets = np.frombuffer(part.buffers()[1], dtype=np.int64)[part.offset : part.offset + len(part) + 1]
        data = np.frombuffer(part.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
        units: npt.NDArray[Any] = data
        ends = offsets[1:] - offsets[0]
        if len(data) and data.max() >= _FIRST_NOT_ASCII:
            texts = [bytes(one).decode("utf-8", "surrogatepass") for one in part.to_pylist()]
            wide = [text.encode("utf-16-le", "surrogatepass") for text in texts]
            units = np.frombuffer(b"".join(wide), dtype="<u2")
            ends = np.cumsum([len(one) // 2 for one in wide])
        hashes[begin : begin + len(part)] = _hashes(units, ends)
    return hashes


def _hashes(units: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """The sum over each key of its units, each times 31 to the power of how many follow it."""
    result = np.zeros(len(ends), dtype=np.uint32)
    lengths = np.diff(ends, prepend=0)
    full = lengths > 0
    if not full.any():
        return result
    followers = np.repeat(ends, lengths) - np.arange(1, len(units) + 1)
    powers = np.full(int(lengths.max()), _MULTIPLIER, dtype=np.uint32)
    powers[0] = 1
    terms = units.astype(np.uint32) * np.cumprod(powers, dtype=np.uint32)[followers]
    result[full] = np.add.reduceat(terms, (ends - lengths)[full])
    return result
