"""Rollbacks and restores as they were requested (Hudi: HoodieRollbackPlan, HoodieRestorePlan)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.payload import Kind, Payload
from spark_jobs.core.timeline.results import NamedInstant

NO_NOTE: Mapping[str, str] = MappingProxyType({})
_ROLLBACK_VERSION, _RESTORE_VERSION = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Files of one partition to delete (relative names), or log files whose blocks a command block takes back (name ->
    length).
    """

    partition: str
    file_id: str
    base_instant: str
    delete: tuple[str, ...] = ()
    cancel: Mapping[str, int] = field(default_factory=dict)

    def to_avro(self, base_path: str, *, whole_logs: bool) -> dict[str, Any]:
        """:param whole_logs: the logs by whole paths."""
        logs = {self._whole(base_path, name) if whole_logs else name: size for name, size in self.cancel.items()}
        return {
            "partitionPath": self.partition,
            "fileId": self.file_id,
            "latestBaseInstant": self.base_instant,
            "filesToBeDeleted": [self._whole(base_path, name) for name in self.delete],
            "logBlocksToBeDeleted": logs,
        }

    def _whole(self, base_path: str, name: str) -> str:
        return resolve(base_path, join(self.partition, name))

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RollbackRequest:
        return RollbackRequest(
            partition=raw["partitionPath"] or "",
            file_id=raw["fileId"] or "",
            base_instant=raw["latestBaseInstant"] or "",
            delete=tuple(_name(path) for path in raw["filesToBeDeleted"]),
            cancel={_name(path): size for path, size in (raw["logBlocksToBeDeleted"] or {}).items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedRollback:
    """``target`` is taken back by ``requests``; it is None in a plan that Hudi died over."""

    target: NamedInstant | None
    requests: tuple[RollbackRequest, ...]

    @property
    def deletions(self) -> frozenset[RelativePath]:
        """Relative paths."""
        return frozenset(join(one.partition, name) for one in self.requests for name in one.delete)

    def payload(self, base_path: str, note: Mapping[str, str] = NO_NOTE, *, whole_logs: bool = False) -> Payload:
        """The content of the requested file.

        :param note: for its header.
        :param whole_logs: logs by whole paths, as in the metadata table.
        """
        record = {
            "instantToRollback": None if self.target is None else self.target.to_avro(),
            "RollbackRequests": [one.to_avro(base_path, whole_logs=whole_logs) for one in self.requests],
            "version": _ROLLBACK_VERSION,
        }
        return Payload(Kind.ROLLBACK_PLAN, record, note)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RequestedRollback:
        target = raw["instantToRollback"]
        return RequestedRollback(
            target=None if target is None else NamedInstant.of(target),
            requests=tuple(RollbackRequest.of(one) for one in raw["RollbackRequests"] or ()),
        )

    @staticmethod
    def read(timeline: ActiveTimeline, rollback: Instant, clock: Clock) -> RequestedRollback:
        """That of a rollback in any state; raises as :meth:`ActiveTimeline.payload`."""
        return RequestedRollback.of(timeline.payload(rollback.at(State.REQUESTED), clock))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedRestore:
    """``rolled_back`` in their order; ``goal`` is what the table goes back to, empty before version 2 of the plan."""

    goal: str
    rolled_back: tuple[NamedInstant, ...]

    def payload(self, note: Mapping[str, str] = NO_NOTE) -> Payload:
        """The content of the requested file.

        :param note: for its header.
        """
        record = {
            "instantsToRollback": [one.to_avro() for one in self.rolled_back],
            "version": _RESTORE_VERSION,
            "savepointToRestoreTimestamp": self.goal,
        }
        return Payload(Kind.RESTORE_PLAN, record, note)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RequestedRestore:
        return RequestedRestore(
            goal=raw.get("savepointToRestoreTimestamp") or "",
            rolled_back=tuple(map(NamedInstant.of, raw["instantsToRollback"] or ())),
        )

    @staticmethod
    def read(timeline: ActiveTimeline, restore: Instant, clock: Clock) -> RequestedRestore:
        """That of a restore in any state; raises as :meth:`ActiveTimeline.payload`."""
        return RequestedRestore.of(timeline.payload(restore.at(State.REQUESTED), clock))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
