"""The table lock between real processes: exclusion, take-over from a dead one, waiting, renewal, expiry."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError, StorageError
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
from spark_jobs.core.locks.owner import Owner, parse_owner, this_process
from spark_jobs.core.storage import Storage
from tests.support.folder import Folder, file_at
from tests.support.through import Through
from tests.unit.core.locks.other_owners import elsewhere, make_older
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

HOLD = """
import pickle, sys
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
storage, path = pickle.loads(bytes.fromhex(sys.argv[1]))
lock = FileLock(storage, FileLockSettings(path=path, wait_ms=5000, expire_ms=0), SYSTEM_CLOCK)
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""
COUNT = """
import pickle, sys
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
storage, path, counter = pickle.loads(bytes.fromhex(sys.argv[1]))
for _ in range(25):
    with FileLock(storage, FileLockSettings(path=path, wait_ms=30000, expire_ms=0), SYSTEM_CLOCK):
        value = int(storage.read(counter))
        SYSTEM_CLOCK.sleep(0.001)
        storage.replace(counter, str(value + 1).encode(), durable=False)
"""


def lock_at(
    path: Folder,
    wait_ms: int = 0,
    expire_ms: int = 0,
    clock: HandClock | None = None,
    lease_ms: int = 120_000,
) -> FileLock:
    settings = FileLockSettings(path=str(path), wait_ms=wait_ms, expire_ms=expire_ms, lease_ms=lease_ms)
    return FileLock(path.storage, settings, clock or SYSTEM_CLOCK)


def python(code: str, *files: Folder) -> subprocess.Popen[str]:
    given = pickle.dumps((files[0].storage, *map(str, files))).hex()
    return subprocess.Popen(
        [sys.executable, "-c", code, given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@contextmanager
def holder(path: Folder) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    child = python(HOLD, path)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def test_one_at_a_time(root: Folder) -> None:
    path = root / ".hoodie" / "lock"
    first, second = lock_at(path), lock_at(path)
    assert not first.is_held()
    with first:
        assert first.is_held()
        content = json.loads(path.read_bytes())
        assert set(content) == {"lockCreateTime", "lockThreadName", "token", "owner", "leaseMs"}
        assert datetime.strptime(content["lockCreateTime"], "%Y-%m-%d %H:%M:%S.%f")
        held = rf"held by process {os.getpid()} on .* after a wait of 0 ms.*hoodie\.write\.lock\.filesystem\.expire"
        with pytest.raises(LockNotAcquiredError, match=held):
            second.acquire()
        second.release()
        assert first.is_held()
    assert not path.exists()
    with second:
        assert second.is_held()


def test_a_live_process_keeps_its_lock_and_a_killed_one_loses_it_at_once(root: Folder) -> None:
    path = root / "lock"
    with holder(path) as child:
        clock = HandClock()
        with pytest.raises(LockNotAcquiredError, match=f"held by process {child.pid}"):
            lock_at(path, wait_ms=2_000, clock=clock).acquire()
        assert 2 <= clock.passed < 3.5  # it waited that long, and no longer
        child.kill()
        child.wait()
        with lock_at(path) as mine:
            assert mine.is_held()
        assert not path.exists()


def test_a_process_that_died_unseen_by_its_parent_counts_as_dead(root: Folder) -> None:
    with holder(root / "lock") as child:
        found = parse_owner((root / "lock").read_bytes())
        assert found is not None
        assert not found[0].is_dead()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
        assert found[0].is_dead()


def test_two_processes_exclude_each_other(root: Folder) -> None:
    counter = root / "counter"
    counter.write_text("0")
    children = [python(COUNT, root / "lock", counter) for _ in range(2)]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    assert counter.read_text() == "50"
    assert not (root / "lock").exists()


def test_of_many_that_take_over_a_dead_owners_lock_one_wins(root: Folder) -> None:
    path, counter = root / "lock", root / "counter"
    with holder(path) as child:
        child.kill()
        child.wait()
        counter.write_text("0")
        children = [python(COUNT, path, counter) for _ in range(3)]
        for one in children:
            one.communicate()
            assert one.returncode == 0
    assert counter.read_text() == "75"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"owner": {"host": "h"}}'])
def test_a_lock_of_hudi_is_taken_over_only_when_it_expired(root: Folder, content: bytes) -> None:
    path = root / "lock"
    path.write_bytes(content)
    make_older(path, 50)
    for expire_ms, older in ((60_000, 0), (0, 7200)):
        make_older(path, older)
        with pytest.raises(LockNotAcquiredError, match="held by another writer"):
            lock_at(path, expire_ms=expire_ms).acquire()
    with lock_at(path, expire_ms=60_000) as mine:
        assert mine.is_held()


@pytest.mark.parametrize("expire_ms", [0, 1000])
def test_a_renewed_lock_of_another_host_gives_way_when_it_missed_its_renewals(root: Folder, expire_ms: int) -> None:
    path = root / "lock"
    path.write_bytes(elsewhere(leaseMs=120_000))
    make_older(path, 100)
    with pytest.raises(LockNotAcquiredError, match="held by process 7 on elsewhere after"):
        lock_at(path, expire_ms=expire_ms).acquire()
    make_older(path, 30)
    with lock_at(path, expire_ms=expire_ms) as mine:
        assert mine.is_held()


@pytest.mark.parametrize("lease", [{}, {"leaseMs": 0}, {"leaseMs": -1}, {"leaseMs": "x"}, {"leaseMs": True}])
def test_a_lock_that_nobody_renews_is_not_judged_by_renewals(root: Folder, lease: dict[str, object]) -> None:
    """An earlier release, or an owner whose lease has no end."""
    path = root / "lock"
    path.write_bytes(elsewhere(**lease))
    make_older(path, 7200)
    with pytest.raises(LockNotAcquiredError, match="process 7 on elsewhere"):
        lock_at(path).acquire()


def test_the_age_of_a_lock_is_by_the_clock_of_the_storage(root: Folder) -> None:
    path = root / "lock"
    path.write_bytes(elsewhere(leaseMs=120_000))
    ahead = HandClock(moment=datetime.fromtimestamp(path.modified_ms / 1000 + 7200, UTC))
    with pytest.raises(LockNotAcquiredError):
        lock_at(path, expire_ms=60_000, clock=ahead).acquire()
    make_older(path, 7200)
    behind = HandClock(moment=datetime.fromtimestamp(path.modified_ms / 1000 - 7200, UTC))
    with lock_at(path, clock=behind) as mine:
        assert mine.is_held()


def test_a_held_lock_is_renewed(root: Folder) -> None:
    path = root / "lock"
    with lock_at(path, lease_ms=600) as mine:
        path.date(1000)
        assert comes_true(lambda: path.modified_ms > 1000)
        assert mine.is_held()
        path.write_bytes(elsewhere())
        assert comes_true(lambda: not any(one.name == "lock-renewal" for one in threading.enumerate()))
        assert path.read_bytes() == elsewhere()
        assert not mine.is_held()


def test_an_interrupt_while_the_renewal_starts_leaves_no_lock(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path, start = root / "lock", threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "lock-renewal":
            raise KeyboardInterrupt

    with monkeypatch.context() as starting:
        starting.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lock_at(path).acquire()
    assert not any(one.name == "lock-renewal" for one in threading.enumerate())
    with lock_at(path) as lock:
        assert lock.is_held()


class Exchanged(Through):
    """One holder releases the lock and another takes it, between the waiter's look and its reading."""

    times = 0

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        self.times += 1
        if self.times == 1:
            raise StorageError(f"{path} can't be read (no such file)", path=path)
        return self.inner.read(path, offset, length)


def test_a_waiter_bears_that_the_lock_changes_hands(root: Folder) -> None:
    path = root / "lock"
    path.write_bytes(elsewhere())
    with pytest.raises(LockNotAcquiredError):
        lock_at(root.through(Exchanged(root.storage)) / "lock").acquire()


class Stalls(Through):
    """The renewal comes to a stop between its look and its write, as long as another takes the lock over."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.taken_by: bytes | None = None

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._stall(path)
        self.inner.replace(path, data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        self._stall(path)
        self.inner.replace_if(path, data, etag)

    def _stall(self, path: str) -> None:
        if threading.current_thread().name == "lock-renewal" and self.taken_by is not None:
            content, self.taken_by = self.taken_by, None
            self.inner.replace(path, content, durable=False)


def test_a_renewal_that_comes_late_takes_nothing_back(root: Folder) -> None:
    storage = Stalls(root.storage)
    path = root.through(storage) / "lock"
    with lock_at(path, lease_ms=60) as mine:
        storage.taken_by = elsewhere()
        assert comes_true(lambda: not any(one.name == "lock-renewal" for one in threading.enumerate()))
        assert path.read_bytes() == elsewhere()
        assert not mine.is_held()


def comes_true(condition: Callable[[], bool]) -> bool:
    deadline = SYSTEM_CLOCK.monotonic() + 10
    while not condition() and SYSTEM_CLOCK.monotonic() < deadline:
        SYSTEM_CLOCK.sleep(0.002)
    return condition()


class Raced(Through):
    """Another program, which asks no guard, takes the stale lock over right after it was looked at."""

    def __init__(self, inner: Storage, content: bytes) -> None:
        super().__init__(inner)
        self.content = content

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = 0) -> Iterator[None]:
        with self.inner.while_alone(lock, name, wait_ms=wait_ms):
            file_at(self.inner, lock).unlink()
            file_at(self.inner, lock).write_bytes(self.content)
            yield


@pytest.mark.parametrize("content", [b"", elsewhere(leaseMs=9000)])
def test_a_stale_lock_that_another_took_meanwhile_stays_its(root: Folder, content: bytes) -> None:
    path = root / "lock"
    path.write_bytes(elsewhere(leaseMs=5000))
    make_older(path, 10)
    with pytest.raises(LockNotAcquiredError):
        lock_at(path.through(Raced(root.storage, content))).acquire()
    assert path.read_bytes() == content


def test_a_lock_of_another_host_is_not_proved_dead() -> None:
    me = this_process()
    assert not me.is_dead()
    assert not Owner(host="elsewhere/1/2", pid=me.pid, started=0).is_dead()
    assert Owner(host=me.host, pid=me.pid, started=me.started + 1).is_dead()  # its number went to another process
    assert not Owner(host="", pid=1, started=0).is_dead()


def test_who_lost_the_lock_knows_and_leaves_it_alone(root: Folder) -> None:
    path = root / "lock"
    first, second = lock_at(path), lock_at(path)
    first.acquire()
    make_older(path, 121)
    second.acquire()
    assert (first.is_held(), second.is_held()) == (False, True)
    first.release()
    assert second.is_held()
    second.release()
    assert not path.exists()
