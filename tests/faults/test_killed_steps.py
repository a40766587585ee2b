"""A write or a service is killed at any moment, again and again, on a local disk or on a server: done once more, all is
as if nothing had happened.
"""

from __future__ import annotations

import random
import subprocess
from functools import partial
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from tests.conftest import CHOSEN
from tests.faults import local_table as local
from tests.faults.life import COW, MOR, STEPS, STEPS_OF, Step, check, check_rows, copied
from tests.nightly import NIGHTLY
from tests.support.deaths import in_new_process
from tests.support.folder import Folder, folder_of
from tests.support.locks import outlast

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1200)]
KILLS = 8 if NIGHTLY else 2
"""Of each step, unless it ends before."""
SLOWER = 2.0
"""A process that has just begun, beside one that has done the same before."""


@pytest.fixture(params=CHOSEN or ["local"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """Where several processes see the same."""
    return folder_of(request.param, tmp_path)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_each_step_killed_at_any_moment(root: Folder, table_type: str) -> None:
    table, choose = root / "t", random.Random(f"killed {table_type}")
    local.create(table, table_type)
    deaths = 0
    for number, name in enumerate(STEPS_OF[table_type]):
        step = STEPS[name][0]
        seconds = SLOWER * _seconds_of(step, copied(table, root / f"before-{number}"))
        for _ in range(KILLS):
            if _is_done_within(choose.uniform(0, seconds), step, table):
                break
            deaths += 1
        outlast(table)  # a lock on a server says for long that its holder may have a request under way
        step(table)
        check_rows(table, table_type, name)
    local.clean(table)  # sweeps what a process left that was killed when its commit was made
    check(table, table_type, "clean")
    assert deaths > 1


def _seconds_of(step: Step, table: Folder) -> float:
    begun = SYSTEM_CLOCK.monotonic()
    step(table)
    return SYSTEM_CLOCK.monotonic() - begun


def _is_done_within(seconds: float, step: Step, table: Folder) -> bool:
    """Whether a process did the step in that time; else it is killed."""
    with in_new_process(partial(step, table)) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return False
