"""What ``clean.py`` looks at, and why it leaves things alone: changed partitions, hours, hashes, failed writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from spark_jobs.core.clock import SystemClock
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.timeline.steps import request
from spark_jobs.options import (
    CleanOptions,
    CompactionOptions,
    JobResult,
    JobState,
    SavepointMode,
    SavepointOptions,
    ServiceMode,
)
from spark_jobs.services.cleaning.candidates import _protected, plan_clean
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.cleaning.partitions import partitions_to_clean
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.savepoint.job import run_savepoint
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

ONE = {"hoodie.cleaner.commits.retained": "1"}
BOTH, ONLY_A = local.batch(0, 20, "both", 1), local.batch(0, 1, "a", 2)


def clean(path: Folder, conf: dict[str, str] | None = None, **more: Any) -> JobResult:
    return run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=conf or ONE, **more), job_context(lake=path.lake))


@pytest.fixture
def path(root: Folder) -> Folder:
    local.create(root / "t", "COPY_ON_WRITE")
    for number in range(3):
        local.write(root / "t", BOTH, f"both {number}")
    return root / "t"


def looked_at(path: Folder) -> list[str] | None:
    table = path.table(lists_storage=True)
    retain = table.timeline.completed_commits()[-1]
    return partitions_to_clean(table, retain, table.timeline.completed(Action.SAVEPOINT))


def test_after_the_first_clean_only_what_changed_is_looked_at(path: Folder) -> None:
    assert looked_at(path) is None
    assert set((clean(path, dry_run=True).plan or {})["deletions"]) == {"a", "b"}
    clean(path)
    local.write(path, ONLY_A, "a")
    local.write(path, ONLY_A, "a again")
    assert looked_at(path) == ["a", "b"]  # the commit from which the last clean retained changed both
    clean(path)
    local.write(path, ONLY_A, "a once more")
    assert looked_at(path) == ["a"]
    # by what the last ones took, of which a quick one may have noted no millisecond
    assert 0 <= clean(path, dry_run=True).extra["estimated_seconds"] < 60


def test_a_savepoint_that_went_makes_it_look_at_all(path: Folder) -> None:
    saved = path.table().timeline.completed_commits()[0].timestamp
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=saved), job_context(lake=path.lake))
    assert "no file group has a slice older than the retained ones, but for 2 file(s)" in str(clean(path).reason)
    local.write(path, BOTH, "next")
    clean(path)
    local.write(path, ONLY_A, "a")
    assert looked_at(path) == ["a", "b"]
    run_savepoint(
        SavepointOptions(base_path=str(path), mode=SavepointMode.DELETE, instant_time=saved),
        job_context(lake=path.lake),
    )
    assert looked_at(path) is None


def test_incremental_mode_may_be_turned_off(path: Folder) -> None:
    table = path.table(lists_storage=True)
    off = {**ONE, "hoodie.cleaner.incremental.mode": "false"}
    assert plan_clean(table, off).deletions == plan_clean(table, ONE).deletions


def test_the_plan_of_a_dry_run_or_none(path: Folder) -> None:
    look = clean(path, dry_run=True)
    local.write(path, BOTH, "in between")
    with pytest.raises(WriteConflictError, match=r"the plan is not .* any more: it had 2 file"):
        clean(path, plan_hash=look.extra["plan_hash"])
    again = clean(path, dry_run=True)
    assert again.extra["estimated_seconds"] == again.files_in / 1000  # nothing was cleaned yet
    done = clean(path, plan_hash=again.extra["plan_hash"])
    assert (done.state, done.files_in, done.bytes_in) == (JobState.COMPLETED, again.files_in, again.bytes_in)
    assert clean(path, plan_hash=again.extra["plan_hash"]).instant == done.instant
    with pytest.raises(WriteConflictError, match="there is no such plan now: 0 commit"):
        clean(path, plan_hash=look.extra["plan_hash"])


def test_a_clean_that_was_left_pending_is_the_plan(path: Folder) -> None:
    table = path.table(lists_storage=True)
    plan = plan_clean(table, ONE)
    time = next_instant_time(table.clock.now(), table.config.timezone, table.timeline.last_time)
    request(table.timeline, time, Action.CLEAN, plan.requested().payload(table.base_path))
    local.write(path, BOTH, "since")
    look = clean(path, dry_run=True)
    assert (look.instant, look.files_in, look.bytes_in) == (time, plan.files, plan.bytes)
    done = clean(path, plan_hash=look.extra["plan_hash"])
    assert (done.instant, done.state) == (time, JobState.COMPLETED)
    assert clean(path).files_in == 2  # what the write since has made old


@contextmanager
def hours_ago(hours: int) -> Iterator[None]:
    now = SystemClock.now

    def earlier(clock: SystemClock) -> datetime:
        return now(clock) - timedelta(hours=hours)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "now", earlier)
        yield


def test_by_hours(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    with hours_ago(5):
        for number in range(3):
            local.write(path, BOTH, f"old {number}")
    hours = {"hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS", "hoodie.cleaner.hours.retained": "2"}
    assert "no commit of the last 2 hour(s)" in str(clean(path, hours).reason)
    young = local.write(path, BOTH, "young")
    done = clean(path, hours)
    # the slice that the first young commit read stays
    assert (done.files_in, done.extra["retain_from"]) == (4, young)
    longer = {**hours, "hoodie.cleaner.hours.retained": "99999999"}  # than the calendar
    assert clean(path, longer).state is JobState.NOTHING_TO_DO
    with pytest.raises(ConfigError, match=r"hoodie\.clean\.trigger\.strategy=NUM_HOURS is not valid"):
        clean(path, {**hours, "hoodie.clean.trigger.strategy": "NUM_HOURS"})


def test_a_pending_write_is_named(path: Folder) -> None:
    local.begin_and_leave(path, ONLY_A)  # the heartbeat thread of this process goes on
    (pending,) = path.table().timeline.pending_writes()
    for number in range(3):
        local.write(path, local.batch(30, 2, "new", 3 + number), f"new {number}")
    clean(path)
    local.write(path, local.batch(30, 2, "new", 9), "last")
    assert f"{pending.timestamp} commit (inflight) holds back what is retained" in str(clean(path).reason)


def test_failed_writes_may_be_left_alone(path: Folder) -> None:
    local.die_writing(path, ONLY_A)
    clean(path, {**ONE, "hoodie.cleaner.policy.failed.writes": "NEVER"})
    assert path.table().timeline.pending_writes()
    clean(path, {**ONE, "hoodie.cleaner.policy.failed.writes": "LAZY"})
    assert path.table().timeline.pending_writes() == ()


def test_the_logs_of_a_pending_log_compaction_stay(root: Folder) -> None:
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    for number in range(3):
        local.write(path, BOTH, str(number))
    conf = {**local.AT_ONCE, "hoodie.log.compaction.blocks.threshold": "2"}
    options = CompactionOptions(base_path=str(path), log_compaction=True, mode=ServiceMode.SCHEDULE, hoodie_conf=conf)
    assert run_compaction(options, job_context(lake=root.lake)).state is JobState.SCHEDULED
    table = path.table(lists_storage=True)
    logs = {log.relative_path.rsplit("/", 1)[-1] for one in table.file_slices() for log in one.log_files}
    assert logs
    assert logs <= _protected(table, ())


def test_the_source_of_a_bootstrap_is_not_cleaned(path: Folder) -> None:
    key = "hoodie.cleaner.delete.bootstrap.base.file"
    stood = path.table().timeline.instants
    with pytest.raises(ConfigError, match=f"{key}=true is not valid: leave it out: cleaning never deletes files"):
        clean(path, {**ONE, key: "true"})
    assert path.table().timeline.instants == stood
    assert clean(path, {**ONE, key: "false"}).state is JobState.COMPLETED
