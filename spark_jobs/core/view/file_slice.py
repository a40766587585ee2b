"""File slices and groups as values (Hudi: FileSlice, HoodieFileGroup)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from spark_jobs.core.files.log_extents import LogExtents
from spark_jobs.core.format.file_groups import BaseFile as BaseFile
from spark_jobs.core.format.file_groups import LogFile as LogFile
from spark_jobs.core.storage import RelativePath


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSlice:
    """One version of a file group: a base file or none, and the logs on top of it in their order.

    ``extents`` say what completed writes put into the logs, where somebody looked that up: who reads the logs compares.
    """

    partition: str
    file_id: str
    base_instant: str
    base_file: BaseFile | None
    log_files: tuple[LogFile, ...]
    extents: LogExtents | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Bytes of base and log files."""
        return (self.base_file.size if self.base_file else 0) + self.log_size

    @property
    def log_size(self) -> int:
        return sum(log.size for log in self.log_files)

    @property
    def is_empty(self) -> bool:
        return self.base_file is None and not self.log_files

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Relative path and bytes of each file of the slice."""
        base = ((self.base_file.relative_path, self.base_file.size),) if self.base_file else ()
        return base + tuple((log.relative_path, log.size) for log in self.log_files)

    @property
    def paths(self) -> tuple[RelativePath, ...]:
        """Relative paths of all files of the slice."""
        base = (self.base_file.relative_path,) if self.base_file else ()
        return base + tuple(log.relative_path for log in self.log_files)

    def without_logs(self, paths: Collection[str]) -> FileSlice:
        """
        :param paths: relative ones.
        """
        kept = tuple(log for log in self.log_files if log.relative_path not in paths)
        extents = self.extents and self.extents.within(str(one.name) for one in kept)
        return replace(self, log_files=kept, extents=extents)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """All slices of one file id in a partition, newest first; ``pending_compaction`` is the instant of a plan that has
    it.
    """

    partition: str
    file_id: str
    slices: tuple[FileSlice, ...]
    pending_compaction: str | None = None
    replaced_at: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        return (self.partition, self.file_id)
