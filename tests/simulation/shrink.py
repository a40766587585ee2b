"""A failing seed made small: without the roles, the faults and the switches that its failure does not need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.plan import second_try_of
from tests.simulation.run import Outcome, Without, run_seed

_MOST_RUNS = 60


def shrunk(outcome: Outcome, most_runs: int = _MOST_RUNS) -> Outcome:
    """Fails in the same way. Roles go first, one at a time, then faults, then switches in ever smaller parts; what the
    failure needs stays.
    """
    without, runs = Without(), 0

    def fails(candidate: Without) -> bool:
        nonlocal outcome, runs, without
        if runs >= most_runs:
            return False
        runs += 1
        found = run_seed(outcome.seed, candidate)
        if found.kind_of_wrong != outcome.kind_of_wrong:
            return False
        outcome, without = found, candidate
        return True

    for role in (*outcome.plan.roles, *map(second_try_of, sorted(outcome.plan.doubled))):
        fails(replace(without, roles=without.roles | {role}))
    for step in reversed(outcome.faults):
        fails(replace(without, faults=without.faults | {step}))
    for some in _parts(outcome.switches):
        fails(replace(without, switches=without.switches | some))
    return outcome


def _parts(steps: tuple[int, ...]) -> Iterator[frozenset[int]]:
    """Halves from behind, their halves, and so on."""
    size = len(steps)
    while size > 1:
        size = (size + 1) // 2
        for first in range(len(steps) - size, -size, -size):
            yield frozenset(steps[max(first, 0) : first + size])
