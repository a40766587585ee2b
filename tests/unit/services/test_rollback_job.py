"""``rollback.py``: one write, pending or completed, or all that dead writers left."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from spark_jobs.core.clock import SystemClock
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.timeline.steps import request
from spark_jobs.options import (
    CleanOptions,
    CompactionOptions,
    JobState,
    RestoreOptions,
    RollbackOptions,
    ServiceMode,
)
from spark_jobs.options.savepoint import SavepointOptions
from spark_jobs.services.cleaning.candidates import plan_clean
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.execute import reopen
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.unit.core.support import next_time
from tests.unit.services.two_writes import FIRST, SECOND, THIRD, die_writing, is_sound, roll_back, table_of

pytestmark = pytest.mark.unit


class Behind(SystemClock):
    """Half a minute."""

    def now(self) -> datetime:
        return super().now() - timedelta(seconds=30)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_metadata_table_made_over_a_write_forgets_it_when_it_is_rolled_back(root: Folder, table_type: str) -> None:
    """A restore makes it from a listing: no delta commit has the write, its files stand in the base file."""
    path = root / "t"
    local.create(path, table_type)
    local.write(path, FIRST, "0")
    second = local.write(path, local.batch(20, 6, "new groups", 2), "1")
    local.write(path, THIRD, "2")
    run_restore(RestoreOptions(base_path=str(path), instant_time=second), job_context(lake=root.lake))
    roll_back(path, second)
    assert path.table().config.metadata_partitions == ()  # the next write makes it anew
    assert is_sound(path)
    assert local.rows_of(path) == local.expected_rows(FIRST)
    local.write(path, THIRD, "3")
    assert path.table().config.metadata_partitions == ("files",)
    assert is_sound(path)
    assert local.rows_of(path) == local.expected_rows(FIRST, THIRD)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_last_completed_write_is_undone_and_those_before_it_after(root: Folder, table_type: str) -> None:
    path = root / "t"
    times = table_of(path, table_type)
    third = local.write(path, THIRD, "third")
    with pytest.raises(ConfigError, match=f"1 commit.s. came after {times[1]}, the last is {third}"):
        roll_back(path, times[1])
    look = roll_back(path, third, dry_run=True)
    assert look.extra["estimated_seconds"] > 0
    (rolled_back,) = (look.plan or {})["rollbacks"]
    named = [*rolled_back["deletions"], *rolled_back["cancelled_logs"]]
    assert named
    assert all((path / one).is_file() for one in named)
    assert (
        sum(rolled_back["deletions"].values())
        == look.bytes_in
        == sum((path / one).size for one in rolled_back["deletions"])
    )
    done = roll_back(path, third, plan_hash=look.extra["plan_hash"])
    assert (done.state, list(done.extra["rolled_back"])) == (JobState.COMPLETED, [third])
    assert not any((path / one).exists() for one in rolled_back["deletions"])
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert is_sound(path)
    assert f"{third} was rolled back already, by {done.instant} rollback" in str(roll_back(path, third).reason)
    assert roll_back(path, times[1]).state is JobState.COMPLETED
    assert local.rows_of(path) == local.expected_rows(FIRST)
    local.write(path, THIRD, "third")  # its idempotency key is free again
    assert local.rows_of(path) == local.expected_rows(FIRST, THIRD)
    assert is_sound(path)


def test_a_completed_compaction_vanishes_with_its_plan(root: Folder) -> None:
    path = root / "t"
    table_of(path, "MERGE_ON_READ")
    local.compact(path)
    compaction = path.table().timeline.completed_commits()[-1]
    assert compaction.action is Action.COMMIT
    assert roll_back(path, compaction.timestamp).state is JobState.COMPLETED
    assert path.table().timeline.find(compaction.timestamp) == ()
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert is_sound(path)


def test_a_completed_log_compaction_is_cancelled_by_command_blocks(root: Folder) -> None:
    path = root / "t"
    table_of(path, "MERGE_ON_READ")
    local.write(path, THIRD, "third")
    conf = {**local.AT_ONCE, "hoodie.log.compaction.blocks.threshold": "2"}
    options = CompactionOptions(base_path=str(path), log_compaction=True, hoodie_conf=conf)
    done = run_compaction(options, job_context(lake=root.lake))
    assert done.state is JobState.COMPLETED
    assert roll_back(path, done.instant).state is JobState.COMPLETED
    assert path.table().timeline.find(str(done.instant)) == ()
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND, THIRD)
    assert is_sound(path)


@pytest.mark.parametrize("service", [local.compact, local.cluster])
def test_one_that_broke_off_when_it_was_reopened_ends_the_same_way(root: Folder, service: Any) -> None:
    path = root / "t"
    table_of(path, "MERGE_ON_READ" if service is local.compact else "COPY_ON_WRITE")
    service(path)
    settings = path.table().transaction_settings({})
    last = settings.load_timeline().completed_commits()[-1]
    look = roll_back(path, last.timestamp, dry_run=True)

    class Broken(Exception):
        pass

    def breaks(*_: Any, **__: Any) -> Any:
        raise Broken

    patch = pytest.MonkeyPatch()
    patch.setattr("spark_jobs.services.rollback.execute._execute", breaks)
    with pytest.raises(Broken):
        roll_back(path, last.timestamp)
    patch.undo()
    assert settings.load_timeline().find(last.timestamp)[0].state is State.INFLIGHT
    done = roll_back(path)
    assert list(done.extra["rolled_back"]) == [last.timestamp]
    assert settings.load_timeline().find(last.timestamp) == ()
    assert not any((path / one).exists() for one in (look.plan or {})["rollbacks"][0]["deletions"])
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert is_sound(path)


def test_what_may_not_be_undone(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    run_savepoint(SavepointOptions(base_path=str(path)), job_context(lake=root.lake))
    with pytest.raises(ConfigError, match=r"is saved and can't be rolled back: savepoint\.py --mode delete"):
        roll_back(path, times[1])
    with pytest.raises(ConfigError, match="123 is no write of the active timeline"):
        roll_back(path, "123")
    third = local.write(path, THIRD, "third")
    clean = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}
    fourth = local.write(path, local.batch(0, 20, "four", 4), "fourth")
    assert (
        run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=clean), job_context(lake=root.lake)).state
        is JobState.COMPLETED
    )
    with pytest.raises(ConfigError, match=f"can't be read as of {third}: cleaning removed"):
        roll_back(path, fourth)


def test_a_plan_built_on_a_write_keeps_it(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "MERGE_ON_READ")
    options = CompactionOptions(base_path=str(path), mode=ServiceMode.SCHEDULE, hoodie_conf=local.AT_ONCE)
    plan = run_compaction(options, job_context(lake=root.lake)).instant
    with pytest.raises(WriteConflictError, match=f"{plan} compaction .requested. came after {times[1]}"):
        roll_back(path, times[1])
    assert "is a plan whose execution has not begun: --mode cancel" in str(roll_back(path, plan).reason)
    assert f"1 is a plan that stays ({plan})" in str(roll_back(path).reason)


@pytest.mark.parametrize("by_markers", ["true", "false"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_what_a_dead_writer_left(root: Folder, table_type: str, by_markers: str) -> None:
    path = root / "t"
    table_of(path, table_type)
    dead = die_writing(path)
    conf = {"hoodie.rollback.using.markers": by_markers}
    look = roll_back(path, dry_run=True, hoodie_conf=conf)
    assert [one["instant"] for one in (look.plan or {})["rollbacks"]] == [dead]
    done = roll_back(path, hoodie_conf=conf, plan_hash=look.extra["plan_hash"])
    assert list(done.extra["rolled_back"]) == [dead]
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert local.problems_of(path) == []
    assert is_sound(path)
    assert roll_back(path).reason == "no write is pending without a live heartbeat"


def test_several_writes_of_a_run_are_undone_in_turn_by_a_clock_that_is_behind(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, FIRST, "0")
    dead = [die_writing(path) for _ in range(3)]
    options = RollbackOptions(base_path=str(path))
    done = run_rollback(options, job_context(lake=replace(path.lake, clock=Behind()))).extra["rolled_back"]
    assert list(done) == dead[::-1]
    assert sorted({*dead, *done.values()}) == [*dead, *done.values()]
    assert local.rows_of(path) == local.expected_rows(FIRST)
    assert is_sound(path)


def test_a_living_writer_is_left_alone(root: Folder) -> None:
    path = root / "t"
    table_of(path, "COPY_ON_WRITE")
    local.begin_and_leave(path, THIRD)  # the heartbeat thread of this process goes on
    (pending,) = path.table().timeline.pending_writes()
    with pytest.raises(WriteConflictError, match="has a live heartbeat"):
        roll_back(path, pending.timestamp)
    assert f"1 is under way ({pending.timestamp})" in str(roll_back(path).reason)


def test_a_completed_instant_whose_pending_files_are_missing_gets_them(root: Folder) -> None:
    path = root / "t"
    table_of(path, "COPY_ON_WRITE")
    timeline = path.table().timeline
    last = timeline.completed_commits()[-1]
    for state in (State.REQUESTED, State.INFLIGHT):
        file_at(timeline.storage, timeline.path(last.at(state))).unlink()
    pending = reopen(timeline, last)
    assert timeline.reload().find(last.timestamp) == (pending,)
    assert file_at(timeline.storage, timeline.path(last.at(State.REQUESTED))).read_bytes() == b""


def test_a_clean_that_is_pending_may_take_what_is_needed_again(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    table = path.table(lists_storage=True)
    versions = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}
    plan = plan_clean(table, versions)
    assert plan.files
    time = next_time(table)
    request(table.timeline, time, Action.CLEAN, plan.requested().payload(table.base_path))
    for undo in (
        lambda: roll_back(path, times[1]),
        lambda: run_restore(RestoreOptions(base_path=str(path), instant_time=times[0]), job_context(lake=root.lake)),
    ):
        with pytest.raises(WriteConflictError, match=f"clean {time} is pending"):
            undo()
    assert (
        run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=versions), job_context(lake=root.lake)).instant
        == time
    )
    with pytest.raises(ConfigError, match="cleaning removed files"):
        roll_back(path, times[1])
