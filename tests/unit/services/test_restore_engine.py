"""``restore.py --verify rows`` by an engine: rows are read where it works, and the report is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options import JobResult, RestoreOptions
from spark_jobs.options.restore import RestoreCheck
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.restore.verify import moment_of, refuse_changed
from spark_jobs.services.validation.scans import Scans
from tests.faults import local_table as local
from tests.support.engines import Elsewhere
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

QUIET = Progress.silent("test")
FIRST, SECOND = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2)


class Told(Elsewhere):
    """Keeps all that it was told of the work to come."""

    def __init__(self) -> None:
        super().__init__()
        self.all_told: list[tuple[int, int]] = []

    def settle(self, bytes_in: int, calls: int = 0) -> str:
        self.all_told.append((bytes_in, calls))
        return super().settle(bytes_in, calls)


def restore(path: Folder, goal: str, verify: RestoreCheck, engine: LocalEngine | None) -> JobResult:
    return run_restore(
        RestoreOptions(base_path=str(path), instant_time=goal, verify=verify),
        job_context(engine=engine, lake=path.lake),
    )


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_are_read_by_the_engine_and_the_report_is_the_same(root: Folder, table_type: str) -> None:
    path, other = root / "t", root / "other"
    local.create(path, table_type)
    goal = local.write(path, FIRST, "first")
    local.write(path, SECOND, "second")
    path.copy_to(other)
    before = {one: one.size for one in path.glob("[ab]/*") if ".hoodie_partition" not in one.name}
    there, files = Told(), Told()
    done = restore(path, goal, RestoreCheck.ROWS, there)
    here = restore(other, goal, RestoreCheck.ROWS, None)
    assert (done.extra.pop("engine"), here.extra.pop("engine")) == ("spark", "local")
    rolled_back = {**done.extra, "plan_hash": None}
    assert rolled_back == {**here.extra, "plan_hash": None}
    bytes_in, calls = max(there.all_told)
    assert bytes_in == 2 * sum(size for one, size in before.items() if one.exists())  # before it, and after
    assert calls == done.extra["deleted_files"]
    assert done.seconds_by_phase.keys() == here.seconds_by_phase.keys()
    assert local.rows_of(path) == local.rows_of(other) == local.expected_rows(FIRST)
    local.write(path, SECOND, "again")
    restore(path, goal, RestoreCheck.FILES, files)
    assert {bytes_in for bytes_in, _ in files.all_told} == {0}
    assert there.jobs == files.jobs + 2  # once before, once after


def test_other_rows_are_refused(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    goal, later = local.write(path, FIRST, "first"), local.write(path, SECOND, "second")
    table = path.table()
    scans = Scans(engine=LocalEngine(SYSTEM_CLOCK), progress=QUIET, on_spark=True)
    first, second = (moment_of(table, time, frozenset(), scans, phase="look", with_rows=True) for time in (goal, later))
    assert first.rows is not None
    assert first.rows.rows == 20
    refuse_changed(first, moment_of(table, goal, frozenset(), scans, phase="look", with_rows=True), goal)
    with pytest.raises(CorruptTableError, match="has other rows than it had"):
        refuse_changed(first, replace(second, sizes=first.sizes), goal)
