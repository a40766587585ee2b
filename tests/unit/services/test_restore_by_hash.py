"""A restore by the hash of a dry run: refused before it changes anything, gone on with, and found done."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.errors import StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options import JobResult, JobState, RestoreOptions
from spark_jobs.services import deletions
from spark_jobs.services.restore.job import run_restore
from tests.faults import local_table as local
from tests.support.engines import StopsAfter
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.services.two_writes import FIRST, THIRD, die_writing, is_sound, table_of

pytestmark = pytest.mark.unit


def restore(path: Folder, goal: str, engine: LocalEngine | None = None, **more: Any) -> JobResult:
    options = RestoreOptions(base_path=str(path), instant_time=goal, **more)
    return run_restore(options, job_context(engine=engine, lake=path.lake))


def instants(path: Folder) -> list[tuple[str, str]]:
    return [(one.timestamp, one.state.value) for one in path.table().timeline.instants]


def test_a_restore_by_its_hash(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "PIECE", 1)
    path = root / "t"
    goal, _ = table_of(path, "COPY_ON_WRITE")
    dead = die_writing(path)
    look = restore(path, goal, dry_run=True)
    assert look.extra["rolls_back"] == [dead]
    before = instants(path)
    with pytest.raises(WriteConflictError, match="the plan is not 0"):
        restore(path, goal, plan_hash=f"{'0' * 24}-1-1-1")
    assert instants(path) == before
    shown = look.extra["plan_hash"]
    with pytest.raises(StorageError, match="the disk is full"):
        restore(path, goal, StopsAfter(1), plan_hash=shown)
    done = restore(path, goal, plan_hash=shown)
    (one,) = path.table().timeline.completed(Action.RESTORE)
    assert (done.state, done.instant) == (JobState.COMPLETED, one.timestamp)
    assert local.rows_of(path) == local.expected_rows(FIRST)
    assert is_sound(path)
    local.write(path, THIRD, "third")
    before = instants(path)
    again = restore(path, goal, plan_hash=shown)
    assert again.reason == f"restore {one.timestamp} carried out this plan"
    assert instants(path) == before
