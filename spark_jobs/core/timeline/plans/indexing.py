"""An indexing as it was requested, and as it was completed (Hudi: HoodieIndexPlan, HoodieIndexCommitMetadata)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.payload import Kind, Payload

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedIndexing:
    """``partitions`` are folders of the metadata table; ``up_to`` is the last instant that is in them."""

    partitions: tuple[str, ...]
    up_to: str

    def payload(self) -> Payload:
        """The content of the requested file."""
        return Payload(Kind.INDEX_PLAN, self._record())

    def completed_payload(self) -> Payload:
        """The content of the completed file."""
        return Payload(Kind.INDEX, self._record())

    def _record(self) -> dict[str, Any]:
        infos = [
            {"version": _VERSION, "metadataPartitionPath": one, "indexUptoInstant": self.up_to}
            for one in self.partitions
        ]
        return {"version": _VERSION, "indexPartitionInfos": infos}

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RequestedIndexing:
        infos = raw.get("indexPartitionInfos") or []
        return RequestedIndexing(
            partitions=tuple(str(one["metadataPartitionPath"]) for one in infos),
            up_to=str(infos[0]["indexUptoInstant"] or "") if infos else "",
        )

    @staticmethod
    def read(timeline: ActiveTimeline, indexing: Instant, clock: Clock) -> RequestedIndexing:
        """That of an indexing in any state; raises as :meth:`ActiveTimeline.payload`."""
        return RequestedIndexing.of(timeline.payload(indexing.at(State.REQUESTED), clock))
