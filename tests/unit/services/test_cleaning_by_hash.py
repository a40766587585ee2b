"""A dry run of ``clean.py`` tells what the run then does, and the run by its hash does that alone, once."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.errors import StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options import JobResult, JobState
from spark_jobs.options.clean import CleanOptions
from spark_jobs.services import deletions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.validation.run import validate
from spark_jobs.write import perform
from tests.faults import local_table as local
from tests.support.engines import StopsAfter
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit


def clean(path: Folder, engine: LocalEngine | None = None, **options: Any) -> JobResult:
    conf = {**local.AT_ONCE, "hoodie.cleaner.commits.retained": "1"}
    return run_cleaning(
        CleanOptions(base_path=str(path), hoodie_conf=conf, **options), job_context(engine=engine, lake=path.lake)
    )


def write(path: Folder, version: int) -> None:
    local.write(path, local.batch(0, 4, f"v{version}", version), str(version))


@pytest.fixture
def path(root: Folder) -> Folder:
    made = root / "t"
    local.create(made, "COPY_ON_WRITE")
    for version in range(4):
        write(made, version)
    return made


def die_writing(path: Folder) -> None:
    local.die_writing(path, local.batch(0, 4, "dead", 9))


def files(path: Folder) -> set[str]:
    return {str(one.relative_to(path)) for one in path.glob("[!.]*/*.parquet")}


def actions(path: Folder) -> list[Action]:
    return [one.action for one in path.table().timeline.instants]


def doomed(look: JobResult) -> set[str]:
    assert look.plan is not None
    named = {f"{partition}/{name}" for partition, names in look.plan["deletions"].items() for name in names}
    return named.union(*(one["deletions"] for one in look.plan.get("rolls_back", ())))


@pytest.mark.parametrize("hashed", [False, True])
def test_dead_writes_are_thought_gone(path: Folder, hashed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    die_writing(path)
    with monkeypatch.context() as lazy:
        lazy.setattr(perform, "undo_failed_writes", lambda *given: None)
        for version in range(4, 7):
            write(path, version)
    before = files(path)
    look = clean(path, dry_run=True)
    assert look.state is JobState.DRY_RUN
    assert len(look.extra["rolls_back"]) == 1
    assert files(path) == before
    done = clean(path, plan_hash=look.extra["plan_hash"] if hashed else None)
    assert before - files(path) == doomed(look)
    assert (done.extra["deleted_files"], done.extra["retain_from"]) == (
        look.extra["deleted_files"],
        look.extra["retain_from"],
    )
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_a_hash_that_is_refused_rolls_nothing_back(path: Folder) -> None:
    die_writing(path)
    before, timeline = files(path), actions(path)
    with pytest.raises(WriteConflictError, match="the plan is not 0"):
        clean(path, plan_hash=f"{'0' * 24}-1-1-1")
    assert (files(path), actions(path)) == (before, timeline)


def test_a_retry_by_the_hash_finds_the_clean_done(path: Folder) -> None:
    shown = clean(path, dry_run=True).extra["plan_hash"]
    done = clean(path, plan_hash=shown)
    write(path, 5)
    die_writing(path)
    before, timeline = files(path), actions(path)
    again = clean(path, plan_hash=shown)
    assert (again.state, again.instant) == (JobState.COMPLETED, done.instant)
    assert again.reason == f"clean {done.instant} carried out this plan before"
    assert (files(path), actions(path)) == (before, timeline)


@pytest.mark.parametrize("hashed", [False, True])
def test_a_pending_clean_is_all_that_a_run_does(path: Folder, hashed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "PIECE", 1)
    with pytest.raises(StorageError, match="the disk is full"):
        clean(path, StopsAfter(1))
    for version in range(4, 7):
        write(path, version)
    look = clean(path, dry_run=True)
    before = files(path)
    if hashed:  # it breaks off once more: the hash goes on to mean it
        with pytest.raises(StorageError, match="the disk is full"):
            clean(path, StopsAfter(1), plan_hash=look.extra["plan_hash"])
    done = clean(path, plan_hash=look.extra["plan_hash"] if hashed else None)
    assert before - files(path) == doomed(look) & before
    assert len(before - files(path)) == look.extra["deleted_files"] - look.extra["gone_before"]
    assert (done.instant, done.reason) == (look.instant, "it was left pending; the next run plans a new one")
    assert done.extra["deleted_files"] == look.extra["deleted_files"]
    if hashed:
        assert clean(path, plan_hash=look.extra["plan_hash"]).instant == done.instant
    following = clean(path)
    assert following.state is JobState.COMPLETED
    assert following.instant != done.instant
    assert validate(str(path), deep=True, lake=path.lake) == []
