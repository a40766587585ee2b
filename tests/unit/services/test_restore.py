"""``restore.py``: a table taken back to a savepoint or a commit, over rewrites, plans, dead writers and breaks."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys.table import METADATA_PARTITIONS
from spark_jobs.core.config.table_config import update_table_config
from spark_jobs.core.errors import ConfigError, CorruptTableError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.options import (
    CleanOptions,
    CompactionOptions,
    JobResult,
    JobState,
    OptionsError,
    RestoreOptions,
    SavepointOptions,
    ServiceMode,
)
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.restore import execute
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.savepoint.job import run_savepoint
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.services.two_writes import FIRST, SECOND, THIRD, is_sound, table_of

pytestmark = pytest.mark.unit

TYPES = pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])


def restore(path: Folder, **options: Any) -> JobResult:
    return run_restore(
        RestoreOptions(**{"base_path": str(path), "verify": "rows", **options}), job_context(lake=path.lake)
    )


def rewrite(path: Folder) -> None:
    service = local.compact if path.table().config.is_merge_on_read else local.cluster
    service(path)


def save(path: Folder, instant: str) -> None:
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=instant), job_context(lake=path.lake))


@TYPES
def test_back_to_a_savepoint_over_rewrites_and_cleans(root: Folder, table_type: str) -> None:
    path = root / "t"
    times = table_of(path, table_type)
    save(path, times[1])
    later = [local.write(path, THIRD, "third"), local.write(path, local.batch(40, 6, "four", 4), "fourth")]
    rewrite(path)
    later.append(local.write(path, local.batch(0, 46, "five", 5), "fifth"))
    rewrite(path)
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=local.AT_ONCE), job_context(lake=root.lake))
    rolled_back = [one.timestamp for one in path.table().timeline.completed_commits() if one.timestamp > times[1]]
    look = restore(path, savepoint=times[1], dry_run=True)
    assert look.extra["estimated_seconds"] > 0
    planned = (look.plan or {})["undone"]
    assert [one["instant"] for one in planned] == rolled_back[::-1]
    doomed = {name: size for one in planned for name, size in one["deletions"].items()}
    assert doomed == {name: (path / name).size for name in doomed}
    done = restore(path, savepoint=times[1], plan_hash=look.extra["plan_hash"])
    assert (done.state, done.extra["goal"], done.bytes_in) == (JobState.COMPLETED, times[1], sum(doomed.values()))
    assert set(later) <= set(done.extra["undone"])
    assert not any((path / name).exists() for name in doomed)
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    table = path.table()
    assert table.timeline.completed_commits()[-1].timestamp == times[1]
    assert table.config.metadata_partitions == ("files",)
    assert is_sound(path)
    raw = table.timeline.payload(table.timeline.completed(Action.RESTORE)[0], SYSTEM_CLOCK)
    assert raw["instantsToRollback"] == rolled_back[::-1] == list(raw["hoodieRestoreMetadata"])
    assert restore(path, savepoint=times[1]).reason == f"no write or plan is later than {times[1]}"
    local.write(path, THIRD, "third")
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND, THIRD)
    assert is_sound(path)


@TYPES
def test_back_to_a_commit_over_a_dead_writer_and_a_plan(root: Folder, table_type: str) -> None:
    path = root / "t"
    times = table_of(path, table_type)
    if table_type == "MERGE_ON_READ":
        plan = CompactionOptions(base_path=str(path), mode=ServiceMode.SCHEDULE, hoodie_conf=local.AT_ONCE)
        run_compaction(plan, job_context(lake=root.lake))
        local.write(path, THIRD, "on top of the plan")
    local.die_writing(path, THIRD)
    assert restore(path, instant_time=times[0]).state is JobState.COMPLETED
    assert local.rows_of(path) == local.expected_rows(FIRST)
    timeline = path.table().timeline
    assert [one.action for one in timeline.instants if one.timestamp > times[0]] == [Action.RESTORE]
    assert is_sound(path)


@TYPES
def test_rollbacks_of_before_stay_and_later_ones_go(root: Folder, table_type: str) -> None:
    path = root / "t"
    table_of(path, table_type)
    local.die_writing(path, THIRD)
    local.roll_back(path)
    goal = local.write(path, THIRD, "third")
    (before,) = path.table().timeline.completed(Action.ROLLBACK)
    local.die_writing(path, local.batch(40, 6, "four", 4))
    local.roll_back(path)
    assert len(path.table().timeline.completed(Action.ROLLBACK)) == 2
    local.write(path, local.batch(0, 46, "five", 5), "fifth")
    assert restore(path, instant_time=goal).state is JobState.COMPLETED
    assert path.table().timeline.completed(Action.ROLLBACK) == (before,)
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND, THIRD)
    assert is_sound(path)


def test_where_a_table_can_not_go_back_to(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    with pytest.raises(ConfigError, match=f"--savepoint {times[0]} is no savepoint of the table: it has none"):
        restore(path, savepoint=times[0])
    with pytest.raises(ConfigError, match="123 is no completed commit of the active timeline"):
        restore(path, instant_time="123")
    save(path, times[1])
    with pytest.raises(ConfigError, match=f"savepoint {times[1]} is later than {times[0]}"):
        restore(path, instant_time=times[0])
    local.write(path, FIRST, "again")
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=local.AT_ONCE), job_context(lake=root.lake))
    (path / ".hoodie" / f"{times[1]}.savepoint").unlink()
    (path / ".hoodie" / f"{times[1]}.savepoint.inflight").unlink()
    with pytest.raises(ConfigError, match=f"can't be read as of {times[0]}: cleaning removed"):
        restore(path, instant_time=times[0])
    with pytest.raises(OptionsError, match="give one of the two"):
        RestoreOptions(base_path=str(path))


def test_nor_over_writes_that_were_archived_behind_a_savepoint(root: Folder) -> None:
    """Their rows would stay: nobody can undo an archived write."""
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    save(path, times[1])
    later = [local.write(path, local.batch(100 + number, 1, "new", 1), f"n{number}") for number in range(5)]
    table = path.table()
    going = [one for one in table.timeline.completed_commits() if one.timestamp in (times[0], *later[:2])]
    archive(table.timeline, table.base_path, going)
    rows = local.rows_of(path)
    with pytest.raises(ConfigError, match=rf"2 write\(s\) after {times[1]} are archived, the first is {later[0]}"):
        restore(path, savepoint=times[1])
    assert local.rows_of(path) == rows
    restore(path, instant_time=later[2])


def test_a_living_writer_is_not_undone(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    local.begin_and_leave(path, THIRD)  # the heartbeat thread of this process goes on
    with pytest.raises(WriteConflictError, match="has a live heartbeat"):
        restore(path, instant_time=times[0])


def test_a_savepoint_with_a_missing_file_is_refused_before_anything_is_undone(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    save(path, times[0])
    victim = next((path / "a").glob(f"*_{times[0]}.parquet"))
    victim.rename(path / "kept")
    with pytest.raises(CorruptTableError, match=rf"a/.*{times[0]}.* gone"):
        restore(path, savepoint=times[0])
    assert len(path.table().timeline.completed_commits()) == 2


class Broken(Exception):
    """Stands for the end of the process."""


@TYPES
@pytest.mark.parametrize("undone_before", [0, 1, 2])
def test_one_that_broke_off_keeps_writers_out_and_is_finished_by_the_next(
    root: Folder, table_type: str, undone_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "t"
    times = table_of(path, table_type)
    local.write(path, THIRD, "third")
    rewrite(path)
    count = [0]
    original = execute.reopen

    def breaks(*given: Any) -> Any:
        """The instant is pending again, and nothing of it is deleted yet."""
        count[0] += 1
        done = original(*given)
        if count[0] > undone_before:
            raise Broken
        return done

    monkeypatch.setattr(execute, "reopen", breaks)
    with pytest.raises(Broken):
        restore(path, instant_time=times[0])
    monkeypatch.undo()
    settings = path.table().transaction_settings({})
    assert settings.load_timeline().pending({Action.RESTORE})
    assert roll_back_failed_writes(settings) == []
    with pytest.raises(WriteConflictError, match="the table is half undone"):
        local.write(path, THIRD, "in between")
    assert "no write or plan is later" in str(restore(path, instant_time=times[0]).reason)
    assert local.rows_of(path) == local.expected_rows(FIRST)
    (done,) = settings.load_timeline().completed(Action.RESTORE)
    raw = settings.load_timeline().payload(done, SYSTEM_CLOCK)
    assert len(raw["instantsToRollback"]) == 3
    assert not [one for one in settings.load_timeline().instants if one.state is not State.COMPLETED]
    local.write(path, SECOND, "second again")
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert is_sound(path)


def take_off(path: Folder) -> None:
    """The metadata table, as a job with hoodie.metadata.enable=false does."""
    table = path.table()
    update_table_config(table.storage, table.base_path, {METADATA_PARTITIONS.name: ""}, SYSTEM_CLOCK)
    (path / ".hoodie" / "metadata").remove()


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("had_one", [True, False])
def test_the_option_decides_on_a_metadata_table_and_a_second_run_comes_to_the_same(
    root: Folder, enabled: bool, had_one: bool
) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    if not had_one:
        take_off(path)
    assert bool(path.table().config.metadata_partitions) is had_one
    conf = {} if enabled else {"hoodie.metadata.enable": "false"}
    for _ in range(2):
        restore(path, instant_time=times[0], hoodie_conf=conf)
        assert path.table().config.metadata_partitions == (("files",) if enabled else ())
        assert (path / ".hoodie" / "metadata").exists() is enabled
    assert is_sound(path)


def test_a_run_with_nothing_to_undo_leaves_a_table_that_was_not_restored_as_it_is(root: Folder) -> None:
    path = root / "t"
    times = table_of(path, "COPY_ON_WRITE")
    save(path, times[1])
    take_off(path)
    assert restore(path, savepoint=times[1]).state is JobState.NOTHING_TO_DO
    assert path.table().config.metadata_partitions == ()
