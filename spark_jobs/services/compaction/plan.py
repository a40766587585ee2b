"""Which slices a compaction merges, and how the plan stands on the timeline (Hudi: HoodieCompactionPlanGenerator,
HoodieLogCompactionPlanGenerator); pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.view.file_slice import BaseFile, FileSlice, LogFile
from spark_jobs.services.compaction.strategies import CompactionLimits as CompactionLimits
from spark_jobs.services.compaction.strategies import choose, wanted_partitions
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

    def to_avro(
        self, limits: CompactionLimits, note: Mapping[str, str] | None = None, *, of_logs: bool = False
    ) -> dict[str, Any]:
        """
        :param note: extra metadata of the plan.
        :param of_logs: a log compaction.
        """
        strategy = {"compactorClassName": LOG_COMPACTOR, "strategyParams": {}, "version": 1}
        return {
            "operations": [
                {
                    "baseInstantTime": one.base_instant,
                    "deltaFilePaths": [str(log.name) for log in one.log_files],
                    "dataFilePath": str(one.base_file.name) if one.base_file else None,
                    "fileId": one.file_id,
                    "partitionPath": one.partition,
                    "metrics": _metrics(one, limits),
                    "bootstrapFilePath": None,
                }
                for one in self.slices
            ],
            "extraMetadata": dict(note) if note else None,
            "version": 2,
            "strategy": strategy if of_logs else None,
            "preserveHoodieMetadata": of_logs,
        }

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
    def from_avro(raw: Mapping[str, Any], sizes: Mapping[str, int], format: TableFormat) -> CompactionPlan:
        """A plan on the timeline, ours or Hudi's.

        :param sizes: bytes by path relative to the base path; a file that is gone counts 0.
        """
        return CompactionPlan(tuple(_slice_of(operation, sizes, format) for operation in raw["operations"] or []))


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


def _slice_of(operation: Mapping[str, Any], sizes: Mapping[str, int], format: TableFormat) -> FileSlice:
    partition, file_id = operation["partitionPath"] or "", operation["fileId"]
    prefix = f"{partition}/" if partition else ""
    base_name = format.parse_base_file((operation["dataFilePath"] or "").rsplit("/", 1)[-1])
    log_names = [format.parse_log_file(path.rsplit("/", 1)[-1]) for path in operation["deltaFilePaths"] or []]
    logs = [LogFile(partition, name, sizes.get(f"{prefix}{name}", 0)) for name in log_names if name is not None]
    return FileSlice(
        partition=partition,
        file_id=file_id,
        base_instant=operation["baseInstantTime"],
        base_file=BaseFile(partition, base_name, sizes.get(f"{prefix}{base_name}", 0)) if base_name else None,
        log_files=tuple(sorted(logs, key=lambda log: log.name.order)),
    )
