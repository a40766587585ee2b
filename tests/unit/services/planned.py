"""A table of three file groups with logs, and services that plan, break off and go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.result import JobResult
from tests.support.folder import Folder
from tests.unit.core.support import new_table
from tests.unit.services import by_hand
from tests.unit.services.by_hand import change, compact, insert

Run = Callable[..., JobResult]


def cluster(table: HudiTable, engine: LocalEngine = by_hand.ENGINE, conf: Any = (), **options: Any) -> JobResult:
    """One file group at a time."""
    small = {"hoodie.clustering.plan.strategy.max.bytes.per.group": "1", **dict(conf)}
    return by_hand.cluster(table, engine, small, **options)


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
