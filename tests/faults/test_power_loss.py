"""The power goes right after a write was acknowledged: what was not forced to the disk is gone, and no row with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rollback import execute
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.run import validate
from tests.faults import forced
from tests.faults import local_table as local
from tests.faults.commands import environment, ingest_arguments, spark_submit
from tests.java import needs_java
from tests.support.deaths import in_another_process
from tests.support.jobs import job_context

pytestmark = pytest.mark.faults

STORED, CHANGED = local.batch(0, 20, "one", 1), local.batch(10, 20, "two", 2)
ELSEWHERE = pa.table({"id": [90], "p": ["deep/c"], "v": ["three"], "ts": [3]}, schema=local.SCHEMA)


OF_WORK_UNDER_WAY = (".hoodie/.temp", ".hoodie/.heartbeat", ".hoodie/.aux/pyhudi.done")
"""What matters to a write that is not over, which a loss of power ends."""


def after_power_loss(path: Path, log: Path, act: Callable[[], object]) -> list[str]:
    """Do something in a process whose forcing is recorded, then lose the power; what is lost of a finished write."""
    before = forced.files_of(path)

    def recorded() -> None:
        forced.record(str(log))
        act()

    assert in_another_process(recorded) == 0
    return [name for name in forced.lose_power(path, before, log) if not name.startswith(OF_WORK_UNDER_WAY)]


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda path: local.write(path, STORED, "again"), [STORED]),
        (lambda path: local.write(path, CHANGED.slice(10), "new"), [STORED, CHANGED.slice(10)]),
        (lambda path: local.write(path, ELSEWHERE, "elsewhere"), [STORED, ELSEWHERE]),
        (local.cluster, [STORED]),
    ],
    ids=["upsert", "insert", "new partition", "clustering"],
)
def test_nothing_acknowledged_is_lost(
    tmp_path: Path, table_type: str, act: Callable[[Path], object], expected: list[pa.Table]
) -> None:
    path = tmp_path / "t"
    local.create(path, table_type)
    local.write(path, STORED, "first")
    assert after_power_loss(path, tmp_path / "log", partial(act, path)) == []
    assert local.rows_of(path) == local.expected_rows(*expected)
    assert validate(str(path), deep=True) == []


def test_compaction(tmp_path: Path) -> None:
    path = tmp_path / "t"
    local.create(path, "MERGE_ON_READ")
    local.write(path, STORED, "first")
    local.write(path, STORED, "again")
    assert after_power_loss(path, tmp_path / "log", partial(local.compact, path)) == []
    assert local.rows_of(path) == local.expected_rows(STORED)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("rows", [STORED, ELSEWHERE], ids=["upsert", "new partition"])
def test_what_a_write_under_way_leaves_is_found_by_its_rollback(
    tmp_path: Path, table_type: str, rows: pa.Table
) -> None:
    """Its data files may be on the disk: so are its instant and its markers."""
    path, log = tmp_path / "t", tmp_path / "log"
    local.create(path, table_type)
    local.write(path, STORED, "first")
    before = forced.files_of(path)

    def die() -> None:
        forced.record(str(log))
        local.begin_and_leave(path, rows)

    assert in_another_process(die) == 0
    lost = [one for one in forced.lose_power(path, before, log) if one.startswith(".hoodie/")]
    assert [one for one in lost if not one.startswith(".hoodie/.heartbeat/")] == []  # nobody lives by that any more
    local.roll_back(path)
    assert local.problems_of(path) == []
    assert local.rows_of(path) == local.expected_rows(STORED)


@pytest.mark.parametrize("deleted", [False, True], ids=["before its deletions", "after them"])
@pytest.mark.parametrize("completed", [True, False], ids=["completed write", "write under way"])
def test_a_rollback_under_way_is_finished_by_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, completed: bool, deleted: bool
) -> None:
    """Its inflight file, which says nothing more, may go; the completed file of the write may not come back."""
    path, log = tmp_path / "t", tmp_path / "log"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, STORED, "first")
    if completed:
        local.write(path, CHANGED, "again")
    else:
        local.die_writing(path, CHANGED)
    undone = max(one.name[:17] for one in (path / ".hoodie").glob("2*"))
    before = forced.files_of(path)
    shutil.copytree(path, tmp_path / "copy")
    carry_out = execute.carry_out

    def break_off(*given: Any) -> None:
        if deleted:
            carry_out(*given)
        os._exit(0)

    def die() -> None:
        forced.record(str(log))
        monkeypatch.setattr(execute, "carry_out", break_off)
        run_rollback(RollbackOptions(base_path=str(path), instant_time=undone), job_context())

    assert in_another_process(die) == 0
    forced.lose_power(path, before, log)
    assert forced.come_back(tmp_path / "copy" / ".hoodie", path / ".hoodie", log) == []
    rollbacks = [one.name[18:] for one in (path / ".hoodie").glob("*.rollback*")]
    assert sorted(rollbacks) == [*(["rollback.inflight"] if completed else []), "rollback.requested"]
    local.roll_back(path)
    assert local.problems_of(path) == []
    assert local.rows_of(path) == local.expected_rows(STORED)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_workers_of_spark_force_what_they_write(tmp_path: Path, table_type: str) -> None:
    needs_java()
    path, log = tmp_path / "t", tmp_path / "log"
    local.create(path, table_type)
    local.write(path, STORED, "first")
    pq.write_table(CHANGED, tmp_path / "changed.parquet")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(forced.SITE)
    variables = environment()
    variables |= {
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), variables["PYTHONPATH"]]),
        forced.LOG_VARIABLE: str(log),
    }
    before = forced.files_of(path)
    command = spark_submit("ingest", *ingest_arguments(path, tmp_path / "changed.parquet", "--op", "upsert"))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [name for name in forced.lose_power(path, before, log) if not name.startswith(OF_WORK_UNDER_WAY)] == []
    assert local.rows_of(path) == local.expected_rows(STORED, CHANGED)
