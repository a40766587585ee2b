"""One seed: a world that is made, lived through, and looked at."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from tests.faults import local_table as local
from tests.simulation.attempts import Attempts
from tests.simulation.clock import BEGIN, SimulatedClock, SimulatedProcesses
from tests.simulation.installed import installed
from tests.simulation.model import Model, Write
from tests.simulation.objects import Objects
from tests.simulation.plan import SHARED, Plan, Table, plan_of, second_try_of
from tests.simulation.scheduler import Scheduler
from tests.simulation.storage import SimulatedStorage, Step
from tests.simulation.weather import ON_A_DISK, Weather
from tests.simulation.world import URL, World
from tests.support.folder import Folder

FIRST = Write(key="first", kind="insert", ids=SHARED)
_LONGEST_CHANGE_MS = 100_000
"""On a store of objects, where the holder of a lock trusts that no call takes longer than half of its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``wrong`` is empty where all went as it must; ``faults`` are the steps at which a call failed on purpose, or a
    task ran twice.
    """

    seed: int
    wrong: tuple[str, ...]
    steps: tuple[Step, ...]
    faults: tuple[int, ...]
    switches: tuple[int, ...]
    """Steps at which another task went on, though the one before it could have."""
    plan: Plan

    @property
    def digest(self) -> str:
        """The same for the same steps."""
        return hashlib.sha256("\n".join(map(str, self.steps)).encode()).hexdigest()[:16]

    @property
    def kind_of_wrong(self) -> str:
        """What stays the same while a failing seed is shrunk."""
        return re.sub(r"\d+", "0", self.wrong[0].split("\n")[0])[:24] if self.wrong else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """Roles that do nothing; steps at which no fault happens that was drawn, or none hands on to another."""

    roles: frozenset[str] = frozenset()
    faults: frozenset[int] = frozenset()
    switches: frozenset[int] = frozenset()


def run_seed(seed: int, without: Without | None = None) -> Outcome:
    """The same at each call, to the storage call."""
    without = without or Without()
    plan = _of_others(plan_of(seed), without.roles)
    objects = _template(plan.table.as_made).copied()
    weather = Weather(
        rate=plan.fault_rate,
        most=plan.most_faults,
        kinds=plan.faults if plan.table.guarded else plan.faults - ON_A_DISK,
        aim=plan.aim,
        without=without.faults,
        suspensions_ms=plan.pace.suspensions_ms,
        longest_at_change_ms=float("inf") if plan.table.guarded else _LONGEST_CHANGE_MS,
    )
    world = _world(plan, seed, objects, weather, without)
    with installed(world.clock, world.processes):
        wrong = world.live()
    return Outcome(
        seed=seed,
        wrong=wrong,
        steps=tuple(world.storage.steps),
        faults=tuple(sorted({*weather.faults, *world.attempts.steps})),
        switches=tuple(world.scheduler.switches),
        plan=plan,
    )


def _of_others(plan: Plan, roles: Collection[str]) -> Plan:
    return replace(
        plan,
        writers={name: one for name, one in plan.writers.items() if name not in roles},
        services={name: one for name, one in plan.services.items() if name not in roles},
        foreign={name: one for name, one in plan.foreign.items() if name not in roles},
        doubled=frozenset(name for name in plan.doubled if second_try_of(name) not in roles),
    )


def _world(plan: Plan, seed: int | str, objects: Objects, weather: Weather, without: Without | None = None) -> World:
    without = without or Without()
    scheduler = Scheduler(Random(seed), plan.switch, plan.pace, without.switches)
    model = Model(writes={**plan.writes, FIRST.key: FIRST}, states=[FIRST.on({})])
    clock = SimulatedClock(scheduler, Random(f"ids {seed}"))
    storage = SimulatedStorage(objects, scheduler, weather, guarded=plan.table.guarded, observe=model.observe)
    processes = SimulatedProcesses(scheduler)
    attempts = Attempts(
        random=Random(f"attempts {seed}"),
        rate=plan.attempts,
        scheduler=scheduler,
        processes=processes,
        note=storage.note,
        without=without.faults,
    )
    return World(
        plan=plan,
        model=model,
        scheduler=scheduler,
        storage=storage,
        clock=clock,
        processes=processes,
        attempts=attempts,
        random=Random(f"pauses {seed}"),
    )


@cache
def _template(table: Table) -> Objects:
    """A table with its first rows, an hour before the simulation begins."""
    objects = Objects(int(BEGIN.timestamp() * 1000))
    plan = replace(plan_of(0), table=table, writers={}, services={})
    world = _world(plan, str(table), objects, Weather(rate=0.0, most=0))
    world.scheduler.now_ms = -3_600_000.0
    with installed(world.clock, world.processes):
        local.create(Folder(URL, world.lake), table.kind)
        world.write(FIRST)
    return objects
