"""A table of three file groups with logs, and services that plan, break off and go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import AT_ONCE, change, insert

Run = Callable[..., JobResult]


def compact(table: HudiTable, engine: LocalEngine | None = None, conf: Any = (), **options: Any) -> JobResult:
    given = CompactionOptions(base_path=table.base_path, hoodie_conf={**AT_ONCE, **dict(conf)}, **options)
    return run_compaction(given, job_context(Progress("test"), engine=engine, lake=table.lake))


def cluster(table: HudiTable, engine: LocalEngine | None = None, conf: Any = (), **options: Any) -> JobResult:
    small = {"hoodie.clustering.plan.strategy.max.bytes.per.group": "1", **AT_ONCE, **dict(conf)}
    given = ClusteringOptions(base_path=table.base_path, hoodie_conf=small, **options)
    return run_clustering(given, job_context(Progress("test"), engine=engine, lake=table.lake))


def three_groups(path: Folder) -> HudiTable:
    """Each with a log."""
    made = new_table(path, clock=SYSTEM_CLOCK)
    for key in "abc":
        insert(made, key, f"{key}2")
    for key in "abc":
        update(made, key, 2)
    return made


def update(table: HudiTable, key: str, ordering: int) -> None:
    rows = table.refreshed().scan(query="read_optimized").to_arrow().to_pylist()
    name = next(str(row["_hoodie_file_name"]) for row in rows if row["id"] == key)
    change(table, [(key, False)], ordering, group=name.partition("_")[0])


def actions(table: HudiTable) -> list[tuple[Action, State]]:
    return [
        (one.action, one.state) for one in table.refreshed().timeline.instants if one.action is not Action.DELTA_COMMIT
    ]


RUNS = pytest.mark.parametrize("run", [compact, cluster])
