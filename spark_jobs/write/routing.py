"""The plan of a write: file sizing, a route for each bucket, and how many tasks share them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spark_jobs.core.config.keys import bulkinsert as bulkinsert_keys
from spark_jobs.core.config.keys import copyonwrite as copyonwrite_keys
from spark_jobs.core.config.keys import write as write_keys
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.handles.append import append_target
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.options.choices import Operation
from spark_jobs.services.clustering.updates import settle_updates
from spark_jobs.write.pack import (
    InsertShare,
    SizeSettings,
    average_record_size,
    by_partition,
    pack_inserts,
    shares_of_groups,
    small_files,
)
from spark_jobs.write.routes import (
    AppendRoute,
    CreateRoute,
    MergeRoute,
    Route,
    RoutingPlan,
)
from spark_jobs.write.workload import OpenWrite, Spread, Workload

ROWS_PER_TASK = 250_000
BYTES_PER_TASK = 64 << 20


def pack(write: OpenWrite, work: Workload) -> Mapping[str, list[InsertShare]]:
    """By partition path, which file groups take how many of its inserts."""
    view, profile = work.view, work.profile
    if write.config.operation is Operation.DELETE:
        return {}
    if work.begun is not None:
        return shares_of_groups(work.begun)
    settings = sizes(write)
    pending = {**write.table.pending.compaction, **write.table.pending.clustering}
    open_slices = [one for one in view.latest_slices() if (one.partition, one.file_id) not in pending]
    groups = by_partition(open_slices)
    return {
        partition: pack_inserts(
            count,
            small_files(groups.get(partition, []), settings, merge_on_read=write.config.is_merge_on_read),
            settings,
        )
        for partition, count in profile.inserts.items()
    }


def sizes(write: OpenWrite) -> SizeSettings:
    """With the record size that the commits tell."""
    record_size = average_record_size(
        _commits(write), write.config.sizes, copyonwrite_keys.SIZE_ESTIMATION_THRESHOLD.of(write.config.properties)
    )
    return replace(write.config.sizes, record_size=record_size)


def _commits(write: OpenWrite) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Newest first."""
    timeline = write.table.timeline
    for instant in reversed(timeline.completed_commits()):
        yield instant, timeline.commit_metadata(instant, write.table.clock)


def route(write: OpenWrite, work: Workload, shares: Mapping[str, list[InsertShare]]) -> tuple[RoutingPlan, Spread]:
    """The plan, and for each partition the (bucket, inserts) that its new records are spread over."""
    view, slices, profile = work.view, work.slices, work.profile
    number_of = {(one.partition, one.file_id): number for number, one in slices.items()}
    filled = {(p, share.file_id) for p, some in shares.items() for share in some if share.file_id is not None}
    routes: dict[int, Route] = {}
    touched = set(profile.updates) | {number_of[(p, file_id or "")] for p, file_id in filled}
    changed = ((slices[number].partition, slices[number].file_id) for number in touched)
    settle_updates(write.table, write.config.properties, changed, write.progress.note)
    for number in sorted(touched):
        one = slices[number]
        routes[number] = _route_of(write, view, one, fills=(one.partition, one.file_id) in filled)
    spread: dict[str, list[tuple[int, int]]] = {}
    next_number = len(slices)
    for number, group in (work.begun or {}).items():
        routes[number] = CreateRoute(group.partition, group.file_id, whole_id=True)
    for partition, some in shares.items() if work.begun is None else ():
        for share in some:
            if share.file_id is not None:
                number = number_of[(partition, share.file_id)]
            else:
                number, next_number = next_number, next_number + 1
                routes[number] = CreateRoute(partition, write.table.clock.new_uuid())
            spread.setdefault(partition, []).append((number, share.records))
    rows = sum(profile.updates.values()) + sum(profile.inserts.values())
    by_size = max(rows // ROWS_PER_TASK, work.content_size // BYTES_PER_TASK)
    wanted = _asked_tasks(write) or max(2 * write.engine.slots, by_size)
    return RoutingPlan(routes, max(1, min(len(routes), wanted))), spread


def _asked_tasks(write: OpenWrite) -> int:
    """The tasks that the user asked for; 0 where nobody did."""
    by_operation = {
        Operation.INSERT: write_keys.INSERT_PARALLELISM,
        Operation.INSERT_OVERWRITE: write_keys.INSERT_PARALLELISM,
        Operation.INSERT_OVERWRITE_TABLE: write_keys.INSERT_PARALLELISM,
        Operation.BULK_INSERT: bulkinsert_keys.BULK_INSERT_PARALLELISM,
        Operation.DELETE: write_keys.DELETE_PARALLELISM,
    }
    return by_operation.get(write.config.operation, write_keys.UPSERT_PARALLELISM).of(write.config.properties)


def _route_of(write: OpenWrite, view: FileSystemView, one: FileSlice, *, fills: bool) -> Route:
    key = (one.partition, one.file_id)
    if write.config.is_merge_on_read and not fills:
        return AppendRoute(append_target(view, one, write.table.pending.compaction.get(key)))
    assert one.base_file is not None
    return MergeRoute(one.base_file, concatenate=write.config.concatenates)
