"""Small worlds: two or three processes, each of which does one thing to a table that has work for it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from random import Random

from tests.faults import local_table as local
from tests.simulation.clock import BEGIN, SimulatedClock, SimulatedProcesses
from tests.simulation.installed import installed
from tests.simulation.model import Model, Write
from tests.simulation.objects import Objects
from tests.simulation.pace import Pace
from tests.simulation.plan import COW, MOR, SHARED, Plan, Table
from tests.simulation.scheduler import Process, Scheduler, Task
from tests.simulation.small.schedule import Call, Schedule, ScheduledScheduler
from tests.simulation.storage import SimulatedStorage, Step
from tests.simulation.weather import Place, Weather, place_of
from tests.simulation.world import URL, World
from tests.support.folder import Folder

NAMES = "abc"
WRITES = {
    "upsert": (0, 1, 50),
    "insert": (60, 61),
    "delete": (0, 3),
    "insert_overwrite": (70,),
}
"""Operations that a role may do, each with the keys that it changes; those of new keys differ by role."""
DISK = Table(kind=MOR, guarded=True, has_metadata=True, index="BLOOM", has_upkeep=False, fills_files=False)
STORE = Table(kind=COW, guarded=False, has_metadata=True, index="BLOOM", has_upkeep=False, fills_files=False)
TABLES = {"disk": DISK, "store": STORE}
_ROLES = {
    "disk": ("upsert", "insert_overwrite", "compact", "clean", "archive", "roll back", "maintain", "read"),
    "store": ("upsert", "insert_overwrite", "cluster", "clean", "archive", "roll back", "maintain", "read"),
}
_HISTORY = (
    Write(key="first", kind="insert", ids=SHARED),
    Write(key="second", kind="insert", ids=(20, 21)),
    Write(key="third", kind="upsert", ids=SHARED),
    Write(key="fourth", kind="upsert", ids=(0, 1, 20, 21)),
)
_DEAD = Write(key="dead", kind="upsert", ids=(0, 1))
_A_DAY_BEFORE_MS = -86_400_000.0


@dataclass(frozen=True, slots=True)
class SmallWorld:
    """What each role does, a write of :data:`WRITES` or what :meth:`World.serve` knows, to a table in which a write of
    a dead process is left where ``has_leftover``.
    """

    table: Table
    does: tuple[str, ...]
    has_leftover: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(f"{name}, {what}" for name, what in zip(NAMES, self.does, strict=False))

    @property
    def pace(self) -> Pace:
        """Leases on a disk are short, as less happens then until they are over."""
        return Pace(
            latencies_ms=(0,),
            slow_ms=0.0,
            lease_ms=12_000,
            beat_ms=4_000 if self.table.guarded else 60_000,
            lock_wait_ms=300_000,
            suspensions_ms=(),
            waking=0.0,
            wakes_after_ms=0,
        )

    @property
    def lapse_ms(self) -> float:
        return 15_000 if self.table.guarded else 300_000

    @property
    def plan(self) -> Plan:
        roles = dict(zip(self.roles, self.does, strict=True))
        return Plan(
            table=self.table,
            writers={
                role: (_write(number, what),) for number, (role, what) in enumerate(roles.items()) if what in WRITES
            },
            services={role: (what,) for role, what in roles.items() if what not in WRITES},
            doubled=frozenset(),
            hosts={},
            skews_ms={},
            pace=self.pace,
            switch=0.0,
            fault_rate=0.0,
            most_faults=0,
            faults=frozenset(),
            aim=None,
        )


def pairs(table: str) -> list[SmallWorld]:
    """Of each two roles at a table, of which one changes something; where one rolls back there is something to."""
    return [
        SmallWorld(TABLES[table], two, has_leftover="roll back" in two)
        for two in combinations_with_replacement(_ROLES[table], 2)
        if two != ("read", "read")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """``left_at``: how many calls there had been when a role was over."""

    schedule: Schedule
    calls: tuple[Call, ...]
    left_at: dict[str, int]
    wrong: tuple[str, ...]
    steps: tuple[Step, ...]


def _write(number: int, kind: str) -> Write:
    ids = tuple(one + 10 * number if one >= 60 else one for one in WRITES[kind])
    return Write(key=f"{NAMES[number]}-{kind}", kind=kind, ids=ids)


def live(small: SmallWorld, roles: Sequence[str], schedule: Schedule) -> Lived:
    """The same at each call, to the storage call.

    :param roles: in the order in which they begin.
    """
    plan = small.plan
    objects, model = _template(small.table, small.has_leftover)
    scheduler = ScheduledScheduler(plan.pace, schedule, roles, small.lapse_ms)
    world = _world(plan, objects.copied(), copy.deepcopy(model), scheduler)
    scheduler.tell = world.storage.note
    with installed(world.clock, world.processes):
        wrong = world.live(within_ms=0.0)
    return Lived(
        schedule=schedule,
        calls=tuple(scheduler.calls),
        left_at=scheduler.left_at,
        wrong=wrong,
        steps=tuple(world.storage.steps),
    )


def _world(plan: Plan, objects: Objects, model: Model, scheduler: Scheduler) -> World:
    model.writes = {**model.writes, **plan.writes}
    return World(
        plan=plan,
        model=model,
        scheduler=scheduler,
        storage=SimulatedStorage(
            objects, scheduler, Weather(rate=0.0, most=0), guarded=plan.table.guarded, observe=model.observe
        ),
        clock=SimulatedClock(scheduler, Random(f"ids {scheduler.now_ms}")),
        processes=SimulatedProcesses(scheduler),
        random=Random(0),
        tries=1,
    )


@cache
def _template(table: Table, has_leftover: bool) -> tuple[Objects, Model]:
    """A table with work for each service, and what it has to hold."""
    small = SmallWorld(table, ())
    writes = [*_HISTORY, _DEAD] if has_leftover else _HISTORY
    objects, model = Objects(int(BEGIN.timestamp() * 1000)), Model(writes={one.key: one for one in writes})
    scheduler = Scheduler(Random(0), 0.0, small.pace)
    scheduler.now_ms = _A_DAY_BEFORE_MS
    world = _world(small.plan, objects, model, scheduler)
    with installed(world.clock, world.processes):
        local.create(Folder(URL, world.lake), table.kind)
        for write in _HISTORY:
            if write is _HISTORY[-1] and table.kind == MOR:
                world.serve("compact")
            world.write(write)
        if has_leftover:
            _die_with_files(world)
    return objects, model


def _die_with_files(world: World) -> None:
    """A process that writes, and dies when its first file of rows is there."""
    process = SimulatedProcesses(world.scheduler, first=1).new("dead", "one", 0)  # of an id that no other has

    def observe(path: str, data: bytes | None, by: Process | None) -> None:
        world.model.observe(path, data, by)
        if data and place_of(path) is Place.DATA and not path.endswith(".hoodie_partition_metadata"):
            world.scheduler.kill(process)

    world.storage.observe = observe
    world.scheduler.add(Task("dead", process, lambda: world.write(_DEAD), world.scheduler.now_ms))
    world.scheduler.run()
    world.storage.observe = world.model.observe
