"""Writes and services over a network that breaks requests, or behind credentials that end in the middle: nothing is
lost or doubled, and what can't go on says so in one line.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import HudiError
from spark_jobs.core.lake import Lake
from spark_jobs.core.locks.storage_lock import LOOKS
from spark_jobs.options.choices import Repair
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.life import COW, MOR, STEPS, STEPS_OF, Step, check, copied
from tests.nightly import NIGHTLY, SERVERS
from tests.servers.losing import Losing
from tests.support.folder import Folder
from tests.support.locks import outlast
from tests.support.servers import Server

pytestmark = [*(getattr(pytest.mark, kind) for kind in SERVERS), pytest.mark.timeout(1200)]
SECONDS_OF_THROTTLING = 12 if NIGHTLY else 4
PLACES = 12 if NIGHTLY else 2
"""Requests of a step after which the others are refused."""


@pytest.fixture
def bucket(server: Server, proxy: Losing) -> Iterator[Folder]:
    """Reached over the proxy, which breaks nothing in the beginning and at the end."""
    lake = Lake().reached_by(server.options(proxy.url))
    yield Folder(server.new_bucket(), lake)
    proxy.fault = lambda method, number: ""


def at_random(proxy: Losing, what: str, share: float, seed: str) -> Callable[[], int]:
    """Give each request that fate with a probability; how many had it so far."""
    choose, hits = random.Random(seed), 0

    def fault(method: str, number: int) -> str:
        nonlocal hits
        is_hit = choose.random() < share
        hits += is_hit
        return what if is_hit else ""

    proxy.fault = fault
    return lambda: hits


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize(
    ("what", "share"), [("slow down", 0.1), ("reset", 0.1), ("lose", 0.1), ("refuse", 0.1), ("stall", 0.02)]
)
def test_requests_that_fail_now_and_then(
    proxy: Losing, bucket: Folder, table_type: str, what: str, share: float
) -> None:
    table = bucket / "t"
    local.create(table, table_type)
    hits = at_random(proxy, what, share, f"{what} {table_type}")
    for name in STEPS_OF[table_type]:
        STEPS[name][0](table)
    proxy.fault = lambda method, number: ""
    assert hits() > 1
    check(table, table_type, "clean")


def test_a_store_that_wants_all_requests_later(proxy: Losing, bucket: Folder) -> None:
    """For some seconds, in which a few tries that come one after the other would be over."""
    table, last = bucket / "t", STEPS_OF[MOR][-1]
    local.create(table, MOR)
    for name in STEPS_OF[MOR]:
        ends = SYSTEM_CLOCK.monotonic() + (SECONDS_OF_THROTTLING if name == "upsert" else 0)
        proxy.fault = lambda method, number, ends=ends: "slow down" if SYSTEM_CLOCK.monotonic() < ends else ""
        STEPS[name][0](table)
    check(table, MOR, last)


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("name", STEPS)
def test_credentials_that_end_in_the_middle(proxy: Losing, bucket: Folder, table_type: str, name: str) -> None:
    """At each of some requests of a step: it says so in one line, and a retry with other credentials ends it."""
    steps = STEPS_OF[table_type]
    if name not in steps:
        pytest.skip("copy-on-write tables have nothing to compact")
    made, step = bucket / "made", STEPS[name][0]
    local.create(made, table_type)
    for one in steps[: steps.index(name)]:
        STEPS[one][0](made)
    needed = _requests_of(proxy, copied(made, bucket / "whole"), step)
    refused = 0
    for last in range(0, needed, max(1, needed // PLACES)):
        table = copied(made, bucket / f"{last}")
        proxy.fault = _forbid_after(proxy, last)
        said = _refusal_of(step, table)
        assert said is None or ("access denied" in said and "\n" not in said)
        refused += said is not None
        proxy.fault = lambda method, number: ""
        _later(table)
        step(table)
        _swept(table)
        check(table, table_type, name)
    assert refused >= PLACES // 2


def _requests_of(proxy: Losing, table: Folder, step: Step) -> int:
    before = len(proxy.seen)
    step(table)
    return len(proxy.seen) - before


def _refusal_of(step: Step, table: Folder) -> str | None:
    try:
        step(table)
    except HudiError as error:
        return str(error)
    return None


def _forbid_after(proxy: Losing, number: int) -> Callable[[str, int], str]:
    first = len(proxy.seen) + number
    return lambda method, now: "forbid" if now > first else ""


def _swept(table: Folder) -> None:
    """What could not be deleted any more, when all else was done: the next writer removes markers, and validation names
    the object by which the store's clock was seen.
    """
    local.roll_back(table)
    for finding in validate(str(table), lake=table.lake):
        assert finding.repair is Repair.LEFTOVERS, str(finding)
        assert finding.path.startswith(".hoodie/.pyhudi-clock-"), str(finding)
        (table / finding.path).unlink()


def _later(table: Folder) -> None:
    """As long afterwards that neither the lock nor the heartbeat of a dead writer counts."""
    LOOKS.clear()
    outlast(table)
    table.storage.delete_tree(str(table / ".hoodie" / ".heartbeat"))
