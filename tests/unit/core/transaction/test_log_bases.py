"""Which slices a log may lie on, from a timeline with every kind of instant."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.transaction.log_bases import base_instants, logs_of_no_slice, refuse_logs_of_no_slice
from tests.support.folder import Folder
from tests.unit.core.support import complete, new_table, start

pytestmark = pytest.mark.unit

FIRST, SECOND, THIRD, PLAN, BEGUN, CLUSTERING, ROLLED, OWN = (f"2024010100000000{number}" for number in range(1, 9))


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """Three delta commits; then a compaction, a delta commit and a clustering that are pending, and the own write."""
    table = new_table(root / "t")
    for time in (FIRST, SECOND, THIRD):
        complete(table, start(table, time), [])
    request(table.timeline, PLAN, Action.COMPACTION)
    start(table, BEGUN)
    request(table.timeline, CLUSTERING, Action.REPLACE_COMMIT)
    start(table, OWN)
    return table.refreshed()


def log_on(base: str, file_id: str = "g-0") -> str:
    return f"a/.{file_id}_{base}.log.1_0-0-1"


def test_the_base_instants_of_what_was_written() -> None:
    written = [log_on(SECOND, "h-0"), log_on(SECOND), f"a/g-0_0-0-1_{THIRD}.parquet", f".i-0_{FIRST}.log.2_0-0-1.cdc"]
    assert base_instants(VERSION_6, written) == {SECOND: log_on(SECOND), FIRST: f".i-0_{FIRST}.log.2_0-0-1.cdc"}


@pytest.mark.parametrize("base", [FIRST, THIRD, PLAN, OWN])
def test_slices_of_writes_of_planned_compactions_and_of_the_write_itself(table: HudiTable, base: str) -> None:
    refuse_logs_of_no_slice(table.timeline, OWN, [log_on(base)])


def test_an_inflight_compaction_makes_its_slices_too(table: HudiTable) -> None:
    (plan,) = table.timeline.pending({Action.COMPACTION})
    transition(table.timeline, plan, State.INFLIGHT, b"")
    refuse_logs_of_no_slice(table.refreshed().timeline, OWN, [log_on(PLAN)])


@pytest.mark.parametrize("base", [BEGUN, CLUSTERING, ROLLED])
def test_slices_of_other_pending_writes_and_of_what_was_undone_are_none(table: HudiTable, base: str) -> None:
    with pytest.raises(WriteConflictError, match=f"instant {OWN} may not be published, its log .* slice of {base}"):
        refuse_logs_of_no_slice(table.timeline, OWN, [log_on(THIRD), log_on(base)])


@pytest.mark.parametrize("gone", [(0,), (0, 1, 2), (1,)])
def test_archived_writes_count_also_behind_one_that_a_savepoint_keeps(table: HudiTable, gone: tuple[int, ...]) -> None:
    done = table.timeline.completed_commits()
    archive(table.timeline, table.base_path, [done[number] for number in gone])
    left = table.refreshed().timeline
    logs = [log_on(time) for time in (FIRST, SECOND, THIRD, ROLLED)]
    assert logs_of_no_slice(left, OWN, logs) == {ROLLED: log_on(ROLLED)}


def test_the_slices_of_a_bootstrap_before_and_after_it_was_archived(root: Folder) -> None:
    table = new_table(root / "t")
    bootstrap = complete(table, start(table, "00000000000001", Action.COMMIT), [])
    complete(table, start(table, FIRST), [])
    line = table.refreshed().timeline
    refuse_logs_of_no_slice(line, OWN, [log_on("00000000000001")])
    archive(line, table.base_path, [bootstrap])
    refuse_logs_of_no_slice(table.refreshed().timeline, OWN, [log_on("00000000000001")])
