"""Where the metadata table has what: partitions, file groups, and which group has a key.

Hudi: MetadataPartitionType, HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

METADATA_FOLDER = ".hoodie/metadata"
NO_PARTITION = "."
"""How the partition of a table without partition columns is spelled in keys."""

_MULTIPLIER = 31


class MetadataPartition(Enum):
    """The partitions of table version 6: directory, and how their file ids begin."""

    FILES = ("files", "files-")
    COLUMN_STATS = ("column_stats", "col-stats-")
    BLOOM_FILTERS = ("bloom_filters", "bloom-filters-")
    RECORD_INDEX = ("record_index", "record-index-")

    def __init__(self, path: str, prefix: str) -> None:
        self.path = path
        self._prefix = prefix

    def file_id(self, index: int) -> str:
        """The id of a file group, such as ``files-0000-0``."""
        return f"{self._prefix}{index:04d}-0"


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
    """The number of the file group that has each key: Java's string hash over UTF-16 units, by the number of groups."""
    if groups == 1 or not keys:
        return np.zeros(len(keys), dtype=np.int64)
    encoded = [key.encode("utf-16-le", "surrogatepass") for key in keys]
    lengths = np.fromiter((len(one) // 2 for one in encoded), dtype=np.int64, count=len(keys))
    units: npt.NDArray[Any] = np.frombuffer(b"".join(encoded), dtype="<u2")
    starts = np.cumsum(lengths) - lengths
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for place in range(int(lengths.max())):
        longer = lengths > place
        hashes[longer] = hashes[longer] * np.uint32(_MULTIPLIER) + units[starts[longer] + place]
    signed = hashes.view(np.int32).astype(np.int64)
    magnitude = np.abs(signed)
    # abs(Integer.MIN_VALUE) stays negative in Java: its remainder is negative, and the outer abs takes the sign off
    return magnitude % groups
