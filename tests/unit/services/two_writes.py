"""A table of two writes, a third that died, and rollbacks of them."""

from __future__ import annotations

from typing import Any

from spark_jobs.options import JobResult, RollbackOptions
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.metadata_table.agreement import disagreements

FIRST, SECOND, THIRD = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2), local.batch(15, 10, "three", 3)


def roll_back(path: Folder, instant: str | None = None, **more: Any) -> JobResult:
    return run_rollback(RollbackOptions(base_path=str(path), instant_time=instant, **more), job_context(lake=path.lake))


def table_of(path: Folder, table_type: str) -> list[str]:
    local.create(path, table_type)
    return [local.write(path, rows, str(place)) for place, rows in enumerate((FIRST, SECOND))]


def die_writing(path: Folder) -> str:
    """A write that another process, dead by now, left behind; its instant."""
    local.die_writing(path, THIRD)
    return path.table().timeline.pending_writes()[-1].timestamp


def is_sound(path: Folder) -> bool:
    assert validate(str(path), deep=True, lake=path.lake) == []
    assert disagreements(path) == []
    assert local.problems_of(path) == []
    return True
