"""Where the records of each bucket go: the driver's plan, made once, the same for every attempt of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.handles.append import AppendTarget
from spark_jobs.core.view.file_slice import BaseFile, FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView


@dataclass(frozen=True, slots=True)
class MergeRoute:
    """Into the next version of a base file; ``concatenate`` appends rows without looking for their keys (insert)."""

    base: BaseFile
    concatenate: bool = False


@dataclass(frozen=True, slots=True)
class AppendRoute:
    """Into a new log file of a slice."""

    target: AppendTarget


@dataclass(frozen=True, slots=True)
class CreateRoute:
    """Into new file groups ``<prefix>-<n>``; with ``whole_id`` into the one group of that id, whatever its size."""

    partition: str
    file_id_prefix: str
    whole_id: bool = False


Route = MergeRoute | AppendRoute | CreateRoute


@dataclass(frozen=True, slots=True)
class RoutingPlan:
    """``routes`` by bucket number; task ``t`` of ``tasks`` gets the buckets with ``bucket % tasks == t``."""

    routes: Mapping[int, Route]
    tasks: int


def number_slices(slices: Sequence[FileSlice]) -> dict[int, FileSlice]:
    """Bucket numbers for the slices that may take records, largest first, so that tasks get even shares."""
    return dict(enumerate(sorted(slices, key=lambda one: (-one.size, one.partition, one.file_id))))


def append_target(view: FileSystemView, file_slice: FileSlice, pending_compaction: str | None) -> AppendTarget:
    """The log that comes next on a slice.

    While a compaction is pending it belongs to the slice that the compaction will make, which has no base file yet.
    """
    base_instant = pending_compaction or file_slice.base_instant
    logs = tuple(str(log.name) for log in file_slice.log_files if log.name.base_instant == base_instant)
    has_base = file_slice.base_file is not None and pending_compaction is None
    version = view.log_versions.get((file_slice.partition, file_slice.file_id, base_instant), 0) + 1
    return AppendTarget(
        partition=file_slice.partition,
        file_id=file_slice.file_id,
        base_instant=base_instant,
        base_file=str(file_slice.base_file.name) if has_base and file_slice.base_file else "",
        log_names=logs,
        next_version=version,
    )
