"""What happens in the world of a seed: the table, who does what to it, and how often it goes wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.simulation.model import Write
from tests.simulation.pace import Pace, pace_of, waiting_pace
from tests.simulation.weather import Fault, Place

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SHARED = tuple(range(8))
"""Keys that the table has from the beginning; all writers change them."""
NEW = (50, 51)
"""Keys that it does not have; all upserts may insert them."""
_WRITES = ("upsert", "upsert", "upsert", "insert", "delete", "delete", "insert_overwrite")
_REWRITES = {
    COW: ("cluster", "cluster", "schedule cluster", "execute cluster"),
    MOR: ("compact", "compact", "schedule compact", "execute compact", "cluster", "log compact"),
}
_IN_HOW_MANY = 12
"""Worlds one is about the lock, one about files, and one about savepoints."""
HUDI = "hudi"
_WITH_HUDI = 0.2
"""Worlds beside a writer of Hudi's."""
_WITH_ATTEMPTS, _ATTEMPTS = 0.25, (0.1, 0.3)
"""Worlds in which tasks run twice, and how many of theirs do."""
_READS = ["read", "read", "moment read", "since read", "saved read"]
_UPKEEP = ("clean", "archive", "clean", "archive", "roll back", "maintain", "savepoint", "restore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """``guarded``: on a storage like a local disk, else on a store of objects. ``has_upkeep``: writers clean and
    archive behind each write. ``fills_files``: they put new keys into files that are there.
    """

    kind: str
    guarded: bool
    has_metadata: bool
    index: str
    has_upkeep: bool
    fills_files: bool

    @property
    def as_made(self) -> Table:
        """What differs between tables before the simulation begins."""
        return replace(self, guarded=False, has_upkeep=False, fills_files=False)

    @property
    def conf(self) -> dict[str, str]:
        return {
            "hoodie.metadata.enable": str(self.has_metadata).lower(),
            "hoodie.metadata.compact.max.delta.commits": "3",
            "hoodie.index.type": self.index,
            "hoodie.bucket.index.num.buckets": "2",
            "hoodie.index.bloom.num_entries": "50",
            "hoodie.compact.inline.max.delta.commits": "1",
            "hoodie.clustering.async.max.commits": "1",
            "hoodie.cleaner.commits.retained": "1",
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3",
            "hoodie.clean.automatic": str(self.has_upkeep).lower(),
            "hoodie.archive.automatic": str(self.has_upkeep).lower(),
            "hoodie.parquet.small.file.limit": "100000" if self.fills_files else "0",
            "hoodie.metadata.record.index.enable": str(self.index == "RECORD_INDEX").lower(),
            "hoodie.metadata.record.index.min.filegroup.count": "1",
            "hoodie.metadata.record.index.max.filegroup.count": "1",
            "hoodie.log.compaction.blocks.threshold": "2",
            "hoodie.write.lock.filesystem.expire": "1",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``writers`` by role their tasks, ``services`` by role what it runs; roles of one ``hosts`` see each other die.
    ``doubled`` are writers whose tasks of Airflow run twice at the same time; of executors' tasks ``attempts`` is the
    share that does. ``foreign`` are writers like Hudi, who try each write once. ``faults`` are the kinds that happen,
    ``aim`` is where calls fail most, and where the roles meet.
    """

    table: Table
    writers: Mapping[str, tuple[Write, ...]]
    services: Mapping[str, tuple[str, ...]]
    doubled: frozenset[str]
    hosts: Mapping[str, str]
    skews_ms: Mapping[str, int]
    pace: Pace
    switch: float
    fault_rate: float
    most_faults: int
    faults: frozenset[Fault]
    aim: Place | None
    attempts: float = 0.0
    foreign: Mapping[str, tuple[Write, ...]] = field(default_factory=dict)

    @property
    def conf(self) -> dict[str, str]:
        return {**self.table.conf, **self.pace.conf}

    @property
    def roles(self) -> tuple[str, ...]:
        return (*self.writers, *self.services, *self.foreign)

    @property
    def writes(self) -> dict[str, Write]:
        return {one.key: one for some in self.writers.values() for one in some}


def second_try_of(role: str) -> str:
    """The name of a doubled writer's other process."""
    return f"{role} again"


def plan_of(seed: int) -> Plan:
    """Of all that can be there each world has a few: so few that they meet, and so many worlds that each pair does."""
    random = Random(f"plan {seed}")
    kind = random.choice((COW, MOR))
    guarded = random.random() < 0.5
    has_metadata = random.random() < 0.5
    table = Table(
        kind=kind,
        guarded=guarded,
        has_metadata=has_metadata,
        index=random.choice(("BLOOM", "SIMPLE", "BUCKET", "GLOBAL_SIMPLE", *(("RECORD_INDEX",) * has_metadata))),
        has_upkeep=random.random() < 0.3,
        fills_files=random.random() < 0.5,
    )
    writers = _writers(random)
    services = _services(random, table)
    doubled = frozenset(role for role in writers if random.random() < 0.15)
    roles = (*writers, *services)
    skew = 4_000 if guarded else 200
    plan = Plan(
        table=table,
        writers=writers,
        services=services,
        doubled=doubled,
        hosts={role: random.choice(("one", "one", "other")) for role in roles},
        skews_ms={role: random.randint(-skew, skew) for role in roles},
        pace=pace_of(random),
        switch=random.choice((0.02, 0.1, 0.3, 0.5)),
        fault_rate=random.choice((0.0, 0.002, 0.008, 0.025)),
        most_faults=random.choice((1, 2, 4, 8)),
        faults=random.choice((frozenset(Fault), frozenset(random.sample([*Fault], random.choice((1, 2, 3)))))),
        aim=random.choice((None, *Place)),
    )
    plan = _with_more(plan, Random(f"more {seed}"))
    around = {0: _around_the_lock, 1: _around_files, 2: _around_savepoints}.get(random.randrange(_IN_HOW_MANY))
    return around(plan, random) if around else plan


def _with_more(plan: Plan, random: Random) -> Plan:
    """What some worlds have besides."""
    plan = replace(plan, attempts=random.choice(_ATTEMPTS) if random.random() < _WITH_ATTEMPTS else 0.0)
    return _beside_hudi(plan, random) if random.random() < _WITH_HUDI else plan


def _beside_hudi(plan: Plan, random: Random) -> Plan:
    """A writer of Hudi's, once or a few times. It draws instants by its clock alone, and needs clocks that agree."""
    writes = []
    for number in range(random.choice((1, 2, 3))):
        known = random.sample(SHARED, random.choice((1, 2, 4)))
        fresh = (1000 + number,) if random.random() < 0.5 else ()
        writes.append(Write(key=f"h{number}", kind="upsert", ids=(*sorted(known), *fresh), fresh=fresh))
    return replace(
        plan,
        foreign={HUDI: tuple(writes)},
        hosts={**plan.hosts, HUDI: "another"},
        skews_ms={role: random.randint(-20, 20) for role in plan.roles} | {HUDI: 0},
        faults=plan.faults - {Fault.JUMP},
    )


def _around_files(plan: Plan, random: Random) -> Plan:
    """Writers that are rolled back while they sleep over a file, and die soon after they woke."""
    return replace(
        plan,
        services={"upkeep": tuple(random.choice(("roll back", "roll back", "archive", "clean")) for _ in range(3))},
        doubled=frozenset(),
        pace=waiting_pace(random),
        fault_rate=0.004,
        most_faults=random.choice((2, 3, 4)),
        faults=frozenset({Fault.SUSPEND, Fault.CRASH_AFTER}),
        aim=random.choice((Place.DATA, Place.MARKER)),
    )


def _around_the_lock(plan: Plan, random: Random) -> Plan:
    """Several writers wait for the lock of one that is gone, and nobody sees by the machine that it is."""
    writers = {
        f"writer {name}": (_insert(name, number),) for number, name in enumerate("abcd"[: random.choice((3, 4))])
    }
    return replace(
        plan,
        writers=writers,
        services={},
        doubled=frozenset(),
        hosts={role: role for role in writers},
        skews_ms=dict.fromkeys(writers, 0),
        pace=waiting_pace(random),
        fault_rate=0.002,
        most_faults=random.choice((1, 2, 3)),
        faults=random.choice((frozenset({Fault.SUSPEND}), frozenset({Fault.SUSPEND, Fault.CRASH_AFTER}))),
        aim=Place.LOCK,
    )


def _around_savepoints(plan: Plan, random: Random) -> Plan:
    """Ways back while others write, clean and read."""
    between = (*_UPKEEP, "compact" if plan.table.kind == MOR else "archive")
    services = {
        "upkeep": tuple(random.choice(between) for _ in range(2)),
        "keeper": ("savepoint", random.choice(("savepoint", "clean", "archive")), "restore"),
        "reader": tuple(random.choice(_READS) for _ in range(4)),
    }
    roles = (*plan.writers, *services)
    return replace(
        plan,
        services=services,
        hosts={role: plan.hosts.get(role, "one") for role in roles},
        skews_ms={role: plan.skews_ms.get(role, 0) for role in roles},
    )


def _insert(name: str, number: int) -> Write:
    return Write(key=f"{name}0", kind="insert", ids=(100 * (number + 1),))


def _writers(random: Random) -> dict[str, tuple[Write, ...]]:
    names = "abc"[: random.choice((1, 2, 2, 2, 3))]
    shared = random.sample(SHARED, random.choice((1, 2, 4, len(SHARED))))
    kinds = random.sample(_WRITES, random.choice((1, 2, len(_WRITES))))
    return {f"writer {name}": _writes(random, name, number, shared, kinds) for number, name in enumerate(names)}


def _services(random: Random, table: Table) -> dict[str, tuple[str, ...]]:
    """By role; a bucket index knows no clustering."""
    rewrites = [one for one in _REWRITES[table.kind] if table.index != "BUCKET" or "cluster" not in one]
    found = {"reader": _READS, "upkeep": _some(random, _UPKEEP), "rewriter": _some(random, rewrites)}
    roles = [role for role, some in found.items() if some and random.random() < 0.6]
    return {role: tuple(random.choice(found[role]) for _ in range(random.choice((1, 2, 3)))) for role in roles}


def _some(random: Random, names: Sequence[str]) -> list[str]:
    """One, two, or all of them."""
    return random.sample(names, min(len(names), random.choice((1, 2, len(names)))))


def _writes(random: Random, name: str, number: int, shared: Sequence[int], kinds: Sequence[str]) -> tuple[Write, ...]:
    """Keys of its own come after those of others. An insert, which looks none up, has keys that no other write has, in
    whatever order they are done.
    """
    fresh, own, made = 100 * (number + 1), [], []
    for place in range(random.choice((1, 2, 3))):
        kind = random.choice(kinds)
        known = [*random.sample(shared, min(len(shared), random.choice((1, 3)))), *own[:1]]
        if kind == "upsert" and random.random() < 0.3:
            known.append(random.choice(NEW))
        count = random.choice((1, 2))
        new = [*range(fresh, fresh + count)] if kind != "delete" else []
        ids = {"insert": new, "insert_overwrite": new, "delete": known[:2]}.get(kind, known + new)
        fresh, own = fresh + count, [*own, *(new if kind == "upsert" else ())]
        made.append(Write(key=f"{name}{place}", kind=kind, ids=tuple(sorted(ids))))
    return tuple(made)
