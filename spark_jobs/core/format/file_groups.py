"""The files of a listing sorted into file groups and slices: small values of which a view makes its own when asked.

What stands in a tuple is the format's own affair but for what is said here; the format makes files of it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from spark_jobs.core.format.file_names import BaseFileName, LogFileName
from spark_jobs.core.storage import RelativePath, join

GroupKey = tuple[str, str]
"""Partition and file id."""
RawBase = tuple[Any, ...]
"""A base file without its file id and instant."""
RawLog = tuple[Any, ...]
"""A log file without its file id and base instant; their natural order is that of the logs of a slice."""


class BaseFile(NamedTuple):
    """A base file of a slice; ``size`` in bytes, ``partition`` relative to the base path."""

    partition: str
    name: BaseFileName
    size: int

    @property
    def relative_path(self) -> RelativePath:
        return join(self.partition, str(self.name))


class LogFile(NamedTuple):
    """A log file of a slice; ``size`` in bytes as the storage lists it."""

    partition: str
    name: LogFileName
    size: int

    @property
    def relative_path(self) -> RelativePath:
        return join(self.partition, str(self.name))


class GroupFiles(NamedTuple):
    """The files of one group by the base instant of their slice."""

    bases: dict[str, RawBase]
    logs: dict[str, list[RawLog]]


@dataclass(frozen=True, slots=True)
class Groups:
    """``rivals`` are further base files of a slice that has one, ``change_data`` the highest version of change-data
    logs: both rare, and by group and base instant.
    """

    files: dict[GroupKey, GroupFiles] = field(default_factory=dict)
    rivals: dict[tuple[GroupKey, str], list[RawBase]] = field(default_factory=dict)
    change_data: dict[tuple[GroupKey, str], int] = field(default_factory=dict)


class SliceInstants(Protocol):
    """What is known of the instants in the names of files."""

    def completed_at(self, instant: str) -> str | None:
        """When a write was completed; None where it was not, or where nothing says."""

    def is_reached(self, instant: str) -> bool:
        """Whether a write is not younger than the reader's moment, completed or not."""

    def makes_slice(self, key: GroupKey, instant: str) -> bool:
        """Whether a base file's write was completed."""

    def planned(self, key: GroupKey) -> str | None:
        """The pending compaction that will make a slice of a group."""
