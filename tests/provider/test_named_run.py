"""The record that a task keeps at the table: where it may stand, and what is done where it can't."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_pyhudi.hooks.lake import own_lake
from airflow_provider_pyhudi.operators.named_run import NamedRun
from spark_jobs.options import IngestOptions
from spark_jobs.services.run_generation import FOLDER, RunRecord
from tests.faults import local_table as local

pytestmark = pytest.mark.provider

NAME = "dag/task/run/-1"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    return tmp_path / "t"


def told(table: Path, **given: Any) -> tuple[str | None, bool, list[str]]:
    """What the job is told of the try, whether a record is kept, and what the log says."""
    lines: list[str] = []
    base: dict[str, Any] = {"base_path": str(table), "idempotency_key": NAME, "attempt": "1/1/1"}
    options, run = NamedRun.of(IngestOptions(**{**base, **given}), own_lake, lines.append)
    assert isinstance(options, IngestOptions)
    return options.attempt, run is not None, lines


def test_the_job_knows_what_had_ended_when_its_task_began(table: Path) -> None:
    assert told(table) == ("1/1/1/after=0", True, [])
    NamedRun(base_path=str(table), name=NAME, lake=own_lake)._keep(RunRecord(ended=2))
    assert told(table) == ("1/1/1/after=2", True, [])
    next((table / FOLDER).glob("*.json")).write_text("")
    assert told(table) == ("1/1/1", True, [])


def test_a_table_that_is_yet_to_be_made_and_a_dry_run_are_left_alone(tmp_path: Path, table: Path) -> None:
    assert told(tmp_path / "new") == ("1/1/1/after=0", True, [])
    assert told(table, dry_run=True) == ("1/1/1", False, [])
    assert not (tmp_path / "new").exists()
    assert not (table / FOLDER).exists()


def test_a_worker_that_can_read_but_not_write_says_so_before_the_write(table: Path) -> None:
    (table / FOLDER).write_text("")  # as where its user may not make the folder
    attempt, is_kept, lines = told(table)
    assert (attempt, is_kept) == ("1/1/1/unrecorded", False)
    assert lines[0].startswith("this worker can't keep a record at the table (")


def test_records_are_neither_written_nor_swept_through_a_link(table: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    old = victim / f"{'a' * 32}.json"
    old.write_text("precious")
    os.utime(old, (0, 0))
    (table / FOLDER).symlink_to(victim)
    attempt, is_kept, lines = told(table)
    assert (attempt, is_kept) == ("1/1/1/unrecorded", False)
    assert "is a link, and links are not followed" in lines[0]
    with pytest.raises(Exception, match="is a link"):
        NamedRun(base_path=str(table), name=NAME, lake=own_lake)._keep(RunRecord(ended=1), sweeps=True)
    assert [(one.name, one.read_text()) for one in victim.iterdir()] == [(old.name, "precious")]
