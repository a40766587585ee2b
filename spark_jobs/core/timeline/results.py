"""What completed cleans, rollbacks, restores and savepoints say of themselves, as values (Hudi: HoodieCleanMetadata,
HoodieRollbackMetadata, HoodieRestoreMetadata, HoodieSavepointMetadata).

They are made of the records of the timeline's files, in their shape, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.timeline.payload_paths import files_of_clean

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanResult:
    """``retained_from`` is the earliest commit whose files all stayed, ``last_completed`` the newest that the clean
    knew (each empty where it does not say). ``deleted`` has names of files by partition, ``emptied`` the partitions
    that went with their last file. ``note`` is what its caller left in it.
    """

    retained_from: str
    last_completed: str
    deleted: Mapping[str, tuple[str, ...]]
    emptied: tuple[str, ...] = ()
    note: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    took_ms: int = 0

    @staticmethod
    def of(raw: Record) -> CleanResult:
        """
        :param raw: of a completed clean.
        """
        partitions = (raw["partitionMetadata"] or {}).values()
        return CleanResult(
            retained_from=raw["earliestCommitToRetain"] or "",
            last_completed=raw["lastCompletedCommitTimestamp"] or "",
            deleted={one["partitionPath"]: _names(one["deletePathPatterns"]) for one in partitions},
            emptied=tuple(one["partitionPath"] for one in partitions if one.get("isPartitionDeleted")),
            note=raw.get("extraMetadata") or {},
            files=int(raw["totalFilesDeleted"] or 0),
            took_ms=int(raw["timeTakenInMillis"] or 0),
        )

    @staticmethod
    def of_plan(raw: Record) -> CleanResult:
        """What a clean does by its plan, whose result nobody can read.

        :param raw: of a requested clean.
        """
        retain = raw["earliestInstantToRetain"]
        return CleanResult(
            retained_from=retain["timestamp"] if retain else "",
            last_completed=raw["lastCompletedCommitTimestamp"] or "",
            deleted={partition: tuple(names) for partition, names in files_of_clean(raw).items()},
            note=raw.get("extraMetadata") or {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRollback:
    """Bytes by name of the log files that a rollback ``added`` to a partition, and of those that were ``cancelled``: by
    which blocks were taken back that stay where they are.
    """

    added: Mapping[str, int]
    cancelled: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackResult:
    """``undone`` are the times of the instants that it took back."""

    undone: tuple[str, ...]
    partitions: Mapping[str, PartitionRollback]
    files: int
    took_ms: int

    @staticmethod
    def of(raw: Record) -> RollbackResult:
        """
        :param raw: of a completed rollback.
        """
        return RollbackResult(
            undone=tuple(raw.get("commitsRollback") or ()),
            partitions={
                one["partitionPath"]: PartitionRollback(
                    added=_sizes(one.get("rollbackLogFiles")), cancelled=_sizes(one.get("logFilesFromFailedCommit"))
                )
                for one in (raw.get("partitionMetadata") or {}).values()
            },
            files=int(raw.get("totalFilesDeleted") or 0),
            took_ms=int(raw.get("timeTakenInMillis") or 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """``undone`` are the times of the instants that it took back, ``rollbacks`` what was done for each."""

    undone: tuple[str, ...]
    rollbacks: Mapping[str, tuple[RollbackResult, ...]]
    took_ms: int

    @property
    def files(self) -> int:
        return sum(one.files for some in self.rollbacks.values() for one in some)

    @staticmethod
    def of(raw: Record) -> RestoreResult:
        """
        :param raw: of a completed restore.
        """
        rollbacks: dict[str, list[Record | None]] = raw["hoodieRestoreMetadata"] or {}
        return RestoreResult(
            undone=tuple(raw["instantsToRollback"] or ()),
            rollbacks={time: tuple(RollbackResult.of(one) for one in some if one) for time, some in rollbacks.items()},
            took_ms=int(raw["timeTakenInMillis"] or 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointResult:
    """``files`` has the names of the files that it keeps, by partition; ``saved_ms`` is since the epoch."""

    user: str
    comments: str
    saved_ms: int
    files: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for names in self.files.values() for name in names)

    @staticmethod
    def of(raw: Record) -> SavepointResult:
        """
        :param raw: of a completed savepoint.
        """
        partitions = raw["partitionMetadata"] or {}
        return SavepointResult(
            user=raw["savepointedBy"],
            comments=raw["comments"],
            saved_ms=raw["savepointedAt"],
            files={partition: tuple(one["savepointDataFile"]) for partition, one in partitions.items()},
        )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _names(paths: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(map(_name, paths or ()))


def _sizes(files: Mapping[str, int] | None) -> dict[str, int]:
    """By the name alone: other paths of the same name are of the same file, told by another base path."""
    found: dict[str, int] = {}
    for path, size in (files or {}).items():
        found[_name(path)] = max(int(size), found.get(_name(path), 0))
    return found
