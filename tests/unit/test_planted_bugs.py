"""The list of planted bugs fits the code: else ``make mutants`` would try nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planted_bugs import PLANTED, PlantedBug

pytestmark = pytest.mark.unit

JOBS = Path(__file__).resolve().parents[2] / "spark_jobs"
UNIT = Path(__file__).resolve().parent


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.what)
def test_it_can_be_planted(bug: PlantedBug) -> None:
    text = (JOBS / bug.file).read_text()
    assert text.count(bug.before) == 1
    compile(text.replace(bug.before, bug.after), bug.file, "exec")
    assert all((UNIT / name).is_dir() for name in bug.tests.split())


def test_there_are_enough_and_each_once() -> None:
    assert len(PLANTED) >= 40
    assert len({(bug.file, bug.before) for bug in PLANTED}) == len({bug.what for bug in PLANTED}) == len(PLANTED)
