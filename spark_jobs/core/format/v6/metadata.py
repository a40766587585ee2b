"""The metadata table of table version 6."""

from __future__ import annotations

from collections.abc import Collection

from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.metadata_layout import MetadataPartition, NamedPartitions

_SOLO_PREFIX = "0" * 14
"""Instants of a metadata table that was made together with its table begin so."""
_SUFFIXES = {Action.COMPACTION: "001", Action.CLEAN: "002", Action.ROLLBACK: "006"}
_OWN_SUFFIXES = frozenset({"001", "002", "003", "004", "005", "006"})
_MERGING_SUFFIXES = frozenset({"001", "005"})
"""Of compactions and log compactions."""
_FIRST_MAKING = 10
"""From here on, by which a partition was made; in three digits."""


class MetadataLayout6(NamedPartitions):
    """Ids of file groups such as ``files-0000-0``; own instants have a suffix of three digits."""

    def file_id(self, partition: MetadataPartition, number: int) -> str:
        return f"{self.spelled[partition][1]}{number:04d}-0"

    def number_of(self, partition: MetadataPartition, file_id: str) -> int | None:
        """Ids end without ``-0`` where an early release made them."""
        prefix = self.spelled[partition][1]
        digits = file_id.removeprefix(prefix).split("-")[0]
        return int(digits) if file_id.startswith(prefix) and digits.isdecimal() else None

    @property
    def beginning(self) -> str:
        return _SOLO_PREFIX

    def own_time(self, time: str, action: Action) -> str:
        return f"{time}{_SUFFIXES[action]}"

    def time_of_making(self, time: str, taken: Collection[str]) -> str:
        """The first that is not taken."""
        number = _FIRST_MAKING
        while f"{time}{number:03d}" in taken:
            number += 1
        return f"{time}{number:03d}"

    def made_as_of(self, time: str) -> str | None:
        is_first = len(time) == 17 and time.startswith(_SOLO_PREFIX)
        return time[:-3] if is_first or _is_making(time) else None

    def stands_behind(self, time: str) -> str | None:
        return time[:-3] if time[17:] in _MERGING_SUFFIXES or _is_making(time) else None

    def is_own(self, time: str) -> bool:
        """Of 20 digits with a suffix of its own, or its very first."""
        return time.startswith(_SOLO_PREFIX) or time[17:] in _OWN_SUFFIXES or _is_making(time)


def _is_making(time: str) -> bool:
    return len(time) == 20 and int(time[17:]) >= _FIRST_MAKING


METADATA = MetadataLayout6(
    {
        MetadataPartition.FILES: ("files", "files-"),
        MetadataPartition.COLUMN_STATS: ("column_stats", "col-stats-"),
        MetadataPartition.BLOOM_FILTERS: ("bloom_filters", "bloom-filters-"),
        MetadataPartition.RECORD_INDEX: ("record_index", "record-index-"),
    }
)
