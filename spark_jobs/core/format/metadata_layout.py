"""The partitions of metadata tables, and where a table version has them (Hudi: MetadataPartitionType)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class MetadataPartition(StrEnum):
    """What a partition of a metadata table holds, by Hudi's name."""

    FILES = "FILES"
    COLUMN_STATS = "COLUMN_STATS"
    BLOOM_FILTERS = "BLOOM_FILTERS"
    RECORD_INDEX = "RECORD_INDEX"


@dataclass(frozen=True)
class MetadataLayout:
    """Of each partition that a version has, its directory and how the ids of its file groups begin."""

    names: Mapping[MetadataPartition, tuple[str, str]]

    def path(self, partition: MetadataPartition) -> str:
        """Below the metadata table; also how the table's properties and indexing plans name it."""
        return self.names[partition][0]

    @cached_property
    def by_path(self) -> Mapping[str, MetadataPartition]:
        return {path: partition for partition, (path, _) in self.names.items()}

    def file_id(self, partition: MetadataPartition, number: int) -> str:
        """The id of a file group, such as ``files-0000-0``."""
        return f"{self.names[partition][1]}{number:04d}-0"

    def number_of(self, partition: MetadataPartition, file_id: str) -> int | None:
        """Of a file group's id, which ends without ``-0`` where an early release made it; None for any other id."""
        prefix = self.names[partition][1]
        digits = file_id.removeprefix(prefix).split("-")[0]
        return int(digits) if file_id.startswith(prefix) and digits.isdecimal() else None
