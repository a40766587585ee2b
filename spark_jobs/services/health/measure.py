"""Health from the timeline and a listing: no data file is opened unless footers are asked for."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from spark_jobs.core.config.keys import archive as archive_keys
from spark_jobs.core.config.keys import clean as clean_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.config.keys.table import BASE_FILE_FORMAT, BaseFileFormat
from spark_jobs.core.errors import CorruptTableError, HudiError, OutsideTableError, UnsupportedTableError
from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.format.instant import Action
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import resolve
from spark_jobs.core.storage.times import now_ms as storage_now_ms
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.heartbeat import read_pulse
from spark_jobs.core.view.file_slice import BaseFile, FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.nothing import Nothing
from spark_jobs.services.archival.bounds import last_retained
from spark_jobs.services.archival.job import plan_of
from spark_jobs.services.archival.plan import Keep
from spark_jobs.services.cleaning.candidates import plan_clean, retained_from
from spark_jobs.services.due import commits_since, delta_commits_since_compaction
from spark_jobs.services.health.facts import (
    GroupLoad,
    Health,
    Limits,
    MetadataDepth,
    PartitionLoad,
    PendingInstant,
    SizeClass,
    size_bounds,
)
from spark_jobs.services.health.leftovers import leftovers_of, lists_storage
from spark_jobs.services.remedy import remedy_of
from spark_jobs.services.source_files import source_files
from spark_jobs.services.validation.evidence import Evidence

_TOP = 10
_FOOTERS_AT_ONCE = 16


def measure(
    table: HudiTable, properties: Mapping[str, str], overdue_hours: int, progress: Progress, *, footers: bool = False
) -> Health:
    """
    :param table: opened with ``lists_storage`` where leftovers are to be looked for among the data files.
    :param properties: ``hoodie.*`` values that say when services are due.
    :param footers: read the footer of every live base file, for the number of rows.
    :raises ConfigError: values that the services refuse too.
    """
    faults: list[str] = []
    with progress.phase("listing"):
        view = _view(table, faults)
        stored = view.latest_slices()
        latest = _with_sources(table, stored, faults)
    bases = [one.base_file for one in latest if one.base_file is not None]
    with progress.phase("history"):
        cleanable_files, cleanable_bytes = _cleanable(table, properties, faults)
        archivable, keep_commits = _archivable(table, properties, faults)
    limits = limits_of(properties, overdue_hours, keep_commits)
    line = table.timeline
    loads = _partitions(latest, limits.small_file)
    all_bytes = sum(one.size for group in view.all_groups() for one in group.slices)
    all_files = sum(len(one.paths) for group in view.all_groups() for one in group.slices)
    cleans = line.completed(Action.CLEAN)
    last_clean = cleans[-1].timestamp if cleans else ""
    kept, clean_due = _clean_lag(table, properties, last_clean)
    small = [one for one in bases if one.size < limits.small_file]
    mergeable = [one for one in loads if one.small > 1]
    sizes = [load.bytes for load in loads]
    return Health(
        base_path=table.base_path,
        table=table.config.name,
        table_type=table.config.table_type.value,
        version=table.config.format.version,
        listed_by="storage" if lists_storage(table) else "metadata table",
        partitions=len(loads),
        groups=len(latest),
        base_files=len(bases),
        base_bytes=sum(one.size for one in bases),
        logs=sum(len(one.log_files) for one in latest),
        log_bytes=sum(one.log_size for one in latest),
        rows=_rows(table, bases, progress) if footers else None,
        history_files=all_files - sum(len(one.paths) for one in latest),
        history_bytes=all_bytes - sum(one.size for one in stored),
        cleanable_files=cleanable_files,
        cleanable_bytes=cleanable_bytes,
        sizes=_classes(bases, limits.small_file),
        small_files=len(small),
        small_bytes=sum(one.size for one in small),
        mergeable_files=sum(one.small for one in mergeable),
        mergeable_partitions=len(mergeable),
        largest_logs=_largest_logs(latest),
        largest_partitions=tuple(sorted(loads, key=lambda one: (-one.bytes, one.partition))[:_TOP]),
        median_partition_bytes=int(statistics.median(sizes)) if sizes else 0,
        commits_since_compaction=len(delta_commits_since_compaction(line)) if table.config.is_merge_on_read else None,
        commits_since_clean=len(commits_since(line, last_clean)),
        commits_kept=kept,
        clean_due=clean_due,
        last_clean=last_clean,
        active_commits=len(line.completed_commits()),
        archivable=archivable,
        timeline_files=sum(not one.is_directory for one in table.storage.list(line.folder)),
        pending=_pending(table, overdue_hours),
        leftovers=leftovers_of(table, view, faults),
        metadata=_metadata(table),
        limits=limits,
        faults=tuple(dict.fromkeys(faults)),
    )


def limits_of(properties: Mapping[str, str], overdue_hours: int, keep_commits: int) -> Limits:
    policy = clean_keys.CLEAN_POLICY.of(properties)
    retained = {
        "KEEP_LATEST_FILE_VERSIONS": clean_keys.CLEAN_FILE_VERSIONS_RETAINED,
        "KEEP_LATEST_BY_HOURS": clean_keys.CLEAN_HOURS_RETAINED,
    }.get(policy.value, clean_keys.CLEAN_COMMITS_RETAINED)
    return Limits(
        small_file=parquet_keys.SMALL_FILE_LIMIT.of(properties),
        max_file=parquet_keys.MAX_FILE_SIZE.of(properties),
        compact_after=compact_keys.COMPACT_MAX_DELTA_COMMITS.of(properties),
        clean_after=clean_keys.CLEAN_MAX_COMMITS.of(properties),
        retained=f"{policy.value} {retained.of(properties)}",
        keep_commits=keep_commits,
        metadata_compact_after=metadata_keys.METADATA_COMPACT_AFTER.of(properties),
        overdue_hours=overdue_hours,
    )


def _view(table: HudiTable, faults: list[str]) -> FileSystemView:
    """The table's; without the plans and replacements that can't be read, where there are such.

    :raises CorruptTableError: files contradict each other, so that no reader sees the table.
    """
    try:
        return table.view()
    except (CorruptTableError, OutsideTableError) as failure:
        view = Evidence(table, reads_archive=False).view
        if view is None:
            raise
        faults.append(failure.what)
        return view


def _with_sources(table: HudiTable, slices: Sequence[FileSlice], faults: list[str]) -> Sequence[FileSlice]:
    """The base file of a bootstrapped slice counts with the file that has its rows."""
    try:
        sources = source_files(table, slices)
    except (CorruptTableError, OutsideTableError, UnsupportedTableError) as failure:
        faults.append(failure.what)
        return slices
    found = []
    for one in slices:
        source = sources.of(one)
        if one.base_file is not None and source is not None:
            one = replace(one, base_file=one.base_file._replace(size=one.base_file.size + source.size))
        found.append(one)
    return found


def _cleanable(table: HudiTable, properties: Mapping[str, str], faults: list[str]) -> tuple[int, int]:
    """Files and bytes that cleaning would take."""
    try:
        plan = plan_clean(table, properties)
    except (CorruptTableError, OutsideTableError) as failure:
        faults.append(failure.what)
        return 0, 0
    return plan.files, plan.bytes


def _archivable(table: HudiTable, properties: Mapping[str, str], faults: list[str]) -> tuple[int, int]:
    """Instants that archival would take now, and the number of commits from which on it takes any."""
    try:
        plan = plan_of(table, properties)
        if not isinstance(plan, Nothing):
            return len(plan.instants), plan.keep.most
        retain = retained_from(table, properties, at_last_commit=True)
    except (CorruptTableError, OutsideTableError) as failure:
        faults.append(failure.what)
        return 0, archive_keys.KEEP_MAX_COMMITS.of(properties)
    commits = [one.timestamp for one in table.timeline.completed_commits()]
    return 0, Keep.of(properties, commits, retain.timestamp if retain else None).most


def _clean_lag(table: HudiTable, properties: Mapping[str, str], last_clean: str) -> tuple[int, int]:
    """Commits from the one on that the last clean retained, and how many make a clean due: by commits it leaves the
    retained ones and counts those since it, by other policies all since it count.
    """
    after = clean_keys.CLEAN_MAX_COMMITS.of(properties)
    if clean_keys.CLEAN_POLICY.of(properties) is not clean_keys.CleaningPolicy.KEEP_LATEST_COMMITS:
        return len(commits_since(table.timeline, last_clean)), after
    retained, _ = last_retained(table)
    kept = len(table.timeline.commits_from(retained))
    return kept, clean_keys.CLEAN_COMMITS_RETAINED.of(properties) + after


def _partitions(latest: Sequence[FileSlice], small_file: int) -> list[PartitionLoad]:
    found: dict[str, list[int]] = {}
    for one in latest:
        counts = found.setdefault(one.partition, [0, 0, 0, 0])
        base = one.base_file.size if one.base_file else 0
        counts[0] += 1
        counts[1] += base
        counts[2] += one.log_size
        counts[3] += one.base_file is not None and base < small_file
    return [
        PartitionLoad(partition=partition, groups=groups, base_bytes=base, log_bytes=logs, small=small)
        for partition, (groups, base, logs, small) in found.items()
    ]


def _classes(bases: Sequence[BaseFile], small_file: int) -> tuple[SizeClass, ...]:
    bounds = size_bounds(small_file)
    counts = [[0, 0] for _ in range(len(bounds) + 1)]
    for base in bases:
        place = bisect_right(bounds, base.size)
        counts[place][0] += 1
        counts[place][1] += base.size
    return tuple(
        SizeClass(below=bound, files=files, bytes=size)
        for bound, (files, size) in zip((*bounds, None), counts, strict=True)
    )


def _largest_logs(latest: Sequence[FileSlice]) -> tuple[GroupLoad, ...]:
    with_logs = sorted((one for one in latest if one.log_files), key=lambda one: (-one.log_size, one.file_id))
    return tuple(
        GroupLoad(
            partition=one.partition,
            file_id=one.file_id,
            base_bytes=one.base_file.size if one.base_file else 0,
            log_bytes=one.log_size,
            logs=len(one.log_files),
        )
        for one in with_logs[:_TOP]
    )


def _rows(table: HudiTable, bases: Sequence[BaseFile], progress: Progress) -> int | None:
    """Rows of the base files by their footers; None for formats without one."""
    if BASE_FILE_FORMAT.of(table.config.properties) is not BaseFileFormat.PARQUET:
        return None

    def count(base: BaseFile) -> int:
        with open_base_file(table.storage, resolve(table.base_path, base.relative_path)) as file:
            return int(file.metadata.num_rows)

    total = 0
    with progress.phase("footers", len(bases)) as phase, ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        for rows in pool.map(count, bases):
            total += rows
            phase.advance()
    return total


def _pending(table: HudiTable, overdue_hours: int) -> tuple[PendingInstant, ...]:
    settings = table.heartbeats
    now_ms = storage_now_ms(table.storage, table.timeline.folder, table.clock)
    found = []
    for one in table.timeline.filter(lambda one: not one.is_completed and one.action is not Action.SAVEPOINT):
        alive = read_pulse(table.storage, table.base_path, one.timestamp, settings, table.clock).alive
        remedy = remedy_of(table.timeline, one, table.clock)
        hours = max(0.0, (now_ms - table.timeline.moved_ms[one]) / 3_600_000)
        found.append(
            PendingInstant(
                instant=one.timestamp,
                action=one.action.value,
                state=one.state.value,
                hours=round(hours, 2),
                alive=alive,
                overdue=not alive and hours >= overdue_hours,
                service=remedy.service,
                job=remedy.job.file,
                operator=remedy.job.operator,
            )
        )
    return tuple(found)


def _metadata(table: HudiTable) -> MetadataDepth | None:
    partitions = table.config.metadata_partitions
    if not partitions:
        return None
    try:
        metadata = MetadataTable.open(table.storage, table.base_path, table.timeline, table.clock)
        slices = [
            one
            for each in metadata.partitions
            if table.config.lists(each)
            for one in metadata.view(each).latest_slices()
        ]
    except HudiError as failure:
        return MetadataDepth(partitions=partitions, commits=0, logs=0, log_bytes=0, base_bytes=0, fault=failure.what)
    return MetadataDepth(
        partitions=partitions,
        commits=len(delta_commits_since_compaction(metadata.timeline)),
        logs=sum(len(one.log_files) for one in slices),
        log_bytes=sum(one.log_size for one in slices),
        base_bytes=sum(one.base_file.size for one in slices if one.base_file is not None),
    )
