"""Where the records of each bucket go: the driver's plan, made once, the same for every attempt of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.handles.append import AppendTarget
from spark_jobs.core.view.file_slice import BaseFile, FileSlice


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
