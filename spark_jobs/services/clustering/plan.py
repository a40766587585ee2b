"""Which base files are rewritten together (Hudi: SparkSizeBasedClusteringPlanStrategy); pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from spark_jobs.core.config.keys.clustering import (
    CLUSTER_SORT_COLUMNS,
    CLUSTER_TARGET_FILE,
    LAYOUT_STRATEGY,
    LayoutStrategy,
)
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.plans.rewriting import PlannedGroup, RequestedClustering
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.clustering.partitions import PartitionFilter
from spark_jobs.services.slices_of_plan import slice_in_plan, slice_of
from spark_jobs.services.source_files import NO_SOURCES, SourceFiles, line_of

EXECUTION_STRATEGY = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
SORT_COLUMNS = CLUSTER_SORT_COLUMNS.name
ALL_PARTITIONS = PartitionFilter()
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringLimits:
    """Bytes, but for ``max_groups``; ``single_groups`` keeps a last group of one file slice."""

    small_file_limit: int
    target_file: int
    group_bytes: int
    max_groups: int
    single_groups: bool
    max_file_size: int


@dataclass(frozen=True, slots=True)
class ClusteringGroup:
    """Slices of one partition that are read and written together."""

    slices: tuple[FileSlice, ...]
    output_groups: int

    @property
    def partition(self) -> str:
        return self.slices[0].partition

    @property
    def bytes_in(self) -> int:
        return sum(one.size for one in self.slices)


@dataclass(frozen=True, slots=True)
class ClusteringPlan:
    """Groups in the order of the plan, and the columns that the output is sorted by (none: not sorted).

    ``layout`` is how several columns make one order, ``target_file`` the bytes of a file that is written. In the plans
    of this project both stand on the timeline; of one of Hudi's who executes it decides, as in Hudi.
    """

    groups: tuple[ClusteringGroup, ...]
    sort_columns: tuple[str, ...]
    layout: LayoutStrategy = LayoutStrategy.LINEAR
    target_file: int = CLUSTER_TARGET_FILE.default
    sources: SourceFiles = NO_SOURCES
    """The files of a bootstrap that are read with the groups."""

    @property
    def slices(self) -> tuple[FileSlice, ...]:
        return tuple(one for group in self.groups for one in group.slices)

    @property
    def files_in(self) -> int:
        return sum(len(one.paths) for one in self.slices) + self.sources.count(self.slices)

    @property
    def bytes_in(self) -> int:
        return sum(self.piece_bytes)

    @property
    def piece_bytes(self) -> tuple[int, ...]:
        """Of each group."""
        return tuple(group.bytes_in + self.sources.bytes(group.slices) for group in self.groups)

    @property
    def log_bytes(self) -> int:
        return sum(one.log_size for one in self.slices)

    def only(self, pieces: Sequence[int]) -> ClusteringPlan:
        """A plan of some of the groups, by their numbers."""
        return replace(self, groups=tuple(self.groups[number] for number in pieces))

    def hashed(self, commands: Collection[str]) -> ClusteringPlan:
        """Without these logs; groups are filled by the sizes of base files."""
        groups = (
            replace(group, slices=tuple(one.without_logs(commands) for one in group.slices)) for group in self.groups
        )
        return replace(self, groups=tuple(groups))

    def facts(self) -> dict[str, Any]:
        return {"groups": len(self.groups), **self._how()}

    def _how(self) -> dict[str, Any]:
        return {
            "sort_columns": list(self.sort_columns),
            "layout": self.layout.value,
            "target_file_bytes": self.target_file,
        }

    def requested(self, note: Mapping[str, str] = MappingProxyType({})) -> RequestedClustering:
        """As it stands on the timeline.

        :param note: extra metadata of the plan.
        """
        parameters = {LAYOUT_STRATEGY.name: self.layout.value, CLUSTER_TARGET_FILE.name: str(self.target_file)}
        if self.sort_columns:
            parameters[SORT_COLUMNS] = ",".join(self.sort_columns)
        groups = (
            PlannedGroup(
                slices=tuple(map(slice_in_plan, one.slices)), output_groups=one.output_groups, metrics=_metrics(one)
            )
            for one in self.groups
        )
        return RequestedClustering(groups=tuple(groups), strategy=EXECUTION_STRATEGY, parameters=parameters, note=note)

    def content(self) -> dict[str, Any]:
        """The exact input, for a person and for the hash."""
        return {
            **self._how(),
            "groups": [
                {
                    "partition": group.partition,
                    "file_ids": [one.file_id for one in group.slices],
                    "files": [file for one in group.slices for file in self.sources.files(one)],
                    "bytes": size,
                    "output_groups": group.output_groups,
                }
                for group, size in zip(self.groups, self.piece_bytes, strict=True)
            ],
        }

    def lines(self) -> Iterator[str]:
        """The same as text."""
        for group, size in zip(self.groups, self.piece_bytes, strict=True):
            yield (
                f"{group.partition or '(no partition)'}: {len(group.slices)} file group(s) of {size} bytes "
                f"are replaced by {group.output_groups}"
            )
            yield from (line_of(file) for one in group.slices for file in self.sources.files(one))

    @staticmethod
    def of(
        requested: RequestedClustering,
        sizes: Mapping[str, int],
        format: TableFormat,
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> ClusteringPlan:
        """A plan on the timeline, ours or Hudi's.

        :param sizes: in bytes by path relative to the base path.
        :param properties: of who executes it: these decide what the plan does not say.
        """
        parameters = requested.parameters
        columns = tuple(name.strip() for name in parameters.get(SORT_COLUMNS, "").split(",") if name.strip())
        groups = tuple(
            ClusteringGroup(tuple(slice_of(one, sizes, format) for one in group.slices), group.output_groups)
            for group in requested.groups
        )
        given = {**properties, **parameters}
        return ClusteringPlan(groups, columns, layout_by(given, columns), target_file=CLUSTER_TARGET_FILE.of(given))


def layout_by(properties: Mapping[str, str], columns: Sequence[str]) -> LayoutStrategy:
    """A curve through fewer than two columns is a line."""
    layout = LAYOUT_STRATEGY.of(properties)
    return layout if len(columns) > 1 else LayoutStrategy.LINEAR


def plan_clustering(
    slices: Iterable[FileSlice],
    busy: Collection[tuple[str, str]],
    limits: ClusteringLimits,
    sort_columns: tuple[str, ...],
    partitions: PartitionFilter = ALL_PARTITIONS,
    layout: LayoutStrategy = LayoutStrategy.LINEAR,
) -> ClusteringPlan:
    """Small slices of each partition, largest first, filled greedily into groups.

    :param busy: (partition, file id) in pending plans.
    """
    candidates: dict[str, list[FileSlice]] = {}
    for one in slices:
        eligible = candidates.setdefault(one.partition, [])
        base_size = one.base_file.size if one.base_file else 0
        if base_size < limits.small_file_limit and (one.partition, one.file_id) not in busy:
            eligible.append(one)
    groups: list[ClusteringGroup] = []
    for partition in partitions.apply(candidates):
        for members in _fill(candidates[partition], limits):
            size = sum(_planned_size(one, limits) for one in members)
            groups.append(ClusteringGroup(tuple(members), max(1, math.ceil(size / limits.target_file))))
    return ClusteringPlan(tuple(groups[: limits.max_groups]), sort_columns, layout, limits.target_file)


def _fill(slices: list[FileSlice], limits: ClusteringLimits) -> list[list[FileSlice]]:
    """As Hudi, which asks of a partition's last group alone whether it is more than one slice."""
    groups: list[list[FileSlice]] = []
    filled = 0
    for one in sorted(slices, key=lambda one: (-_planned_size(one, limits), one.file_id)):
        size = _planned_size(one, limits)
        if not groups or filled + size > limits.group_bytes:
            groups.append([])
            filled = 0
        groups[-1].append(one)
        filled += size
    if groups and len(groups[-1]) == 1 and not limits.single_groups:
        groups.pop()
    return groups


def _planned_size(one: FileSlice, limits: ClusteringLimits) -> int:
    return one.base_file.size if one.base_file else limits.max_file_size


def _metrics(group: ClusteringGroup) -> dict[str, float]:
    read = float(group.bytes_in // _MEGABYTE)
    write = float(sum(one.base_file.size if one.base_file else 0 for one in group.slices) // _MEGABYTE)
    return {
        "TOTAL_LOG_FILES": float(sum(len(one.log_files) for one in group.slices)),
        "TOTAL_IO_READ_MB": read,
        "TOTAL_LOG_FILES_SIZE": float(sum(one.log_size for one in group.slices)),
        "TOTAL_IO_WRITE_MB": write,
        "TOTAL_IO_MB": read + write,
    }
