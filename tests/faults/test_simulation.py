"""Simulated worlds: many processes at one table, that are suspended, die and lose answers, each world by its seed.

``make simulation SEEDS=1-500`` runs more of them. Of a seed that fails, ``python -m tests.simulation SEED`` prints the
steps that it takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.bugs import BUGS
from tests.simulation.picture import WIDTH, picture
from tests.simulation.planted import Bug, plant
from tests.simulation.run import run_seed
from tests.simulation.shrink import shrunk
from tests.simulation.story import story

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
SEEDS = [range(first, first + 25) for first in range(1, 501, 25)]
FOUND_OFTEN = (
    "two writers of one file group both win",
    "the timeline is read before the lock is held",
    "a live writer is rolled back",
    "files of a broken attempt stay beside a published write",
    "a heartbeat of Hudi's, which says nothing, is no sign of life",
)
"""Bugs that one of some ten seeds finds. ``make simulated-bugs`` looks for all."""
LOOKED_AT = range(1, 60)


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_nothing_goes_wrong(seeds: range) -> None:
    for seed in seeds:
        outcome = run_seed(seed)
        assert not outcome.wrong, "\n".join(story(outcome))


def test_a_seed_is_replayed_to_the_call() -> None:
    """Here, and in a process that orders sets otherwise."""
    code = "import sys; from tests.simulation.run import run_seed; sys.exit(run_seed(3).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert other.stderr.split() == [run_seed(3).digest]


@pytest.mark.parametrize("what", FOUND_OFTEN)
def test_a_planted_bug_is_found(what: str) -> None:
    (bug,) = [one for one in BUGS if one.what == what]
    with plant(bug):
        found = next(seed for seed in LOOKED_AT if run_seed(seed).wrong)
    assert not run_seed(found).wrong


def test_a_failure_is_told_by_what_it_needs() -> None:
    (bug,) = [one for one in BUGS if one.what == "two writers of one file group both win"]
    with plant(bug):
        whole = next(one for one in map(run_seed, LOOKED_AT[31:]) if one.wrong)
        small = shrunk(whole, most_runs=12)
    assert small.wrong
    assert len(small.faults) + len(small.switches) < len(whole.faults) + len(whole.switches)
    assert any("WRONG" in line for line in story(small))
    drawn = list(picture(small.steps))
    assert max(map(len, drawn)) <= WIDTH
    assert any("WRONG" in line for line in drawn)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_a_bug_can_be_planted(bug: Bug) -> None:
    for file, text in bug.planted().items():
        compile(text, file, "exec")
