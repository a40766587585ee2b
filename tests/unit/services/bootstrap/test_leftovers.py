"""Runs after one that was killed, or that was undone: the dry run lists what they remove and what is left to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.locks.storage_lock import TABLE_LOCK
from spark_jobs.core.storage.guard import GUARD_SUFFIX
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.transaction.transaction import resume
from spark_jobs.options import RestoreOptions, RollbackOptions, SavepointOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.bootstrap import commit
from spark_jobs.services.bootstrap.settings import BootstrapSettings
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.services.bootstrap.sources import (
    ALL_COPIED,
    NORTH_STAYS,
    all_rows,
    bootstrap,
    make_source,
    options,
    rows_of,
)

pytestmark = pytest.mark.unit

KEPT, COPIED = "00000000000001", "00000000000002"


@pytest.fixture
def source(root: Folder) -> Folder:
    return make_source(root / "source", hive=False)


@pytest.fixture
def path(root: Folder) -> Folder:
    return root / "t"


def killed(place: str, act: Callable[[], Any], path: Folder) -> None:
    """A child that dies where it would call this of a commit; its heartbeat is of long ago."""
    owner = commit.Bootstrap if hasattr(commit.Bootstrap, place) else commit
    local.die_calling(owner, place, act)
    for beat in (path / ".hoodie" / ".heartbeat").iterdir():
        beat.date(1000)


def files_of(path: Folder) -> set[str]:
    return {str(one.relative_to(path)) for one in path.walk()}


def deleted(look: JobResult) -> dict[str, int]:
    assert look.state is JobState.DRY_RUN
    return {one["path"]: one["bytes"] for one in (look.plan or {})["deletes"]}


def is_whole(path: Folder) -> bool:
    assert rows_of(path).equals(all_rows().combine_chunks())
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []
    return True


def is_of_lock(name: str) -> bool:
    return GUARD_SUFFIX in name or name.endswith(TABLE_LOCK)


def test_what_a_first_commit_left_is_listed_and_hashed(path: Folder, source: Folder) -> None:
    fresh = bootstrap(path, source, dry_run=True)
    assert deleted(fresh) == {}
    killed("write_bootstrap_index", lambda: bootstrap(path, source), path)
    before = files_of(path)
    look = bootstrap(path, source, dry_run=True)
    assert before == files_of(path)
    assert deleted(look) == {one: (path / one).size for one in before if not is_of_lock(one)}
    assert sum(one.endswith(f"_{KEPT}.parquet") for one in deleted(look)) == 4
    assert look.extra["rolls_back"] == [KEPT]
    assert look.extra["plan_hash"] != fresh.extra["plan_hash"]
    done = bootstrap(path, source, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.files_in) == (JobState.COMPLETED, 4)
    assert is_whole(path)
    assert not before & {one for one in files_of(path) if one.endswith(".parquet")}


def test_a_retry_by_the_hash_of_before_goes_on(path: Folder, source: Folder) -> None:
    plan_hash = bootstrap(path, source, dry_run=True).extra["plan_hash"]
    killed("write_bootstrap_index", lambda: bootstrap(path, source, plan_hash=plan_hash), path)
    other = bootstrap(path, source, ALL_COPIED, dry_run=True).extra["plan_hash"]
    with pytest.raises(WriteConflictError, match="the plan is not"):
        bootstrap(path, source, plan_hash=other.replace(other[:4], "0000"))
    killed("write_bootstrap_index", lambda: bootstrap(path, source, plan_hash=plan_hash), path)
    again = bootstrap(path, source, dry_run=True).extra["plan_hash"]
    killed("write_bootstrap_index", lambda: bootstrap(path, source, plan_hash=again), path)
    assert bootstrap(path, source, plan_hash=again).state is JobState.COMPLETED
    assert is_whole(path)


def test_what_another_plan_left_is_no_part_of_a_hash_of_before(path: Folder, source: Folder) -> None:
    plan_hash = bootstrap(path, source, dry_run=True).extra["plan_hash"]
    killed("write_bootstrap_index", lambda: bootstrap(path, source, NORTH_STAYS), path)
    with pytest.raises(WriteConflictError, match="the plan is not"):
        bootstrap(path, source, plan_hash=plan_hash)
    assert bootstrap(path, source).state is JobState.COMPLETED
    assert is_whole(path)


def test_after_the_first_commit_the_rest_is_planned(path: Folder, source: Folder) -> None:
    whole = bootstrap(path, source, NORTH_STAYS, dry_run=True)
    copies = sum(one.size for one in (source / "south").glob("*.parquet"))
    for place, files in (("CopyRows", 0), ("_commit", 2)):
        killed(place, lambda: bootstrap(path, source, NORTH_STAYS), path)
        look = bootstrap(path, source, NORTH_STAYS, dry_run=True)
        plan = look.plan or {}
        assert (look.files_in, look.bytes_in, look.extra["metadata_only_files"]) == (2, copies, 0)
        assert (plan["done"], plan["METADATA_ONLY"], len(plan["FULL_RECORD"])) == ([KEPT], [], 2)
        assert look.extra["rolls_back"] == [COPIED]
        assert len(deleted(look)) == files
        assert all((path / one).size == size for one, size in deleted(look).items())
        assert look.extra["plan_hash"] != whole.extra["plan_hash"]
    done = bootstrap(path, source, NORTH_STAYS, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.files_in, done.bytes_in) == (JobState.COMPLETED, 2, copies)
    assert is_whole(path)


def test_the_hash_of_the_whole_plan_goes_on_too(path: Folder, source: Folder) -> None:
    plan_hash = bootstrap(path, source, NORTH_STAYS, dry_run=True).extra["plan_hash"]
    killed("CopyRows", lambda: bootstrap(path, source, NORTH_STAYS, plan_hash=plan_hash), path)
    assert bootstrap(path, source, NORTH_STAYS, plan_hash=plan_hash).files_in == 2
    assert is_whole(path)


def test_a_dry_run_beside_a_run_is_refused_alike(path: Folder, source: Folder) -> None:
    table = BootstrapSettings.of(options(path, source), path.lake).create_table()
    settings = table.transaction_settings({})
    with settings.new_lock() as locked:
        alive = resume(settings, request(table.timeline, KEPT, Action.COMMIT), locked)
    for dry_run in (True, False):
        with pytest.raises(WriteConflictError, match=f"instant {KEPT} is under way"):
            bootstrap(path, source, dry_run=dry_run)
    alive.abandon()


def test_an_empty_hash_is_none(path: Folder, source: Folder) -> None:
    with pytest.raises(Exception, match="plan-hash came to nothing"):
        bootstrap(path, source, plan_hash="")


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_table_that_was_restored_and_undone_is_bootstrapped_again(
    path: Folder, source: Folder, table_type: str
) -> None:
    fresh = bootstrap(path, source, NORTH_STAYS, table_type=table_type, dry_run=True).extra["plan_hash"]
    bootstrap(path, source, NORTH_STAYS, table_type=table_type)
    base = str(path)
    run_savepoint(SavepointOptions(base_path=base, instant_time=KEPT), job_context(lake=path.lake))
    restored = run_restore(RestoreOptions(base_path=base, savepoint=KEPT), job_context(lake=path.lake))
    assert restored.state is JobState.COMPLETED
    run_savepoint(SavepointOptions(base_path=base, mode="delete", instant_time=KEPT), job_context(lake=path.lake))
    run_rollback(RollbackOptions(base_path=base, instant_time=KEPT), job_context(lake=path.lake))
    timeline = path.table().timeline
    assert timeline.completed(Action.RESTORE)
    assert not timeline.completed_commits()
    look = bootstrap(path, source, NORTH_STAYS, table_type=table_type, dry_run=True)
    assert ".hoodie/hoodie.properties" in deleted(look)
    assert set(deleted(look)) <= files_of(path)
    with pytest.raises(WriteConflictError, match="the plan is not"):
        bootstrap(path, source, NORTH_STAYS, table_type=table_type, plan_hash=fresh)
    done = bootstrap(path, source, NORTH_STAYS, table_type=table_type, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.files_in) == (JobState.COMPLETED, 4)
    assert is_whole(path)
