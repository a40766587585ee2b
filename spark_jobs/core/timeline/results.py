"""What completed cleans, rollbacks, restores and savepoints say of themselves, as values (Hudi: HoodieCleanMetadata,
HoodieRollbackMetadata, HoodieRestoreMetadata, HoodieSavepointMetadata).

They are made of the records of the timeline's files, and these of them, in the shape of Hudi's, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.payloads.payload import Kind, Payload

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

    def payload(self, started: str, policy: str) -> Payload:
        """The content of a completed file.

        :param started: the time of the clean.
        """
        emptied = set(self.emptied)
        record = {
            "startCleanTime": started,
            "timeTakenInMillis": self.took_ms,
            "totalFilesDeleted": self.files,
            "earliestCommitToRetain": self.retained_from,
            "lastCompletedCommitTimestamp": self.last_completed,
            "partitionMetadata": {
                partition: {
                    "partitionPath": partition,
                    "policy": policy,
                    "deletePathPatterns": list(names),
                    "successDeleteFiles": list(names),
                    "failedDeleteFiles": [],
                    "isPartitionDeleted": partition in emptied,
                }
                for partition, names in self.deleted.items()
            },
            "version": 2,
            "bootstrapPartitionMetadata": {},
            "extraMetadata": dict(self.note),
        }
        return Payload(Kind.CLEAN, record)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInstant:
    """An instant as a plan or a result names it (Hudi: HoodieInstantInfo)."""

    time: str
    action: str

    @staticmethod
    def of(raw: Record) -> NamedInstant:
        return NamedInstant(time=raw["commitTime"], action=raw["action"])

    @staticmethod
    def naming(instant: Instant) -> NamedInstant:
        return NamedInstant(time=instant.timestamp, action=instant.action.value)

    def at(self, state: State) -> Instant:
        return Instant(self.time, Action(self.action), state)

    def to_avro(self) -> dict[str, str]:
        return {"commitTime": self.time, "action": self.action}


@dataclass(slots=True)
class PartitionOutcome:
    """What a rollback did in one partition, filled while it works: whole paths that it deleted, and bytes by path of
    the logs that it wrote and of those whose blocks it took back.
    """

    deleted: list[str] = field(default_factory=list)
    command_logs: dict[str, int] = field(default_factory=dict)
    cancelled_logs: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRecord:
    """What the completed file of a rollback says, or that of a restore of each instant: ``by`` is the time of the one
    or the other, and ``outcomes`` are by partition.
    """

    by: str
    target: Instant
    outcomes: Mapping[str, PartitionOutcome] = field(default_factory=dict)
    took_ms: int = 0

    def to_avro(self) -> dict[str, Any]:
        return {
            "startRollbackTime": self.by,
            "timeTakenInMillis": self.took_ms,
            "totalFilesDeleted": sum(len(one.deleted) for one in self.outcomes.values()),
            "commitsRollback": [self.target.timestamp],
            "partitionMetadata": {
                partition: {
                    "partitionPath": partition,
                    "successDeleteFiles": one.deleted,
                    "failedDeleteFiles": [],
                    "rollbackLogFiles": one.command_logs,
                    "logFilesFromFailedCommit": one.cancelled_logs,
                }
                for partition, one in self.outcomes.items()
            },
            "version": 1,
            "instantsRollback": [NamedInstant.naming(self.target).to_avro()],
        }

    def payload(self, note: Mapping[str, str] = MappingProxyType({})) -> Payload:
        """The content of the completed file of a rollback.

        :param note: for its header.
        """
        return Payload(Kind.ROLLBACK, self.to_avro(), note)


def restore_payload(
    by: str, planned: Iterable[Instant], rollbacks: Mapping[str, RollbackRecord], took_ms: int
) -> Payload:
    """The content of the completed file of a restore.

    :param by: its time.
    :param planned: all instants of its plan, in that order.
    :param rollbacks: by the time of each.
    """
    rolled_back = [NamedInstant.naming(one) for one in planned]
    record = {
        "startRestoreTime": by,
        "timeTakenInMillis": took_ms,
        "instantsToRollback": [one.time for one in rolled_back],
        "hoodieRestoreMetadata": {time: [one.to_avro()] for time, one in rollbacks.items()},
        "version": 1,
        "restoreInstantInfo": [one.to_avro() for one in rolled_back],
    }
    return Payload(Kind.RESTORE, record)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRollback:
    """Bytes by name of the log files that a rollback ``added`` to a partition, and of those that were ``cancelled``: by
    which blocks were taken back that stay where they are.
    """

    added: Mapping[str, int]
    cancelled: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackResult:
    """``rolled_back`` are the times of instants that it took back, ``named`` those of which it says the action too."""

    rolled_back: tuple[str, ...]
    partitions: Mapping[str, PartitionRollback]
    files: int
    took_ms: int
    named: tuple[NamedInstant, ...] = ()

    @staticmethod
    def of(raw: Record) -> RollbackResult:
        """
        :param raw: of a completed rollback.
        """
        return RollbackResult(
            rolled_back=tuple(raw.get("commitsRollback") or ()),
            partitions={
                one["partitionPath"]: PartitionRollback(
                    added=_sizes(one.get("rollbackLogFiles")), cancelled=_sizes(one.get("logFilesFromFailedCommit"))
                )
                for one in (raw.get("partitionMetadata") or {}).values()
            },
            files=int(raw.get("totalFilesDeleted") or 0),
            took_ms=int(raw.get("timeTakenInMillis") or 0),
            named=tuple(map(NamedInstant.of, raw.get("instantsRollback") or ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """``rolled_back`` are the times of the instants that it took back, ``rollbacks`` what was done for each."""

    rolled_back: tuple[str, ...]
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
            rolled_back=tuple(raw["instantsToRollback"] or ()),
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

    def payload(self) -> Payload:
        """The content of the completed file."""
        record = {
            "savepointedBy": self.user,
            "savepointedAt": self.saved_ms,
            "comments": self.comments,
            "partitionMetadata": {
                partition: {"partitionPath": partition, "savepointDataFile": list(names)}
                for partition, names in self.files.items()
            },
            "version": 1,
        }
        return Payload(Kind.SAVEPOINT, record)

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
    """By the name alone: other paths of the same name are of the same file, below another base path."""
    found: dict[str, int] = {}
    for path, size in (files or {}).items():
        found[_name(path)] = max(int(size), found.get(_name(path), 0))
    return found
