"""The plan for a new table gives what Hudi's own tool left for it."""

from __future__ import annotations

import pytest

from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.events import AddPartitions, CreateDatabase, CreateTable, SetProperties
from spark_jobs.hive.plan import MetastoreState, plan_sync
from spark_jobs.hive.state import MetastorePartition, MetastoreTable
from tests.unit.hive.left_by_hudi import Synced, described, synced_by_hudi, without_element_nulls

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("synced", synced_by_hudi(), ids=lambda synced: synced.name)
def test_plan_of_a_new_table_is_what_hudi_left(synced: Synced) -> None:
    config = SyncConfig.of(synced.options)
    plan = plan_sync(synced.facts, config, MetastoreState(database_exists=False), "someone")
    tables: dict[str, MetastoreTable] = {}
    partitions: dict[str, list[MetastorePartition]] = {}
    times: dict[str, dict[str, str]] = {}
    assert not isinstance(plan, Nothing)
    for event in plan.events:
        if isinstance(event, CreateTable):
            tables[event.table.name] = event.table
        elif isinstance(event, AddPartitions):
            partitions.setdefault(event.table, []).extend(event.partitions)
        elif isinstance(event, SetProperties):
            times[event.table] = dict(event.parameters)
        else:
            assert event == CreateDatabase(database="default")
    assert tables.keys() == synced.left.keys()
    for name, left in synced.left.items():
        ours = described(tables[name], partitions.get(name, []))
        ours["parameters"] |= times[name]
        assert without_element_nulls(ours) == without_element_nulls(left)
