"""Writes put together by hand, and the services that run between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from tests.support.jobs import job_context
from tests.unit.core.support import complete, context_of, next_time, rows, scope, start

ENGINE = LocalEngine(SYSTEM_CLOCK)
AT_ONCE = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.max.commits": "1",
    "hoodie.metadata.enable": "false",  # the writes here are put together by hand and tell it nothing
}
Change = tuple[str, bool]


def compact(table: HudiTable, engine: LocalEngine = ENGINE, conf: Any = (), **options: Any) -> JobResult:
    given = CompactionOptions(base_path=table.base_path, hoodie_conf={**AT_ONCE, **dict(conf)}, **options)
    return run_compaction(given, job_context(Progress("compact"), engine=engine, lake=table.lake))


def cluster(table: HudiTable, engine: LocalEngine = ENGINE, conf: Any = (), **options: Any) -> JobResult:
    given = ClusteringOptions(base_path=table.base_path, hoodie_conf={**AT_ONCE, **dict(conf)}, **options)
    return run_clustering(given, job_context(Progress("cluster"), engine=engine, lake=table.lake))


def clean(table: HudiTable, **options: Any) -> JobResult:
    given = CleanOptions(base_path=table.base_path, hoodie_conf=AT_ONCE, **options)
    return run_cleaning(given, job_context(Progress("clean"), lake=table.lake))


def insert(table: HudiTable, *keys: str) -> None:
    time = next_time(table)
    work = start(table, time)
    handle = CreateHandle(context_of(table, time), scope(), "p", SYSTEM_CLOCK.new_uuid())
    handle.write(rows(*((key, 1, time) for key in keys), partition="p"))
    complete(table, work, handle.close())


def change(table: HudiTable, changes: list[Change], ordering: int, group: str | None = None) -> None:
    """A delta commit of one log on a file group, the first if none is named; a change that is true is a delete."""
    if not changes:
        return
    time = next_time(table)
    work = start(table, time)
    table = table.refreshed()
    view = table.view()
    one = next(one for one in view.latest_slices() if group in (None, one.file_id))
    target = append_target(view, one, table.pending.compaction.get((one.partition, one.file_id)))
    context = context_of(table, time)
    stamped = stamp(rows(*((key, ordering, time) for key, _ in changes), partition="p"), context, scope(), "p", "")
    deleted = np.array([gone for _, gone in changes], bool)
    complete(table, work, append_changes(context, scope(), target, Changes(stamped, deleted), hard_deletes=False))


def everything(table: HudiTable) -> list[str]:
    """All rows with all meta columns but the file name."""
    return sorted(str(row) for row in table.refreshed().scan().to_arrow().drop(["_hoodie_file_name"]).to_pylist())


CHANGES = st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), max_size=4, unique_by=lambda one: one[0])


def overwrite(table: HudiTable, partition: str = "p") -> None:
    """A replace commit of one new file group for all groups that the partition has."""
    table = table.refreshed()
    time = next_time(table)
    old = tuple(one.file_id for one in table.view([partition]).latest_slices()) if table.partitions() else ()
    work = start(table, time, Action.REPLACE_COMMIT)
    handle = CreateHandle(context_of(table, time), scope(), partition, SYSTEM_CLOCK.new_uuid())
    handle.write(rows(("a", 1, time), partition=partition))
    complete(table, work, handle.close(), OperationType.INSERT_OVERWRITE, {partition: old} if old else {})
