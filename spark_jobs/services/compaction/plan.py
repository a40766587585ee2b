"""Which slices a compaction merges (Hudi: HoodieCompactionPlanGenerator, LogFileSizeBasedCompactionStrategy); pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.files.names import parse_base_file_name, parse_log_file_name
from spark_jobs.core.view.file_slice import BaseFile, FileSlice, LogFile

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """``target_io`` in megabytes read and written, ``log_size`` in bytes of logs that make a slice worth it
    (inclusive).
    """

    target_io: int
    log_size: int
    max_file_size: int


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The slices in the order of the plan."""

    slices: tuple[FileSlice, ...]

    @property
    def bytes_in(self) -> int:
        return sum(one.size for one in self.slices)

    @property
    def files_in(self) -> int:
        return sum(len(one.paths) for one in self.slices)

    def to_avro(self, limits: CompactionLimits) -> dict[str, Any]:
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
            "extraMetadata": None,
            "version": 2,
            "strategy": None,
            "preserveHoodieMetadata": False,
        }

    def to_json(self) -> dict[str, Any]:
        """For a person: the exact input."""
        return {
            "operations": [
                {"partition": one.partition, "file_id": one.file_id, "files": list(one.paths), "bytes": one.size}
                for one in self.slices
            ]
        }

    def facts(self) -> dict[str, Any]:
        return {"file_slices": len(self.slices)}

    @staticmethod
    def from_avro(raw: Mapping[str, Any], sizes: Mapping[str, int]) -> CompactionPlan:
        """A plan on the timeline, ours or Hudi's.

        :param sizes: bytes by path relative to the base path; a file that is gone counts 0.
        """
        return CompactionPlan(tuple(_slice_of(operation, sizes) for operation in raw["operations"] or []))


def plan_compaction(
    slices: Iterable[FileSlice], busy: frozenset[tuple[str, str]], limits: CompactionLimits
) -> CompactionPlan:
    """Slices with logs, most log bytes first, until the megabytes are used up (the one that crosses the limit is in).

    :param busy: (partition, file id) in pending plans.
    """
    wanted = [
        one
        for one in slices
        if one.log_files and (one.partition, one.file_id) not in busy and one.log_size >= limits.log_size
    ]
    wanted.sort(key=lambda one: (-one.log_size, one.partition, one.file_id))
    chosen: list[FileSlice] = []
    left = float(limits.target_io)
    for one in wanted:
        if left <= 0:
            break
        chosen.append(one)
        left -= _metrics(one, limits)["TOTAL_IO_MB"]
    return CompactionPlan(tuple(chosen))


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


def _slice_of(operation: Mapping[str, Any], sizes: Mapping[str, int]) -> FileSlice:
    partition, file_id = operation["partitionPath"] or "", operation["fileId"]
    prefix = f"{partition}/" if partition else ""
    base_name = parse_base_file_name((operation["dataFilePath"] or "").rsplit("/", 1)[-1])
    log_names = [parse_log_file_name(path.rsplit("/", 1)[-1]) for path in operation["deltaFilePaths"] or []]
    logs = [LogFile(partition, name, sizes.get(f"{prefix}{name}", 0)) for name in log_names if name is not None]
    return FileSlice(
        partition=partition,
        file_id=file_id,
        base_instant=operation["baseInstantTime"],
        base_file=BaseFile(partition, base_name, sizes.get(f"{prefix}{base_name}", 0)) if base_name else None,
        log_files=tuple(sorted(logs, key=lambda log: log.name.order)),
    )
