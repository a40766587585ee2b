"""What ``scripts/kill_demo.py`` says of a table after a kill: a check that never fails would prove nothing."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import pytest

from scripts.kill_demo_tables import fates, pending_now, problems
from tests.faults.local_table import batch, begin_and_leave, create, write

pytestmark = pytest.mark.faults


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """``flights`` with five writes, ``flights_mor`` with one."""
    create(tmp_path / "flights", "COPY_ON_WRITE")
    create(tmp_path / "flights_mor", "MERGE_ON_READ")
    for number in range(5):
        write(tmp_path / "flights", batch(0, 6, f"v{number}", number), f"write{number}")
    write(tmp_path / "flights_mor", batch(0, 6, "v0", 0), "write0")
    return tmp_path


def left_by_a_dead_process(table: Path) -> None:
    process = get_context("spawn").Process(target=begin_and_leave, args=(table, batch(0, 6, "lost", 9)))
    process.start()
    process.join()


def test_a_killed_write_is_pending_then_rolled_back(tables: Path) -> None:
    left_by_a_dead_process(tables / "flights")
    (killed,) = pending_now(tables)
    assert str(killed).endswith("commit inflight")
    assert fates(tables, [killed]) == {killed: "inflight still"}
    found = problems(tables, [killed], airflow_only=False)
    assert any("no rollback names it" in line for line in found)
    assert any("is pending at the end" in line for line in found)
    assert any("is nobody's" in line for line in found)

    write(tables / "flights", batch(0, 6, "v4", 4), "write4")
    assert pending_now(tables) == (killed,)  # a repeated write looks at nothing else
    write(tables / "flights", batch(0, 6, "v5", 5), "write5")
    assert fates(tables, [killed])[killed].startswith("rolled back by ")
    lines = [line for line in problems(tables, [killed], airflow_only=False) if line.startswith("flights:")]
    assert [line for line in lines if "writes are there" not in line] == []


def test_an_instant_that_vanished_is_a_problem(tables: Path) -> None:
    left_by_a_dead_process(tables / "flights")
    (killed,) = pending_now(tables)
    for path in (tables / "flights" / ".hoodie").glob(f"{killed.instant}.*"):
        path.unlink()
    assert fates(tables, [killed]) == {killed: "gone without a rollback"}
    assert any("no rollback names it" in line for line in problems(tables, [killed], airflow_only=False))


def test_missing_and_repeated_writes_are_problems(tables: Path) -> None:
    found = problems(tables, [], airflow_only=False)
    assert found == ["flights_mor: 1 writes are there, not 5: ['write0']"]
