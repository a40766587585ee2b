"""A table's numbers with nothing due, to change one at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_jobs.services.health.facts import (
    GIB,
    MIB,
    Health,
    Leftovers,
    Limits,
    MetadataDepth,
    PartitionLoad,
    PendingInstant,
    SizeClass,
    size_bounds,
)

LIMITS = Limits(
    small_file=100 * MIB,
    max_file=120 * MIB,
    compact_after=5,
    clean_after=1,
    retained="KEEP_LATEST_COMMITS 10",
    keep_commits=30,
    metadata_compact_after=10,
    overdue_hours=24,
)


def partition(name: str, size: int, small: int = 0) -> PartitionLoad:
    return PartitionLoad(partition=name, groups=4, base_bytes=size, log_bytes=0, small=small)


def pending(**changes: Any) -> PendingInstant:
    one = PendingInstant(
        instant="20240101000000000",
        action="compaction",
        state="requested",
        hours=1,
        alive=False,
        overdue=False,
        service="compaction",
        job="compact.py",
        operator="HudiCompactionOperator",
    )
    return replace(one, **changes)


HEALTHY = Health(
    base_path="/lake/trips",
    table="trips",
    table_type="MERGE_ON_READ",
    version=6,
    listed_by="metadata table",
    partitions=3,
    groups=12,
    base_files=12,
    base_bytes=12 * 110 * MIB,
    logs=4,
    log_bytes=4 * MIB,
    rows=None,
    history_files=0,
    history_bytes=0,
    cleanable_files=0,
    cleanable_bytes=0,
    sizes=tuple(
        SizeClass(below=bound, files=12 if bound == 256 * MIB else 0, bytes=0)
        for bound in (*size_bounds(LIMITS.small_file), None)
    ),
    small_files=0,
    small_bytes=0,
    mergeable_files=0,
    mergeable_partitions=0,
    largest_logs=(),
    largest_partitions=(partition("a", GIB), partition("b", GIB), partition("c", GIB)),
    median_partition_bytes=GIB,
    commits_since_compaction=4,
    commits_since_clean=3,
    commits_kept=5,
    clean_due=11,
    last_clean="",
    active_commits=5,
    archivable=0,
    timeline_files=15,
    pending=(),
    leftovers=Leftovers(files=0, bytes=0, marker_folders=0, heartbeats=0, paths=()),
    metadata=MetadataDepth(partitions=("files",), commits=4, logs=4, log_bytes=1000, base_bytes=2000),
    limits=LIMITS,
)


def health(**changes: Any) -> Health:
    return replace(HEALTHY, **changes)
