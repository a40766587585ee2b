"""What a savepoint holds, on storage and as a value (Hudi: SavepointActionExecutor, HoodieSavepointMetadata)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.timeline.results import SavepointResult
from spark_jobs.core.view.file_slice import FileSlice


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """Of the commit of an instant."""

    instant: str
    keeps: SavepointResult

    @property
    def file_count(self) -> int:
        return sum(len(names) for names in self.keeps.files.values())

    def to_json(self) -> dict[str, Any]:
        """For a person."""
        return {
            "instant": self.instant,
            "user": self.keeps.user,
            "comments": self.keeps.comments,
            "saved_ms": self.keeps.saved_ms,
            "partitions": len(self.keeps.files),
            "files": self.file_count,
        }


def files_of(slices: Iterable[FileSlice]) -> dict[str, tuple[str, ...]]:
    """Names of all files of the slices by partition, sorted."""
    found: dict[str, list[str]] = {}
    for one in slices:
        found.setdefault(one.partition, []).extend(path.rsplit("/", 1)[-1] for path in one.paths)
    return {partition: tuple(sorted(names)) for partition, names in sorted(found.items())}
