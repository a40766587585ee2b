"""A compaction plan that is taken back beside a living writer, which puts its logs on the slices that it would make."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.files.log_writer import command_block
from spark_jobs.core.files.markers import delete_markers, marker_folder
from spark_jobs.core.format.instant import Action
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.transaction import transaction
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.services.health.leftovers import leftovers_of
from spark_jobs.services.rollback import execute
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import abandoned_writes, undo
from spark_jobs.services.validation.run import validate
from spark_jobs.write import perform
from tests.faults import local_table as local
from tests.faults.local_table import batch, expected_rows, rows_of
from tests.support.folder import Folder
from tests.unit.services.cancelled import beside, compact, logs_of, take_back

pytestmark = pytest.mark.unit


@pytest.fixture
def path(root: Folder) -> Folder:
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    local.write(path, batch(0, 4, "one", 1), "k1")
    local.write(path, batch(0, 4, "two", 2), "k2")
    return path


BEFORE = expected_rows(batch(0, 4, "two", 2))


def test_a_write_whose_logs_lost_their_slice_is_refused_and_rolled_back(path: Folder) -> None:
    plan = compact(path, "schedule")
    with pytest.raises(WriteConflictError, match=f"lies on the slice of {plan}, which is no completed write") as raised:
        beside(path, lambda: take_back(path, plan))
    assert raised.value.exit_code == 3
    assert "\n" not in str(raised.value)
    assert rows_of(path) == BEFORE
    assert validate(str(path), deep=True, lake=path.lake) == []
    assert [log for log in logs_of(path) if plan in log] == []  # which nobody would remove, ever
    local.write(path, batch(0, 2, "three", 3), "k3")  # run again, it goes to the slices that there are
    assert rows_of(path) == expected_rows(batch(0, 4, "two", 2), batch(0, 2, "three", 3))
    compact(path, "scheduleAndExecute")
    assert rows_of(path) == expected_rows(batch(0, 4, "two", 2), batch(0, 2, "three", 3))
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_a_plan_is_not_taken_back_while_a_later_write_is_alive(path: Folder) -> None:
    plan = compact(path, "schedule")
    table = path.table()
    settings = table.transaction_settings(local.AT_ONCE)
    writer = begin(settings, Action.DELTA_COMMIT)
    assert writer is not None
    with pytest.raises(WriteConflictError, match=f"write {writer.time} is under way and may put logs on the slices"):
        compact(path, "cancel", instant_time=plan)
    writer.abandon()
    undo(settings, writer.time, print)
    compact(path, "cancel", instant_time=plan)
    assert rows_of(path) == BEFORE


def test_logs_on_a_planned_slice_are_published_whoever_completes_the_plan_meanwhile(path: Folder) -> None:
    compact(path, "schedule")
    beside(path, lambda: None)
    compact(path, "execute")
    after = expected_rows(batch(0, 4, "two", 2), batch(0, 2, "three", 3))
    assert rows_of(path) == after
    executed: list[str] = []
    compact(path, "schedule")
    beside(path, lambda: executed.append(compact(path, "execute")), "k4")
    assert rows_of(path) == after
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_validation_finds_a_log_of_a_completed_write_that_no_reader_opens(
    path: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = compact(path, "schedule")
    monkeypatch.setattr(transaction, "refuse_logs_of_no_slice", lambda *given: None)  # as a writer that doesn't ask
    instant = beside(path, lambda: take_back(path, plan))
    found, other = [one for one in validate(str(path), lake=path.lake) if one.is_error]
    assert other.path.startswith("b/.")
    assert (found.invariant, found.path.startswith("a/.")) == (5, True)
    assert found.what == (
        f"instant {instant} wrote it on the slice of {plan}, which is no completed write and no pending compaction: "
        "no reader opens it"
    )


@pytest.mark.parametrize("by_markers", [True, False])
def test_a_dead_write_leaves_no_logs_on_slices_that_lost_their_plan(path: Folder, by_markers: bool) -> None:
    plan = compact(path, "schedule")
    logs = logs_of(path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(perform, "undo", lambda *given: None)  # a process that dies undoes nothing
        with pytest.raises(WriteConflictError):
            beside(path, lambda: take_back(path, plan))
    table = path.table()
    settings = table.transaction_settings(local.AT_ONCE)
    (dead,) = abandoned_writes(settings, table.timeline)
    left = [log for log in logs_of(path) if plan in log]
    assert len(left) == 2
    if not by_markers:
        delete_markers(table.storage, table.base_path, dead.timestamp)
        table.storage.create(f"{marker_folder(table.base_path, dead.timestamp)}/never-completed", b"")
    # a log in which another write has a block too, as where Hudi appends to a file that is there, is not this one's
    shared = left[0]
    block = command_block(table.timeline.last_time + "1", "20200101000000000")
    (path / shared).write_bytes((path / shared).read_bytes() + block)
    with settings.new_lock():
        rollback = roll_back(settings, settings.load_timeline(), dead)
    found = table.refreshed().timeline.payload(rollback, table.clock)["partitionMetadata"]
    deleted = {one.removeprefix(f"{path}/") for each in found.values() for one in each["successDeleteFiles"]}
    assert deleted == {left[1]}
    assert rows_of(path) == BEFORE
    assert set(logs_of(path)) >= {*logs, shared}
    assert len(logs_of(path)) == len(logs) + 2  # with the block that takes its blocks back
    assert len(path.table().timeline.completed(Action.ROLLBACK)) == 2


def test_logs_that_a_rollback_by_hudi_leaves_on_a_slice_that_was_taken_back(path: Folder) -> None:
    """They hide the rows of their file groups as soon as the timeline begins after the plan, and are told before."""
    plan = compact(path, "schedule")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(execute, "stray_logs", lambda *given: lambda partition, log: False)  # as Hudi does by markers
        with pytest.raises(WriteConflictError):
            beside(path, lambda: take_back(path, plan))
    left = {log for log in logs_of(path) if plan in log}
    assert len(left) == 4  # two of them with the block that takes back what is in the others
    found = validate(str(path), deep=True, lake=path.lake)
    assert {(one.invariant, one.is_error) for one in found} == {(7, False)}
    assert {one.path for one in found} == left
    assert "once the timeline begins after" in found[0].what
    table = path.table(lists_storage=True)
    assert leftovers_of(table, table.view(), []).files == 4
    assert rows_of(path) == BEFORE
    compacted = path.with_name("compacted")
    path.copy_to(compacted)
    compact(compacted, "scheduleAndExecute")
    assert validate(str(compacted), deep=True, lake=compacted.lake) == []

    local.write(path, batch(2, 2, "four", 4), "k4")
    after = expected_rows(batch(0, 4, "two", 2), batch(2, 2, "four", 4))
    assert rows_of(path) == after
    table = path.table()
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[:-1])
    assert rows_of(path) != after
    found = [one for one in validate(str(path), lake=path.lake) if one.is_error]
    assert {one.path for one in found if "hides the slice of" in one.what} == left
    for one in left:
        (path / one).unlink()
    table = path.table(lists_storage=True)
    assert local.rows_in(table) == after
    assert [one for one in validate(str(path), lake=path.lake) if one.is_error and one.invariant != 9] == []
