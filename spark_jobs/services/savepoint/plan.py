"""What a savepoint holds, on storage and as a value (Hudi: SavepointActionExecutor, HoodieSavepointMetadata)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.view.file_slice import FileSlice


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """``files`` maps a partition to the names of the base and log files that it keeps."""

    instant: str
    user: str
    comments: str
    saved_ms: int
    files: Mapping[str, tuple[str, ...]]

    @property
    def file_count(self) -> int:
        return sum(len(names) for names in self.files.values())

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for names in self.files.values() for name in names)

    def to_avro(self) -> dict[str, Any]:
        return {
            "savepointedBy": self.user,
            "savepointedAt": self.saved_ms,
            "comments": self.comments,
            "partitionMetadata": {
                partition: {"partitionPath": partition, "savepointDataFile": list(names)}
                for partition, names in self.files.items()
            },
            "version": 1,
        }

    def to_json(self) -> dict[str, Any]:
        """For a person."""
        return {
            "instant": self.instant,
            "user": self.user,
            "comments": self.comments,
            "saved_ms": self.saved_ms,
            "partitions": len(self.files),
            "files": self.file_count,
        }

    @staticmethod
    def of(instant: Instant, raw: Mapping[str, Any]) -> Savepoint:
        """From the Avro record of the timeline, this project's or Hudi's."""
        return Savepoint(
            instant=instant.timestamp,
            user=raw["savepointedBy"],
            comments=raw["comments"],
            saved_ms=raw["savepointedAt"],
            files={partition: tuple(one["savepointDataFile"]) for partition, one in raw["partitionMetadata"].items()},
        )


def files_of(slices: Iterable[FileSlice]) -> dict[str, tuple[str, ...]]:
    """Names of all files of the slices by partition, sorted."""
    found: dict[str, list[str]] = {}
    for one in slices:
        found.setdefault(one.partition, []).extend(path.rsplit("/", 1)[-1] for path in one.paths)
    return {partition: tuple(sorted(names)) for partition, names in sorted(found.items())}
