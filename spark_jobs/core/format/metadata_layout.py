"""The partitions of metadata tables, and what a table version says of them (Hudi: MetadataPartitionType,
HoodieTableMetadataUtil).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from spark_jobs.core.format.instant import Action


class MetadataPartition(StrEnum):
    """What a partition of a metadata table holds, by Hudi's name."""

    FILES = "FILES"
    COLUMN_STATS = "COLUMN_STATS"
    BLOOM_FILTERS = "BLOOM_FILTERS"
    RECORD_INDEX = "RECORD_INDEX"


class MetadataLayout(Protocol):
    """Directories and file groups of the metadata table, and the times of instants that it alone has. These begin with
    the time of an instant of the data table, which they follow.
    """

    @property
    def names(self) -> Collection[MetadataPartition]:
        """The partitions that tables of this version can have."""

    @property
    def by_path(self) -> Mapping[str, MetadataPartition]:
        """The same by their directories."""

    def path(self, partition: MetadataPartition) -> str:
        """The directory below the metadata table; also how the table's properties and indexing plans name it."""

    def file_id(self, partition: MetadataPartition, number: int) -> str:
        """The id of a file group."""

    def number_of(self, partition: MetadataPartition, file_id: str) -> int | None:
        """Of a file group's id; None for any other id."""

    @property
    def beginning(self) -> str:
        """What stands for the time of the data table where that has no completed instant."""

    def own_time(self, time: str, action: Action) -> str:
        """When the metadata table compacts, cleans or rolls back behind an instant of the data table."""

    def time_of_making(self, time: str, taken: Collection[str]) -> str:
        """When a partition is made as of an instant of the data table.

        :param taken: the times that the metadata table has already.
        """

    def made_as_of(self, time: str) -> str | None:
        """The time of the data table as of which an instant made a partition; None for one that did not."""

    def stands_behind(self, time: str) -> str | None:
        """The time of the data table up to which a compaction, a log compaction or a making merged what was there; None
        for any other instant, and for the very first.
        """

    def is_own(self, time: str) -> bool:
        """Whether only the metadata table has an instant of this time."""


@dataclass(frozen=True)
class NamedPartitions:
    """Partitions with their directories and how the ids of their file groups are spelled."""

    spelled: Mapping[MetadataPartition, tuple[str, str]]

    @property
    def names(self) -> Collection[MetadataPartition]:
        return self.spelled.keys()

    @cached_property
    def by_path(self) -> Mapping[str, MetadataPartition]:
        return {path: partition for partition, (path, _) in self.spelled.items()}

    def path(self, partition: MetadataPartition) -> str:
        return self.spelled[partition][0]
