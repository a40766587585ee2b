"""A clean as it was requested (Hudi: HoodieCleanerPlan)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.paths import files_of_clean
from spark_jobs.core.timeline.payloads.payload import Kind, Payload
from spark_jobs.core.timeline.results import CleanResult

_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedClean:
    """``deletions`` has names of files by partition, ``emptied`` the partitions that go with their last file.

    ``retained_from`` is the earliest commit whose files all stay, of the action ``retained_action``; ``last_completed``
    the newest that the clean knew (each empty where it does not say). ``note`` is the extra metadata.
    """

    policy: str
    deletions: Mapping[str, tuple[str, ...]]
    retained_from: str = ""
    retained_action: str = ""
    last_completed: str = ""
    emptied: tuple[str, ...] = ()
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[RelativePath, ...]:
        return tuple(join(partition, name) for partition, names in self.deletions.items() for name in names)

    def result(self) -> CleanResult:
        """What the clean does by it, where its own result is not there or can't be read."""
        return CleanResult(
            retained_from=self.retained_from,
            last_completed=self.last_completed,
            deleted=self.deletions,
            note=self.note,
        )

    def payload(self, base_path: str) -> Payload:
        """The content of the requested file."""
        retained = {"timestamp": self.retained_from, "action": self.retained_action, "state": "COMPLETED"}
        record = {
            "earliestInstantToRetain": retained if self.retained_from else None,
            "lastCompletedCommitTimestamp": self.last_completed,
            "policy": self.policy,
            "filesToBeDeletedPerPartition": {},
            "version": _VERSION,
            "filePathsToBeDeletedPerPartition": {
                partition: [
                    {"filePath": resolve(base_path, join(partition, name)), "isBootstrapBaseFile": False}
                    for name in names
                ]
                for partition, names in self.deletions.items()
            },
            "partitionsToBeDeleted": list(self.emptied),
            "extraMetadata": dict(self.note),
        }
        return Payload(Kind.CLEAN_PLAN, record)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RequestedClean:
        """
        :param raw: the record of the requested file, which Hudi copies to the inflight one.
        """
        retained = raw["earliestInstantToRetain"] or {}
        return RequestedClean(
            policy=raw["policy"],
            deletions={partition: tuple(names) for partition, names in files_of_clean(raw).items()},
            retained_from=retained.get("timestamp", ""),
            retained_action=retained.get("action", ""),
            last_completed=raw["lastCompletedCommitTimestamp"] or "",
            emptied=tuple(raw["partitionsToBeDeleted"] or ()),
            note=raw.get("extraMetadata") or {},
        )

    @staticmethod
    def read(timeline: ActiveTimeline, clean: Instant, clock: Clock) -> RequestedClean:
        """That of a clean in any state; raises as :meth:`ActiveTimeline.payload`."""
        return RequestedClean.of(timeline.payload(clean.at(State.REQUESTED), clock))
