"""Which file group takes how many inserts (Hudi: UpsertPartitioner, SparkUpsertDeltaCommitPartitioner); pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT
from spark_jobs.core.view.file_slice import FileSlice


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeSettings:
    """Bytes, but for ``split_size`` (records) and ``small_slices`` (slices of a partition of a MERGE_ON_READ table)."""

    max_file_size: int
    small_file_limit: int
    split_size: int
    auto_split: bool
    record_size: int
    small_slices: int


@dataclass(frozen=True, slots=True)
class InsertShare:
    """So many inserts go to ``file_id``, or to a new file group where that is None."""

    file_id: str | None
    records: int


@dataclass(frozen=True, slots=True)
class NewGroup:
    """A file group that an index asks for, under the whole id that it has to have, and its records."""

    partition: str
    file_id: str
    records: int


def average_record_size(
    commits: Iterable[tuple[Instant, CommitMetadata]], settings: SizeSettings, threshold: float
) -> int:
    """Bytes of a record: of the newest commit that wrote enough to tell, else the configured estimate.

    :param commits: completed ones, newest first.
    """
    for instant, metadata in commits:
        stats = metadata.write_stats
        if instant.action is Action.DELTA_COMMIT:
            stats = tuple(stat for stat in stats if not stat.is_log_append)
        written, records = sum(stat.total_write_bytes for stat in stats), sum(stat.num_writes for stat in stats)
        if records and written > threshold * settings.small_file_limit:
            return math.ceil(written / records)
    return settings.record_size


def small_files(slices: Iterable[FileSlice], settings: SizeSettings, *, merge_on_read: bool) -> list[FileSlice]:
    """Slices of one partition that take inserts. Not those of a bootstrap whose rows are in other files: how small they
    are says nothing.

    Of a MERGE_ON_READ table those without logs, smallest first, as many as ``small_slices``.
    """
    own = (one for one in slices if one.base_instant != BOOTSTRAP_INSTANT)
    found = [one for one in own if one.base_file is not None and one.base_file.size < settings.small_file_limit]
    if not merge_on_read:
        return found
    bare = sorted(
        (one for one in found if not one.log_files), key=lambda one: one.base_file.size if one.base_file else 0
    )
    return bare[: settings.small_slices]


def pack_inserts(inserts: int, small: Sequence[FileSlice], settings: SizeSettings) -> list[InsertShare]:
    """Spread the inserts of one partition: small files are filled up first, the rest opens new file groups."""
    shares: list[InsertShare] = []
    left = inserts
    for one in small:
        size = one.base_file.size if one.base_file else 0
        room = min((settings.max_file_size - size) // settings.record_size, left)
        if room > 0:
            shares.append(InsertShare(one.file_id, room))
            left -= room
    if left <= 0:
        return shares
    per_group = math.ceil(settings.max_file_size / settings.record_size) if settings.auto_split else settings.split_size
    groups = math.ceil(left / per_group)
    for number in range(groups):
        shares.append(InsertShare(None, per_group if number < groups - 1 else left - per_group * (groups - 1)))
    return shares


def shares_of_groups(groups: Mapping[int, NewGroup]) -> dict[str, list[InsertShare]]:
    """The same for file groups that an index begins, which hold what they hold, whatever their size."""
    found: dict[str, list[InsertShare]] = {}
    for group in groups.values():
        found.setdefault(group.partition, []).append(InsertShare(None, group.records))
    return found


def by_partition(slices: Iterable[FileSlice]) -> Mapping[str, list[FileSlice]]:
    found: dict[str, list[FileSlice]] = {}
    for one in slices:
        found.setdefault(one.partition, []).append(one)
    return found
