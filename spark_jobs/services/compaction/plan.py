"""Which slices a compaction merges, and how the plan stands on the timeline (Hudi: HoodieCompactionPlanGenerator,
HoodieLogCompactionPlanGenerator); pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.plans.rewriting import RequestedCompaction
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.compaction.strategies import CompactionLimits as CompactionLimits
from spark_jobs.services.compaction.strategies import choose, wanted_partitions
from spark_jobs.services.slices_of_plan import slice_in_plan, slice_of
from spark_jobs.services.source_files import NO_SOURCES, SourceFiles, line_of

LOG_COMPACTOR = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper"
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The slices in the order of the plan, and the files of a bootstrap that are read with them."""

    slices: tuple[FileSlice, ...]
    sources: SourceFiles = NO_SOURCES

    @property
    def bytes_in(self) -> int:
        return sum(self.piece_bytes)

    @property
    def files_in(self) -> int:
        return sum(len(one.paths) for one in self.slices) + self.sources.count(self.slices)

    @property
    def piece_bytes(self) -> tuple[int, ...]:
        """Of each slice."""
        return tuple(one.size + self.sources.bytes([one]) for one in self.slices)

    @property
    def log_bytes(self) -> int:
        return sum(one.log_size for one in self.slices)

    def only(self, pieces: Sequence[int]) -> CompactionPlan:
        """A plan of some of the slices, by their numbers."""
        return CompactionPlan(tuple(self.slices[number] for number in pieces), self.sources)

    def hashed(self, commands: Collection[str]) -> CompactionPlan:
        """Without these logs, whose bytes decide the order of a plan too."""
        slices = (one.without_logs(commands) for one in self.slices)
        return CompactionPlan(tuple(sorted(slices, key=lambda one: (one.partition, one.file_id))), self.sources)

    def requested(
        self, limits: CompactionLimits, note: Mapping[str, str] = MappingProxyType({}), *, of_logs: bool = False
    ) -> RequestedCompaction:
        """As it stands on the timeline.

        :param note: extra metadata of the plan.
        :param of_logs: a log compaction.
        """
        slices = (replace(slice_in_plan(one), metrics=_metrics(one, limits)) for one in self.slices)
        return RequestedCompaction(slices=tuple(slices), note=note, compactor=LOG_COMPACTOR if of_logs else "")

    def content(self) -> dict[str, Any]:
        """The exact input, for a person and for the hash."""
        return {
            "operations": [
                {
                    "partition": one.partition,
                    "file_id": one.file_id,
                    "base_instant": one.base_instant,
                    "files": self.sources.files(one),
                    "bytes": size,
                }
                for one, size in zip(self.slices, self.piece_bytes, strict=True)
            ]
        }

    def lines(self) -> Iterator[str]:
        """The same as text."""
        for one, size in zip(self.slices, self.piece_bytes, strict=True):
            files = self.sources.files(one)
            yield f"{one.partition or '(no partition)'} {one.file_id}: {len(files)} file(s), {size} bytes"
            yield from map(line_of, files)

    def facts(self) -> dict[str, Any]:
        return {"file_slices": len(self.slices)}

    @staticmethod
    def of(requested: RequestedCompaction, sizes: Mapping[str, int], format: TableFormat) -> CompactionPlan:
        """A plan on the timeline, ours or Hudi's.

        :param sizes: bytes by path relative to the base path; a file that is gone counts 0.
        """
        return CompactionPlan(tuple(slice_of(one, sizes, format) for one in requested.slices))


def plan_compaction(
    slices: Iterable[FileSlice], busy: Collection[tuple[str, str]], limits: CompactionLimits
) -> CompactionPlan:
    """Slices with logs, chosen by the strategy.

    :param busy: (partition, file id) in pending plans.
    """
    by_partition: dict[str, list[FileSlice]] = {}
    for one in slices:
        eligible = by_partition.setdefault(one.partition, [])
        if one.log_files and (one.partition, one.file_id) not in busy:
            eligible.append(one)
    wanted = [
        one
        for partition in wanted_partitions(by_partition, limits)
        for one in sorted(by_partition[partition], key=lambda each: each.file_id)
    ]
    return CompactionPlan(tuple(choose(wanted, limits, lambda one: int(_metrics(one, limits)["TOTAL_IO_MB"]))))


def _metrics(one: FileSlice, limits: CompactionLimits) -> dict[str, float]:
    read = one.size // _MEGABYTE
    write = (one.base_file.size if one.base_file else limits.max_file_size) // _MEGABYTE
    return {
        "TOTAL_LOG_FILES": float(len(one.log_files)),
        "TOTAL_IO_READ_MB": float(read),
        "TOTAL_LOG_FILES_SIZE": float(one.log_size),
        "TOTAL_IO_WRITE_MB": float(write),
        "TOTAL_IO_MB": float(read + write),
    }
