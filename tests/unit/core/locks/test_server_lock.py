"""What a lock does with what its server says: looks before changes, renewals, loss, release.

The server is a dict in this process, which stands for ZooKeeper, the Hive metastore and DynamoDB: what is tried here is
the order of questions and changes. The servers themselves are in ``tests/faults/test_server_locks.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError, UnsupportedTableError, WriteConflictError
from spark_jobs.core.locks.server_lock import HELD, ServerLock
from tests.support.folder import Folder
from tests.support.through import Careless
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


@dataclass
class Server:
    """Who has the lock, how often it was asked about it, and whether it answers."""

    holder: str = ""
    lasts_ms: float = 10_000
    renewal_ms: float = 0
    looks: int = 0
    silent: bool = False
    closed: int = 0
    answer_takes_s: float = 0
    log: list[str] = field(default_factory=list)


@dataclass
class ToServer:
    server: Server
    clock: Clock

    @property
    def renewal_ms(self) -> float:
        return self.server.renewal_ms

    def attempt(self, token: str) -> str:
        self._ask("attempt")
        if self.server.holder:
            return ""
        self.server.holder = token
        return token

    def lasts_ms(self, handle: str) -> float:
        self._ask("look")
        self.server.looks += 1
        if self.server.answer_takes_s:
            self.clock.sleep(self.server.answer_takes_s)
        return self.server.lasts_ms if self.server.holder == handle else 0

    def give_back(self, handle: str) -> None:
        self._ask("give back")
        if self.server.holder == handle:
            self.server.holder = ""

    def holder(self) -> str:
        return self.server.holder

    def close(self) -> None:
        self.server.closed += 1

    def _ask(self, what: str) -> None:
        self.server.log.append(what)
        if self.server.silent:
            raise LockNotAcquiredError("no server answers")


@dataclass(frozen=True)
class Settings:
    server: Server
    path: str = "the lock"
    wait_ms: int = 0
    gives_way: str = "some day"

    def connect(self, clock: Clock) -> ToServer:
        connection = ToServer(self.server, clock)
        connection._ask("connect")
        return connection


@pytest.fixture
def server() -> Iterator[Server]:
    yield Server()
    HELD.clear()


def test_a_change_is_made_after_a_look_and_those_of_a_second_after_one(server: Server, root: Folder) -> None:
    clock = HandClock()
    with ServerLock(root.storage, Settings(server), clock) as lock:
        for number, looks in enumerate([1, 1, 1]):
            lock.storage.create(f"{root}/{number}", b"1")
            assert server.looks == looks
        clock.sleep(1.1)
        lock.storage.create(f"{root}/late", b"1")
        assert server.looks == 2
    assert server.holder == ""
    assert server.closed == 1


def test_who_lost_it_changes_nothing_more_and_leaves_it_alone(server: Server, root: Folder) -> None:
    clock = HandClock()
    lock = ServerLock(root.storage, Settings(server), clock)
    lock.acquire()
    lock.storage.create(f"{root}/before", b"1")
    server.holder = "another"
    clock.sleep(1.1)
    with pytest.raises(WriteConflictError, match="the table lock the lock was lost: its owner was silent") as caught:
        lock.storage.create(f"{root}/after", b"1")
    assert caught.value.exit_code == 3
    assert not (root / "after").exists()
    assert not lock.is_held()
    lock.release()
    assert server.holder == "another"


def test_a_server_that_does_not_answer_lets_nothing_be_changed(server: Server, root: Folder) -> None:
    clock = HandClock()
    lock = ServerLock(root.storage, Settings(server), clock)
    lock.acquire()
    server.silent = True
    with pytest.raises(WriteConflictError, match="no server answers"):
        lock.storage.create(f"{root}/file", b"1")
    assert not lock.is_held()
    lock.release()
    assert server.closed == 1
    server.silent = False
    assert server.holder != ""  # it gives way by itself


def test_an_answer_that_came_too_late_is_none(server: Server, root: Folder) -> None:
    clock = HandClock()
    with ServerLock(root.storage, Settings(server), clock) as lock:
        server.answer_takes_s = 2
        with pytest.raises(WriteConflictError, match="its server answered too late"):
            lock.storage.create(f"{root}/file", b"1")
        server.answer_takes_s, server.lasts_ms = 0.3, 400
        with pytest.raises(WriteConflictError, match="its server answered too late"):
            lock.storage.create(f"{root}/file", b"1")


def test_a_clock_that_was_put_back_counts_for_a_new_look(server: Server, root: Folder) -> None:
    clock = HandClock()
    with ServerLock(root.storage, Settings(server), clock) as lock:
        lock.storage.create(f"{root}/a", b"1")
        clock.sleep(-0.5)
        lock.storage.create(f"{root}/b", b"1")
        assert server.looks == 2


def test_what_is_not_held_changes_nothing(server: Server, root: Folder) -> None:
    lock = ServerLock(root.storage, Settings(server), HandClock())
    with pytest.raises(WriteConflictError, match="it is not held"):
        lock.storage.create(f"{root}/file", b"1")
    with lock:
        storage = lock.storage
    with pytest.raises(WriteConflictError, match="it was released, or another process has it"):
        storage.create(f"{root}/file", b"1")


def test_a_worker_looks_before_each_change(server: Server, root: Folder) -> None:
    with ServerLock(root.storage, Settings(server), HandClock()) as lock:
        storage, own = lock.storage, dict(HELD)
        HELD.clear()  # as in another process
        for number in range(2):
            storage.create(f"{root}/{number}", b"1")
        HELD.update(own)
    assert server.log == ["connect", "attempt", *["connect", "look"] * 2, "give back"]
    assert server.closed == 3


def test_one_that_is_not_acquired_leaves_nothing(server: Server, root: Folder) -> None:
    server.holder = "another"
    lock = ServerLock(root.storage, Settings(server), HandClock())
    with pytest.raises(
        LockNotAcquiredError, match=r"the lock is held by another after a wait of 0 ms: .*gives way some"
    ):
        lock.acquire()
    assert (server.closed, server.holder) == (1, "another")
    assert not HELD
    server.silent = True
    with pytest.raises(LockNotAcquiredError, match="no server answers"):
        lock.acquire()


def test_a_lock_that_has_to_be_renewed_is(server: Server, root: Folder) -> None:
    server.renewal_ms = 10
    asked = threading.Event()
    clock = HandClock()
    with ServerLock(root.storage, Settings(server), clock):
        for _ in range(200):
            if server.looks > 1 or asked.wait(0.05):
                break
        assert server.looks > 1
    assert not any(one.name == "lock-renewal" for one in threading.enumerate())


@pytest.mark.parametrize("unknown", ["If-None-Match", "If-Match"])
def test_a_storage_that_publishes_by_conditions_has_to_keep_them(server: Server, root: Folder, unknown: str) -> None:
    """A put that was on its way when its writer lost the lock is kept from another's file by them alone."""
    conditions = f"{root}/.locks/{unknown}"
    careless = root.through(Careless(root.storage, unknown)).storage
    with pytest.raises(UnsupportedTableError, match="puts an object whatever condition it is given"):
        ServerLock(careless, Settings(server), HandClock(), conditions).acquire()
    assert (server.holder, server.closed) == ("", 1)
    for _ in range(2):  # the second one finds the file of the first
        with ServerLock(root.storage, Settings(server), HandClock(), conditions) as lock:
            lock.storage.create(f"{root}/{unknown}{server.closed}", b"1")
