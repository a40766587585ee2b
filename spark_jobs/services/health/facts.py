"""What is measured of a table's health, as values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_SIZES = (MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB)


def size_bounds(small_file: int) -> tuple[int, ...]:
    """Upper bounds (exclusive, in bytes) of the classes of file sizes, the limit of small files among them; a last
    class has no bound.
    """
    return tuple(sorted({*_SIZES, small_file} - {0}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From when on something is due, by the ``hoodie.*`` keys of the same meaning; sizes in bytes. ``keep_commits`` is
    what archival goes by: more than configured where cleaning retains more.
    """

    small_file: int
    max_file: int
    compact_after: int
    clean_after: int
    retained: str
    keep_commits: int
    metadata_compact_after: int
    overdue_hours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeClass:
    """Base files of the latest slices with less than ``below`` bytes (None: no bound), and not in a class before."""

    below: int | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoad:
    """A file group whose logs are large beside its base file (bytes)."""

    partition: str
    file_id: str
    base_bytes: int
    log_bytes: int
    logs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLoad:
    """The latest slices of a partition; ``small`` counts base files below the limit."""

    partition: str
    groups: int
    base_bytes: int
    log_bytes: int
    small: int

    @property
    def bytes(self) -> int:
        return self.base_bytes + self.log_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInstant:
    """``hours`` since it reached its state; ``alive``: its writer's heart beats. ``job`` and ``operator`` end it by
    ``service``.
    """

    instant: str
    action: str
    state: str
    hours: float
    alive: bool
    overdue: bool
    service: str
    job: str
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataDepth:
    """How much of the metadata table is in logs: ``commits`` since its last compaction, logs of its latest slices."""

    partitions: tuple[str, ...]
    commits: int
    logs: int
    log_bytes: int
    base_bytes: int
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Orphans; ``files`` is None where the storage was not listed. Paths are examples."""

    files: int | None
    bytes: int
    marker_folders: int
    heartbeats: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One look at a table. Counts and bytes are of the latest slices where nothing else is said.

    ``history_*`` are older slices and replaced groups, ``cleanable_*`` what cleaning now would take of them. ``rows``
    is None unless footers were read. ``log_share`` is log bytes by base bytes. ``commits_kept`` are those whose slices
    no clean looked at, and ``clean_due`` is how many of them make one due. ``archivable`` instants would be archived
    now. ``faults`` are files that could not be read: what depends on them is left out.
    """

    base_path: str
    table: str
    table_type: str
    version: int
    listed_by: str
    partitions: int
    groups: int
    base_files: int
    base_bytes: int
    logs: int
    log_bytes: int
    rows: int | None
    history_files: int
    history_bytes: int
    cleanable_files: int
    cleanable_bytes: int
    sizes: tuple[SizeClass, ...]
    small_files: int
    small_bytes: int
    mergeable_files: int
    mergeable_partitions: int
    largest_logs: tuple[GroupLoad, ...]
    largest_partitions: tuple[PartitionLoad, ...]
    median_partition_bytes: int
    commits_since_compaction: int | None
    commits_since_clean: int
    commits_kept: int
    clean_due: int
    last_clean: str
    active_commits: int
    archivable: int
    timeline_files: int
    pending: tuple[PendingInstant, ...]
    leftovers: Leftovers
    metadata: MetadataDepth | None
    limits: Limits
    faults: tuple[str, ...] = ()

    @property
    def log_share(self) -> float:
        return self.log_bytes / self.base_bytes if self.base_bytes else 0.0

    @property
    def skew(self) -> float:
        """How many times the median the largest partition has; 1 where there is nothing to compare."""
        if not self.largest_partitions or not self.median_partition_bytes:
            return 1.0
        return self.largest_partitions[0].bytes / self.median_partition_bytes

    def to_json(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        return {**found, "log_share": round(self.log_share, 4), "skew": round(self.skew, 2)}


def readable(size: float) -> str:
    """Bytes for a person: ``1.5 MiB``."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} B"
