"""Compactions, log compactions and clusterings as they were requested (Hudi: HoodieCompactionPlan,
HoodieRequestedReplaceMetadata, HoodieClusteringPlan).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.payload import Kind, Payload

_RESIZING = "ConsistentBucket"
"""In the names of Hudi's strategies that resize buckets (SparkConsistentBucketClusteringExecutionStrategy)."""
_COMPACTION_VERSION, _VERSION = 2, 1
_REPLACE_FIELDS = ("operationType", "clusteringPlan", "extraMetadata", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSlice:
    """A file slice that is rewritten, by the names of its files; ``base_file`` is empty where it has none, and
    ``base_instant`` in a clustering.
    """

    partition: str
    file_id: str
    base_instant: str = ""
    base_file: str = ""
    log_files: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Partition and file id."""
        return self.partition, self.file_id

    @property
    def names(self) -> tuple[str, ...]:
        """Of all its files."""
        return (self.base_file, *self.log_files) if self.base_file else self.log_files

    @property
    def paths(self) -> tuple[RelativePath, ...]:
        return tuple(join(self.partition, name) for name in self.names)

    def to_operation(self) -> dict[str, Any]:
        """The record in a compaction: names alone."""
        return {
            "baseInstantTime": self.base_instant,
            "deltaFilePaths": list(self.log_files),
            "dataFilePath": self.base_file or None,
            "fileId": self.file_id,
            "partitionPath": self.partition,
            "metrics": dict(self.metrics),
            "bootstrapFilePath": None,
        }

    def to_slice_info(self, base_path: str) -> dict[str, Any]:
        """The record in a clustering: whole paths."""
        return {
            "dataFilePath": self._whole(base_path, self.base_file) if self.base_file else "",
            "deltaFilePaths": [self._whole(base_path, name) for name in self.log_files],
            "fileId": self.file_id,
            "partitionPath": self.partition,
            "bootstrapFilePath": "",
            "version": _VERSION,
        }

    def _whole(self, base_path: str, name: str) -> str:
        return resolve(base_path, join(self.partition, name))

    @staticmethod
    def of(raw: Mapping[str, Any]) -> PlannedSlice:
        """:param raw: of either kind."""
        return PlannedSlice(
            partition=raw["partitionPath"] or "",
            file_id=raw["fileId"] or "",
            base_instant=raw.get("baseInstantTime") or "",
            base_file=_name(raw["dataFilePath"] or ""),
            log_files=tuple(filter(None, map(_name, raw["deltaFilePaths"] or ()))),
            metrics=raw.get("metrics") or {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCompaction:
    """``note`` is the extra metadata; ``compactor`` the class that carries a log compaction out, empty for others."""

    slices: tuple[PlannedSlice, ...]
    note: Mapping[str, str] = field(default_factory=dict)
    compactor: str = ""

    def payload(self) -> Payload:
        """The content of the requested file."""
        strategy = {"compactorClassName": self.compactor, "strategyParams": {}, "version": _VERSION}
        record = {
            "operations": [one.to_operation() for one in self.slices],
            "extraMetadata": dict(self.note) or None,
            "version": _COMPACTION_VERSION,
            "strategy": strategy if self.compactor else None,
            "preserveHoodieMetadata": bool(self.compactor),
        }
        return Payload(Kind.COMPACTION_PLAN, record)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RequestedCompaction:
        return RequestedCompaction(
            slices=tuple(map(PlannedSlice.of, raw["operations"] or ())),
            note=raw.get("extraMetadata") or {},
            compactor=(raw.get("strategy") or {}).get("compactorClassName") or "",
        )

    @staticmethod
    def read(timeline: ActiveTimeline, compaction: Instant, clock: Clock) -> RequestedCompaction:
        """That of a compaction or log compaction in any state; raises as :meth:`ActiveTimeline.plan`."""
        return RequestedCompaction.of(timeline.plan(compaction, clock))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """Slices of one partition that are read and written together, to so many file groups."""

    slices: tuple[PlannedSlice, ...]
    output_groups: int
    metrics: Mapping[str, float] = field(default_factory=dict)

    def to_avro(self, base_path: str) -> dict[str, Any]:
        return {
            "slices": [one.to_slice_info(base_path) for one in self.slices],
            "metrics": dict(self.metrics),
            "numOutputFileGroups": self.output_groups,
            "extraMetadata": None,
            "version": _VERSION,
        }

    @staticmethod
    def of(raw: Mapping[str, Any]) -> PlannedGroup:
        return PlannedGroup(
            slices=tuple(map(PlannedSlice.of, raw["slices"] or ())),
            output_groups=raw["numOutputFileGroups"] or 1,
            metrics=raw.get("metrics") or {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedClustering:
    """``parameters`` are the strategy's; ``note`` is the extra metadata. Without groups it is a requested overwrite."""

    groups: tuple[PlannedGroup, ...] = ()
    strategy: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def slices(self) -> tuple[PlannedSlice, ...]:
        return tuple(one for group in self.groups for one in group.slices)

    @property
    def resizes_buckets(self) -> bool:
        """Whether it splits or merges buckets of a consistent-hashing index."""
        return _RESIZING in self.strategy

    def payload(self, base_path: str) -> Payload:
        """The content of the requested file."""
        plan = {
            "inputGroups": [group.to_avro(base_path) for group in self.groups],
            "strategy": {
                "strategyClassName": self.strategy,
                "strategyParams": dict(self.parameters),
                "version": _VERSION,
            },
            "extraMetadata": {},
            "version": _VERSION,
            "preserveHoodieMetadata": True,
        }
        record = {
            "operationType": "CLUSTER",
            "clusteringPlan": plan,
            "extraMetadata": dict(self.note),
            "version": _VERSION,
        }
        return Payload(Kind.REPLACEMENT_PLAN, record)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> RequestedClustering:
        plan = raw.get("clusteringPlan") or {}
        strategy = plan.get("strategy") or {}
        return RequestedClustering(
            groups=tuple(map(PlannedGroup.of, plan.get("inputGroups") or ())),
            strategy=strategy.get("strategyClassName") or "",
            parameters=strategy.get("strategyParams") or {},
            note=raw.get("extraMetadata") or {},
        )

    @staticmethod
    def read(timeline: ActiveTimeline, replacement: Instant, clock: Clock) -> RequestedClustering:
        """That of a replace commit in any state, of an overwrite too, whose file may be empty; raises as
        :meth:`ActiveTimeline.payload`.
        """
        requested = replacement.at(State.REQUESTED)
        if not timeline.has_content(requested):
            return RequestedClustering()
        return RequestedClustering.of(timeline.payload(requested, clock))


def slices_of_plan(timeline: ActiveTimeline, plan: Instant, clock: Clock) -> tuple[PlannedSlice, ...]:
    """What a compaction, log compaction or clustering rewrites; nothing of an overwrite. Raises as those read."""
    if plan.action is Action.REPLACE_COMMIT:
        return RequestedClustering.read(timeline, plan, clock).slices
    return RequestedCompaction.read(timeline, plan, clock).slices


def requested_overwrite() -> Payload:
    """The requested file of an overwrite: with every field null it is no plan of a clustering."""
    return Payload(Kind.REPLACEMENT_PLAN, dict.fromkeys(_REPLACE_FIELDS))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
