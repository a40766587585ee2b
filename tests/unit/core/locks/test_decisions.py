"""What is decided of what a server of locks says: whose turn it is in ZooKeeper's queue, which answer of the Hive
metastore is a lock, when an item of DynamoDB is over. In-memory items and a client that answers by hand stand for the
servers, so that time can be turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.core.config.keys.lock import BillingMode
from spark_jobs.core.locks.dynamodb import KEY, LEASE, OWNER, RELEASED, VERSION, DynamoConnection
from spark_jobs.core.locks.dynamodb_settings import DynamoSettings
from spark_jobs.core.locks.metastore_settings import MetastoreSettings
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit
LEASE_MS = 60_000
DYNAMO = DynamoSettings(
    table="locks",
    key="trips",
    region="us-east-1",
    endpoint="",
    wait_ms=0,
    lease_ms=LEASE_MS,
    billing=BillingMode.PAY_PER_REQUEST,
    read_capacity=20,
    write_capacity=10,
    creation_ms=0,
)


def test_the_queue_of_zookeeper_is_ordered_by_numbers_as_curator_orders_it() -> None:
    from spark_jobs.core.locks.zookeeper import in_order

    first, second, third = "_c_f-lock-0000000009", "_c_0-lock-0000000010", "_c_a-lock-lock-0000000011"
    assert in_order([third, second, first]) == [first, second, third]
    assert in_order(["z", first]) == [first, "z"]  # a node without a number is compared by its name


@dataclass
class InMemory:
    """The item of one lock."""

    item: dict[str, str] | None = None

    def get(self) -> Mapping[str, str] | None:
        return self.item

    def put(self, item: Mapping[str, str], version: str | None) -> bool:
        if version is None if self.item is not None else version is not None:
            return False
        if self.item is not None and self.item.get(VERSION) != version:
            return False
        self.item = dict(item)
        return True

    def renew(self, owner: str, lease_ms: int, version: str) -> bool:
        if self.item is None or self.item.get(OWNER) != owner:
            return False
        self.item.update({LEASE: str(lease_ms), VERSION: version})
        return True

    def delete(self, owner: str) -> bool:
        if self.item is None or self.item.get(OWNER) != owner:
            return False
        self.item = None
        return True

    def close(self) -> None:
        pass


def of_hudi(version: str = "v1", lease_ms: int = LEASE_MS, **more: str) -> dict[str, str]:
    return {KEY: "trips", OWNER: "host-uuid", LEASE: str(lease_ms), VERSION: version, **more}


def test_an_item_is_as_the_client_of_aws_reads_it() -> None:
    items = InMemory()
    connection = DynamoConnection(DYNAMO, HandClock(), items)
    owner = connection.attempt("token")
    assert items.item is not None
    assert set(items.item) == {KEY, OWNER, LEASE, VERSION}
    assert (items.item[KEY], items.item[OWNER], items.item[LEASE]) == ("trips", owner, "60000")
    before = items.item[VERSION]
    assert connection.lasts_ms(owner) == LEASE_MS
    assert items.item[VERSION] != before  # whoever waits sees that it lives
    connection.give_back(owner)
    assert items.item is None


def test_a_lock_of_hudi_is_taken_when_its_version_stayed_for_its_lease() -> None:
    clock, items = HandClock(), InMemory(of_hudi())
    connection = DynamoConnection(DYNAMO, clock, items)
    for version in ("v1", "v2"):  # a heartbeat begins the wait anew
        items.item = of_hudi(version)
        assert connection.attempt("token") == ""
        clock.sleep(LEASE_MS / 1000)
        assert connection.attempt("token") == ""
    clock.sleep(0.001)
    assert connection.attempt("token") != ""


def test_one_that_was_released_is_taken_at_once() -> None:
    items = InMemory(of_hudi(**{RELEASED: "1"}))
    assert DynamoConnection(DYNAMO, HandClock(), items).attempt("token") != ""
    assert RELEASED not in (items.item or {})


def test_of_two_that_wait_for_a_dead_one_one_takes_it() -> None:
    clock, items = HandClock(), InMemory(of_hudi())
    both = [DynamoConnection(DYNAMO, clock, items) for _ in range(2)]
    for one in both:
        one.attempt("token")
    clock.sleep(LEASE_MS / 1000 + 1)
    first = both[0].attempt("a")
    assert first
    assert both[1].attempt("b") == ""
    assert both[0].lasts_ms(first) == LEASE_MS


def test_who_was_taken_over_has_nothing_more() -> None:
    clock, items = HandClock(), InMemory()
    connection = DynamoConnection(DYNAMO, clock, items)
    owner = connection.attempt("token")
    items.item = of_hudi()
    assert connection.lasts_ms(owner) == 0
    connection.give_back(owner)
    assert items.item == of_hudi()


def test_the_answer_to_a_put_that_was_lost_is_found() -> None:
    items = InMemory()
    owner = DynamoConnection(DYNAMO, HandClock(), items).attempt("token")
    assert DynamoConnection(DYNAMO, HandClock(), items).attempt("token") == owner
    assert DynamoConnection(DYNAMO, HandClock(), items).attempt("other") == ""


@dataclass
class Metastore:
    """Answers of a metastore: the states of the locks that it gives, in their order."""

    states: list[int]
    timeout: str = "300s"
    unlocked: list[int] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)

    def lock(self, request: Any) -> Any:
        self.requests.append(request)
        return SimpleNamespace(lockid=len(self.requests), state=self.states.pop(0))

    def check_lock(self, request: Any) -> Any:
        from pymetastore.hive_metastore import ttypes as hive

        if request.lockid in self.unlocked:
            raise hive.NoSuchLockException()
        return SimpleNamespace(state=hive.LockState.ACQUIRED)

    def unlock(self, request: Any) -> None:
        self.unlocked.append(request.lockid)

    def get_config_value(self, name: str, otherwise: str) -> str:
        assert name == "hive.txn.timeout"
        return self.timeout


@pytest.fixture
def metastore(monkeypatch: pytest.MonkeyPatch) -> Metastore:
    pytest.importorskip("pymetastore")
    from spark_jobs.core.locks.hive_metastore import MetastoreConnection

    server = Metastore([])
    transport = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(
        MetastoreConnection, "_opened", lambda self: (server, transport)
    )  # the wire: test_metastore_wire
    return server


SETTINGS = MetastoreSettings(uris="thrift://hms:9083", database="Lake", table="Trips", wait_ms=0, heartbeat_ms=60_000)


def test_a_lock_that_the_metastore_lets_wait_is_taken_back(metastore: Metastore) -> None:
    from pymetastore.hive_metastore import ttypes as hive

    metastore.states += [hive.LockState.WAITING, hive.LockState.ACQUIRED]
    connection = SETTINGS.connect(HandClock())
    assert connection.attempt("token") == ""
    assert metastore.unlocked == [1]
    assert connection.attempt("token") == "2"
    assert connection.lasts_ms("2") == 300_000
    connection.give_back("2")
    assert connection.lasts_ms("2") == 0


def test_it_is_asked_for_as_hudi_asks(metastore: Metastore) -> None:
    from pymetastore.hive_metastore import ttypes as hive

    metastore.states.append(hive.LockState.ACQUIRED)
    SETTINGS.connect(HandClock()).attempt("token")
    ((component,),) = (request.component for request in metastore.requests)
    assert (component.type, component.level) == (hive.LockType.EXCLUSIVE, hive.LockLevel.TABLE)
    assert (component.dbname, component.tablename, component.partitionname) == ("lake", "trips", None)


@pytest.mark.parametrize(
    ("timeout", "every_ms"), [("300s", 60_000), ("100s", 25_000), ("4000ms", 1000), ("1m", 15_000), ("what", 60_000)]
)
def test_heartbeats_come_four_times_at_least_in_what_a_lock_lasts(
    metastore: Metastore, timeout: str, every_ms: int
) -> None:
    metastore.timeout = timeout
    assert SETTINGS.connect(HandClock()).renewal_ms == every_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [("300s", 300_000), ("300", 300_000), ("5 min", 300_000), ("250ms", 250), ("1h", 3_600_000), ("x", 0), ("", 0)],
)
def test_times_of_hives_configuration(text: str, expected: float) -> None:
    pytest.importorskip("pymetastore")
    from spark_jobs.core.locks.hive_metastore import time_ms

    assert time_ms(text) == expected
