"""A real ingest is killed, or loses whoever waits for it; the same command again ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.faults.commands import environment, ingest_arguments, spark_submit
from tests.java import needs_java

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

DEADLINE_SECONDS = 180.0
STORED, CHANGED = local.batch(0, 400, "one", 1), local.batch(200, 400, "two", 2)


@contextmanager
def started(command: list[str], folder: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A job in a session of its own, its output in ``<name>.out`` and ``<name>.err``; what is left of it is killed."""
    with open(folder / f"{name}.out", "wb") as out, open(folder / f"{name}.err", "wb") as err:
        process = subprocess.Popen(
            command, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(what: Callable[[], bool], process: subprocess.Popen[bytes]) -> bool:
    """True when it came, False when the process ended first."""
    deadline = SYSTEM_CLOCK.monotonic() + DEADLINE_SECONDS
    while not what():
        if process.poll() is not None:
            return what()
        assert SYSTEM_CLOCK.monotonic() < deadline, "nothing happened in time"
        SYSTEM_CLOCK.sleep(0.01)
    return True


@pytest.fixture
def table(tmp_path: Path) -> Path:
    needs_java()
    path = tmp_path / "t"
    local.create(path, "MERGE_ON_READ")
    local.write(path, STORED, "first")
    return path


@pytest.fixture
def command(table: Path, tmp_path: Path) -> list[str]:
    """An upsert under an idempotency key."""
    pq.write_table(CHANGED, tmp_path / "changed.parquet")
    arguments = ingest_arguments(table, tmp_path / "changed.parquet", "--op", "upsert", "--idempotency-key", "changes")
    return spark_submit("ingest", *arguments)


def test_killed_at_random_moments(table: Path, command: list[str], tmp_path: Path) -> None:
    choose = random.Random(20250729)
    folder = table / ".hoodie"
    killed = set()
    for number in range(3):
        known = set(folder.glob("*.deltacommit.requested"))
        with started(command, tmp_path, f"killed-{number}") as process:
            begun = wait_for(lambda known=known: bool(set(folder.glob("*.deltacommit.requested")) - known), process)
            assert begun, (tmp_path / f"killed-{number}.err").read_text()
            SYSTEM_CLOCK.sleep(choose.uniform(0, 3))
            kill(process)
        new = set(folder.glob("*.deltacommit.requested")) - known
        killed |= {path.name.split(".")[0] for path in new}
        if process.returncode == 0:
            break
    with started(command, tmp_path, "again") as process:
        assert process.wait(DEADLINE_SECONDS) == 0, (tmp_path / "again.err").read_text()
    timeline = HudiTable.open(str(table)).timeline
    completed = {one.timestamp for one in timeline.completed_commits()}
    rolled_back = {
        timeline.payload(one, SYSTEM_CLOCK)["commitsRollback"][0] for one in timeline.completed(Action.ROLLBACK)
    }
    assert rolled_back == killed - completed
    assert rolled_back
    assert len(completed) == 2
    assert local.rows_of(table) == local.expected_rows(STORED, CHANGED)
    local.clean(table)
    assert local.problems_of(table) == []


def test_a_rerun_waits_for_the_driver_that_lives_on(table: Path, command: list[str], tmp_path: Path) -> None:
    """The task that started spark-submit is gone (nobody reads the driver's output), the driver is not."""
    first = subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        folder = table / ".hoodie"
        assert wait_for(lambda: len([*folder.glob("*.deltacommit.requested")]) == 2, first)
        os.killpg(first.pid, signal.SIGSTOP)  # so that it is still at work when the second one comes
        assert first.stdout is not None
        first.stdout.close()
        with started(command, tmp_path, "second") as second:
            waiting = b"another process writes under this idempotency key"
            assert wait_for(lambda: waiting in (tmp_path / "second.err").read_bytes(), second)
            os.killpg(first.pid, signal.SIGCONT)
            assert second.wait(DEADLINE_SECONDS) == 0, (tmp_path / "second.err").read_text()
        first.wait(DEADLINE_SECONDS)
    finally:
        kill(first)
    result = json.loads((tmp_path / "second.out").read_text().splitlines()[-1])
    assert result["repeated"] is True
    timeline = HudiTable.open(str(table)).timeline
    assert timeline.completed_commits()[-1].timestamp == result["instant"]
    assert len(timeline.completed_commits()) == 2
    assert local.rows_of(table) == local.expected_rows(STORED, CHANGED)
    assert local.problems_of(table) == []
