"""Compaction, clustering and cleaning of a real table without a cluster: no service changes what a query sees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.locks.fenced_storage import FencedStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.options.result import JobState
from tests.support.deaths import in_another_process
from tests.support.folder import Folder, file_at
from tests.support.locks import outlast
from tests.unit.core.support import contents, new_table
from tests.unit.services.by_hand import CHANGES, Change, change, clean, cluster, compact, everything, insert

pytestmark = pytest.mark.unit


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(made, "a", "b", "c")
    return made


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHANGES, max_size=3), CHANGES, CHANGES)
def test_services_between_writes_change_no_query(
    tmp_path_factory: pytest.TempPathFactory, before: list[list[Change]], during: list[Change], after: list[Change]
) -> None:
    plain = new_table(tmp_path_factory.mktemp("plain"), clock=SYSTEM_CLOCK)
    served = new_table(tmp_path_factory.mktemp("served"), clock=SYSTEM_CLOCK)
    for table in (plain, served):
        insert(table, "a", "b", "c")
        for number, changes in enumerate(before):
            change(table, changes, number + 2)
    compact(served, mode="schedule")
    for table in (plain, served):
        change(table, during, 10)
    seen = everything(served)
    compact(served, mode="execute")
    assert everything(served) == seen
    for table in (plain, served):
        change(table, after, 11)
    seen = everything(served)
    clean(served)
    cluster(served)
    assert everything(served) == seen
    keys = [[(key, stamp) for key, stamp, _ in contents(table)] for table in (plain, served)]
    assert keys[0] == keys[1]


def test_a_dry_run_lists_what_is_then_read(table: HudiTable) -> None:
    change(table, [("a", False), ("b", True)], 2)
    dry = compact(table, dry_run=True)
    assert dry.state is JobState.DRY_RUN
    assert dry.plan is not None
    assert len(dry.plan["operations"]) == 1
    assert len(table.refreshed().timeline.instants) == 2
    done = compact(table)
    assert (done.state, done.files_in, done.bytes_in) == (JobState.COMPLETED, dry.files_in, dry.bytes_in)
    assert (done.updates, done.deletes, done.records_out) == (1, 1, 2)


def test_reasons_when_there_is_nothing_to_do(table: HudiTable) -> None:
    found = compact(table)
    assert found.state is JobState.NOTHING_TO_DO
    assert found.reason is not None
    assert "none of 1 file slices has logs" in found.reason
    assert "no compaction is planned" in str(compact(table, mode="execute").reason)
    assert "1 completed commit(s), 1 are retained" in str(clean(table).reason)
    cluster(table)
    assert "0 commit(s) since the last clustering" in str(cluster(table).reason)
    with pytest.raises(ConfigError, match="--instant-time 7 is no pending compaction of this table"):
        compact(table, mode="execute", instant_time="7")


def test_a_plan_is_made_once_and_executed_by_name(table: HudiTable) -> None:
    change(table, [("a", False)], 2)
    planned = compact(table, mode="schedule")
    again = compact(table, mode="schedule")
    assert (planned.instant, planned.state) == (again.instant, JobState.SCHEDULED)
    assert "planned already" in str(again.reason)
    done = compact(table, mode="execute", instant_time=planned.instant)
    assert (done.instant, done.state) == (planned.instant, JobState.COMPLETED)
    repeated = compact(table, mode="execute", instant_time=planned.instant)
    assert "is completed already" in str(repeated.reason)


def test_a_copy_on_write_table_is_not_compacted(root: Folder) -> None:
    made = new_table(root / "t", clock=SYSTEM_CLOCK, merge_on_read=False)
    with pytest.raises(ConfigError, match="is COPY_ON_WRITE, it has no logs"):
        compact(made)


def test_cleaning_after_compactions_removes_what_no_query_reads(table: HudiTable) -> None:
    for ordering in (2, 3, 4):
        change(table, [("a", False)], ordering)
        compact(table)
    seen = everything(table)
    dry = clean(table, dry_run=True)
    done = clean(table)
    assert (done.state, done.extra["deleted_files"]) == (JobState.COMPLETED, dry.files_in)
    assert dry.files_in > 0
    assert everything(table) == seen
    # the newest, and the one before it
    assert len(list(file_at(table.storage, table.base_path, "p").glob("*.parquet"))) == 2


def test_a_clean_that_died_is_finished_by_the_next(table: HudiTable) -> None:
    for ordering in (2, 3, 4):
        change(table, [("a", False)], ordering)
        compact(table)
    seen = everything(table)
    expected = clean(table, dry_run=True)

    def die() -> None:
        FencedStorage.delete_files = _dying  # type: ignore[assignment, method-assign]
        clean(table)

    assert in_another_process(die) == 7
    outlast(file_at(table.storage, table.base_path))
    assert [one.action for one in table.refreshed().timeline.pending({Action.CLEAN})] == [Action.CLEAN]
    clean(table)
    assert everything(table) == seen
    (done,) = table.refreshed().timeline.completed(Action.CLEAN)
    assert table.refreshed().timeline.payload(done, SYSTEM_CLOCK)["totalFilesDeleted"] == expected.files_in


def _dying(storage: FencedStorage, paths: Sequence[str]) -> NoReturn:
    """Of the files that a call deletes the first goes; then the process is gone."""
    storage.unfenced.delete(paths[0])
    os._exit(7)
