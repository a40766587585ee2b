"""What dry runs of compaction and clustering say of dead writes, which are rolled back before a plan is executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import StorageError
from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.storage.confined import ConfinedStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rewriting.command_logs import command_logs
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.run import validate
from tests.support.engines import StopsAfter
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.unit.core.support import context_of, new_table, next_time, rows, scope, start
from tests.unit.services.by_hand import compact, everything, insert
from tests.unit.services.planned import RUNS, Run, cluster, update

pytestmark = pytest.mark.unit


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """Two file groups, each with a log."""
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    for key in "ab":
        insert(made, key, f"{key}2")
    for key in "ab":
        update(made, key, 2)
    return made


def die_writing(table: HudiTable) -> str:
    """A write that dies after it put a log on a file group that is there, and a base file into a new one; its time."""
    time = next_time(table)
    start(table, time)
    now = table.refreshed()
    view, context = now.view(), context_of(now, time)
    one = min(view.latest_slices(), key=lambda each: each.file_id)
    stamped = stamp(rows(("a", 9, time), partition="p"), context, scope(), "p", "")
    append_changes(
        context, scope(), append_target(view, one, None), Changes(stamped, np.array([False])), hard_deletes=False
    )
    handle = CreateHandle(context, scope(), "p", SYSTEM_CLOCK.new_uuid())
    handle.write(rows(("z", 9, time), partition="p"))
    handle.close()
    return time


def files(table: HudiTable) -> dict[str, int]:
    base = file_at(table.storage, table.base_path)
    return {f"p/{one.name}": one.size for one in (base / "p").iterdir() if one.is_file()}


def deletes(result: JobResult) -> dict[str, int]:
    assert result.plan is not None
    return {one["path"]: one["bytes"] for one in result.plan["deletes"]}


def by_rollback_job(table: HudiTable) -> JobResult:
    return run_rollback(RollbackOptions(base_path=table.base_path, dry_run=True), job_context(lake=table.lake))


@RUNS
def test_a_dry_run_lists_the_dead_writes_and_what_goes_with_them(table: HudiTable, run: Run) -> None:
    rows_before = everything(table)
    dead = die_writing(table)
    before = files(table)
    look = run(table, dry_run=True)
    assert look.plan is not None
    rollback = by_rollback_job(table)
    assert rollback.plan is not None
    assert look.plan["rolls_back"] == rollback.plan["rollbacks"]
    (one,) = look.plan["rolls_back"]
    assert (one["instant"], len(one["deletions"]), len(one["cancelled_logs"])) == (dead, 1, 1)
    assert look.extra["rolls_back"] == [dead]
    assert (files(table), deletes(look)) == (before, one["deletions"])
    done = run(table, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.files_in, done.bytes_in) == (JobState.COMPLETED, look.files_in, look.bytes_in)
    assert set(before) - set(files(table)) == set(deletes(look))
    assert everything(table) == rows_before
    assert not [one for one in validate(table.base_path, deep=True, lake=table.lake) if one.is_error]


@RUNS
@pytest.mark.parametrize("mode", ["schedule", "scheduleAndExecute"])
def test_a_hash_holds_when_the_dead_writes_were_rolled_back_meanwhile(table: HudiTable, run: Run, mode: str) -> None:
    """A command block in a log file of its own is all that came to the slice."""
    rows_before = everything(table)
    die_writing(table)
    asked = run(table, dry_run=True, mode=mode).extra["plan_hash"]
    roll_back_failed_writes(table.transaction_settings({}))
    slices = table.refreshed().file_slices()
    assert len(command_logs(table.storage, table.base_path, slices)) == 1
    again = run(table, dry_run=True, mode=mode)
    assert again.plan is not None
    assert (again.extra["plan_hash"].split("-")[0], "rolls_back" in again.plan) == (asked.split("-")[0], False)
    made = run(table, plan_hash=asked, mode=mode)
    if mode == "schedule":
        assert made.state is JobState.SCHEDULED
        made = run(table, plan_hash=asked, mode="execute")
    assert made.state is JobState.COMPLETED
    assert everything(table) == rows_before
    assert not [one for one in validate(table.base_path, deep=True, lake=table.lake) if one.is_error]


@RUNS
def test_a_plan_on_the_timeline_is_done_by_its_hash_though_a_write_died_since(table: HudiTable, run: Run) -> None:
    asked = run(table, mode="schedule").extra["plan_hash"]
    dead = die_writing(table)
    with pytest.raises(StorageError):
        run(table, StopsAfter(0), mode="execute", plan_hash=asked)
    look = run(table, mode="execute", dry_run=True, plan_hash=asked)
    assert look.plan is not None
    assert "rolls_back" not in look.plan  # the first try did that, and withdrew its execution
    assert dead not in [one.timestamp for one in table.refreshed().timeline.instants]
    assert run(table, mode="execute", plan_hash=asked).state is JobState.COMPLETED


def test_scheduling_rolls_no_dead_write_back_and_says_so(table: HudiTable) -> None:
    dead = die_writing(table)
    look = compact(table, mode="schedule", dry_run=True)
    assert look.plan is not None
    assert ("rolls_back" in look.plan, look.plan["deletes"]) == (False, [])
    compact(table, mode="schedule")
    assert dead in [one.timestamp for one in table.refreshed().timeline.pending_writes()]
    look = compact(table, mode="execute", dry_run=True)
    assert look.extra["rolls_back"] == [dead]


@RUNS
def test_what_a_dead_worker_left_of_the_plan_is_listed(
    table: HudiTable, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """It finished no piece: the plan goes back to requested."""
    with pytest.raises(StorageError):
        run(table, StopsAfter(1))
    (plan,) = table.refreshed().timeline.pending({Action.COMPACTION, Action.REPLACE_COMMIT})
    gone_on_with = run(table, dry_run=True)
    assert gone_on_with.plan is not None
    assert "rolls_back" not in gone_on_with.plan
    for one in file_at(table.storage, table.base_path, ".hoodie/.aux/pyhudi.done").glob("*/*.json"):
        one.unlink()
    before = files(table)
    for look in (run(table, dry_run=True), run(table, mode="cancel", instant_time=plan.timestamp, dry_run=True)):
        assert look.plan is not None
        (rolled_back,) = look.plan["rolls_back"]
        assert (rolled_back["instant"], rolled_back["back_to_requested"]) == (
            plan.timestamp,
            "cancels" not in look.plan,
        )
        made = {path: size for path, size in before.items() if plan.timestamp in path and path.endswith(".parquet")}
        assert rolled_back["deletions"] == made
    assert f"{plan} is rolled back first: 1 file(s) of" in capsys.readouterr().err
    assert run(table).state is JobState.COMPLETED
    assert not set(made) & set(files(table))


def test_a_rollback_that_was_left_pending_and_late_files_are_listed(table: HudiTable) -> None:
    dead = die_writing(table)
    roll_back_failed_writes(table.transaction_settings({}))
    late = f"{SYSTEM_CLOCK.new_uuid()}-0_1-1-1_{dead}.parquet"
    create_marker(table.storage, table.base_path, dead, "p", late, MarkerType.CREATE)
    file_at(table.storage, table.base_path, "p", late).write_bytes(b"late")
    other = die_writing(table)

    def refuses(storage: ConfinedStorage, paths: Sequence[str]) -> NoReturn:
        raise StorageError(f"{paths} can't be deleted (injected)")

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(ConfinedStorage, "delete", refuses)
        broken.setattr(ConfinedStorage, "delete_files", refuses)
        broken.setattr(ConfinedStorage, "discard", refuses)
        with pytest.raises(StorageError, match="can't be deleted"):
            roll_back_failed_writes(table.transaction_settings({}))
    assert table.refreshed().timeline.pending({Action.ROLLBACK})
    before = files(table)
    look = compact(table, dry_run=True)
    assert look.extra["rolls_back"] == [other]
    assert deletes(look)[f"p/{late}"] == 4
    assert len(deletes(look)) == 2
    assert compact(table, plan_hash=look.extra["plan_hash"]).state is JobState.COMPLETED
    assert set(before) - set(files(table)) == set(deletes(look))
    assert cluster(table, dry_run=True).plan is not None
