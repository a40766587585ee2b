"""The lock of Hudi's StorageBasedLockProvider: exclusion, renewal, take-over when its time is over, and its file."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from datetime import timedelta
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import (
    CorruptTableError,
    LockNotAcquiredError,
    StorageError,
    UnsupportedTableError,
    WriteConflictError,
)
from spark_jobs.core.locks.storage_lock import DRIFT_MS, LONGEST_CHANGE_MS, StorageLock, StorageLockSettings
from spark_jobs.core.storage import Content, Storage
from spark_jobs.core.storage.protocol import SMALL_FILE
from tests.support.folder import Folder, file_at
from tests.support.through import Careless, Through
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit
COUNT = """
import pickle, sys
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.locks.storage_lock import StorageLock, StorageLockSettings
storage, path, counter = pickle.loads(bytes.fromhex(sys.argv[1]))
settings = StorageLockSettings(path=path, wait_ms=60000, valid_ms=60000, renew_ms=10000)
for _ in range(25):
    with StorageLock(storage, settings, SYSTEM_CLOCK):
        value = int(storage.read(counter))
        SYSTEM_CLOCK.sleep(0.001)
        storage.replace(counter, str(value + 1).encode(), durable=False)
"""


def lock_at(
    path: Folder, *, wait_ms: int = 0, valid_ms: int = 60_000, renew_ms: int = 30_000, clock: Clock = SYSTEM_CLOCK
) -> StorageLock:
    settings = StorageLockSettings(path=str(path), wait_ms=wait_ms, valid_ms=valid_ms, renew_ms=renew_ms)
    return StorageLock(path.storage, settings, clock)


def stored(path: Folder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def of_hudi(path: Folder, valid_for_ms: int, *, expired: bool = False, owner: str = "0b63-uuid") -> None:
    until = int(SYSTEM_CLOCK.now().timestamp() * 1000) + valid_for_ms
    path.write_text(json.dumps({"expired": expired, "validUntil": until, "owner": owner}))


def test_one_at_a_time(root: Folder) -> None:
    path = root / "lock.json"
    first, second = lock_at(path), lock_at(path)
    with first:
        assert first.is_held()
        with pytest.raises(LockNotAcquiredError, match=r"lock.json is held by process \d+ on .* after a wait of 0 ms"):
            second.acquire()
        assert not second.is_held()
    assert not first.is_held()
    with second:
        assert second.is_held()


def test_the_file_is_as_hudi_writes_and_reads_it(root: Folder) -> None:
    path = root / "lock.json"
    with lock_at(path):
        held = stored(path)
        assert set(held) == {"expired", "validUntil", "owner"}
        assert held["expired"] is False
        assert 50_000 < held["validUntil"] - SYSTEM_CLOCK.now().timestamp() * 1000 <= 60_000
    assert stored(path)["expired"] is True
    assert stored(path)["owner"] == held["owner"]


def test_a_lock_of_hudi_is_waited_for_until_its_time_is_over(root: Folder) -> None:
    path = root / "lock.json"
    of_hudi(path, 60_000)
    with pytest.raises(LockNotAcquiredError, match="is held by the writer 0b63-uuid"):
        lock_at(path).acquire()
    of_hudi(path, -DRIFT_MS + 200)  # its clock may be as far behind
    with pytest.raises(LockNotAcquiredError):
        lock_at(path).acquire()
    for valid_for_ms, expired in ((-DRIFT_MS - 1, False), (60_000, True)):
        of_hudi(path, valid_for_ms, expired=expired)
        with lock_at(path) as lock:
            assert lock.is_held()


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"expired": 0, "validUntil": 1, "owner": "x"}', b"\xff"])
def test_another_file_is_no_lock(root: Folder, content: bytes) -> None:
    path = root / "lock.json"
    path.write_bytes(content)
    with pytest.raises(CorruptTableError, match="is no lock of Hudi's StorageBasedLockProvider: remove it"):
        lock_at(path).acquire()


def test_two_processes_exclude_each_other(root: Folder) -> None:
    counter = root / "counter"
    counter.write_text("0")
    given = pickle.dumps((root.storage, str(root / "lock.json"), str(counter))).hex()
    children = [subprocess.Popen([sys.executable, "-c", COUNT, given]) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    assert counter.read_text() == "50"


def test_a_dead_process_of_this_machine_gives_way_when_what_it_began_is_over(root: Folder) -> None:
    path = root / "lock.json"
    given = pickle.dumps((root.storage, str(path))).hex()
    code = (
        "import os, pickle, sys\n"
        "from spark_jobs.core.clock import SYSTEM_CLOCK\n"
        "from spark_jobs.core.locks.storage_lock import StorageLock, StorageLockSettings\n"
        "storage, path = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "settings = StorageLockSettings(path=path, wait_ms=0, valid_ms=600000, renew_ms=60000)\n"
        "StorageLock(storage, settings, SYSTEM_CLOCK).acquire()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, given], check=True)
    left = stored(path)
    assert left["expired"] is False
    with pytest.raises(LockNotAcquiredError):
        lock_at(path).acquire()
    path.write_text(json.dumps({**left, "validUntil": left["validUntil"] - LONGEST_CHANGE_MS - DRIFT_MS - 1}))
    with lock_at(path) as lock:
        assert lock.is_held()


def test_a_held_lock_is_renewed(root: Folder) -> None:
    path = root / "lock.json"
    with lock_at(path, renew_ms=20) as lock:
        first = stored(path)["validUntil"]
        assert comes_true(lambda: stored(path)["validUntil"] > first)
        assert lock.is_held()
        lock.storage.create(str(root / "file"), b"1")


def test_who_lost_it_changes_nothing_more_and_leaves_it_alone(root: Folder) -> None:
    path = root / "lock.json"
    lock = lock_at(path, renew_ms=20)
    lock.acquire()
    storage = lock.storage
    of_hudi(path, 60_000)
    assert comes_true(lambda: not any(one.name == "lock-renewal" for one in threading.enumerate()))
    with pytest.raises(WriteConflictError, match="was lost"):
        storage.create(str(root / "file"), b"1")
    assert not lock.is_held()
    lock.release()
    assert stored(path)["owner"] == "0b63-uuid"
    assert stored(path)["expired"] is False


def test_what_was_released_changes_nothing_more(root: Folder) -> None:
    path = root / "lock.json"
    with lock_at(path) as lock:
        storage = lock.storage
    for held_by_hudi in (False, True):
        if held_by_hudi:
            of_hudi(path, 60_000)
        for one in (storage, lock.storage, lock_at(path).storage):
            with pytest.raises(WriteConflictError):
                one.create(str(root / "file"), b"1")


def test_a_lock_whose_time_is_over_is_not_held(root: Folder) -> None:
    clock = HandClock()
    lock = lock_at(root / "lock.json", clock=clock)
    lock.acquire()
    clock.sleep(61)
    assert not lock.is_held()
    lock.release()


def test_an_interrupt_while_the_renewal_starts_leaves_no_lock(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path, start = root / "lock.json", threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "lock-renewal":
            raise KeyboardInterrupt

    with monkeypatch.context() as starting:
        starting.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lock_at(path).acquire()
    assert stored(path)["expired"] is True
    assert not any(one.name == "lock-renewal" for one in threading.enumerate())


class Removed(Through):
    """The file goes before it is read."""

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        file_at(self.inner, path).unlink(missing_ok=True)
        return self.inner.load(path, most)


def test_a_file_that_goes_is_none(root: Folder) -> None:
    with lock_at(root / "lock.json"):
        pass  # its storage was tried
    of_hudi(root / "lock.json", 60_000)
    with lock_at(root.through(Removed(root.storage)) / "lock.json") as lock:
        assert (root / "lock.json").exists()
        assert not lock.is_held()


class Deaf(Through):
    """It fails to put the lock once that is held."""

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        raise StorageError(f"{path} can't be written (no answer in time)", path=path)


def test_changes_end_when_half_of_the_lease_is_left(root: Folder) -> None:
    with lock_at(root / "lock.json"):
        pass  # its storage was tried
    (root / "lock.json").unlink()
    clock = HandClock()
    path = root.through(Deaf(root.storage)) / "lock.json"
    with lock_at(path, clock=clock) as lock:
        lock.storage.create(str(root / "first"), b"1")
        clock.sleep(29)
        lock.storage.create(str(root / "second"), b"1")
        clock.sleep(2)
        with pytest.raises(WriteConflictError, match="could not be renewed in time"):
            lock.storage.create(str(root / "third"), b"1")


class Looks(Through):
    loads = 0

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        self.loads += 1
        return self.inner.load(path, most)


def test_the_changes_of_a_second_are_made_after_one_look(root: Folder) -> None:
    clock, storage = HandClock(), Looks(root.storage)
    with lock_at(root.through(storage) / "lock.json", clock=clock) as lock:
        storage.loads = 0
        for number in range(3):
            lock.storage.create(str(root / str(number)), b"1")
        assert storage.loads == 1
        clock.sleep(1.1)
        lock.storage.create(str(root / "later"), b"1")
        assert storage.loads == 2
        of_hudi(root / "lock.json", 60_000)
        clock.sleep(1.1)
        with pytest.raises(WriteConflictError, match="another process took it over"):
            lock.storage.create(str(root / "too late"), b"1")


@pytest.mark.parametrize("turned", [-60, 60])
def test_a_look_is_over_when_the_machine_slept_or_its_clock_was_set(root: Folder, turned: int) -> None:
    clock = HandClock()
    with lock_at(root / "lock.json", clock=clock) as lock:
        lock.storage.create(str(root / "first"), b"1")
        of_hudi(root / "lock.json", 600_000)
        clock.moment += timedelta(seconds=turned)
        with pytest.raises(WriteConflictError, match="another process took it over"):
            lock.storage.create(str(root / "second"), b"1")


def test_a_released_lock_is_looked_at(root: Folder) -> None:
    lock = lock_at(root / "lock.json", clock=HandClock())
    with lock:
        storage = lock.storage
        storage.create(str(root / "first"), b"1")
    with pytest.raises(WriteConflictError, match="it was released"):
        storage.create(str(root / "second"), b"1")


def test_a_worker_looks_at_the_file(root: Folder) -> None:
    """The storage of a held lock in another process, which knows nothing of the holder's renewals."""
    path, file = root / "lock.json", root / "file"
    code = "import pickle, sys\nstorage, file = pickle.loads(bytes.fromhex(sys.argv[1]))\nstorage.create(file, b'1')\n"
    with lock_at(path) as lock:
        given = pickle.dumps((lock.storage, str(file))).hex()
        subprocess.run([sys.executable, "-c", code, given], check=True)
        assert file.read_bytes() == b"1"
    file.unlink()
    done = subprocess.run([sys.executable, "-c", code, given], check=False, capture_output=True, text=True)
    assert "was lost" in done.stderr
    assert not file.exists()


class Interrupted(Through):
    """Ctrl-C comes when the lock was put, before its holder knows."""

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(path, data, durable=durable)
        raise KeyboardInterrupt


def test_what_an_interrupted_try_put_is_nobodys(root: Folder) -> None:
    with pytest.raises(KeyboardInterrupt):
        lock_at(root.through(Interrupted(root.storage)) / "lock.json").acquire()
    assert stored(root / "lock.json")["expired"] is False
    with lock_at(root / "lock.json") as lock:
        assert lock.is_held()


class Overtaken(Through):
    """Another writer puts the lock right after it was looked at."""

    def __init__(self, inner: Storage, path: Folder) -> None:
        super().__init__(inner)
        self.path = path

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        of_hudi(self.path, 60_000)
        self.inner.create(path, data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        of_hudi(self.path, 60_000)
        self.inner.replace_if(path, data, etag)


@pytest.mark.parametrize("is_there", [False, True])
def test_of_two_that_are_after_it_one_wins(root: Folder, is_there: bool) -> None:
    path = root / "lock.json"
    if is_there:
        of_hudi(path, -60_000)
    with pytest.raises(LockNotAcquiredError, match="0b63-uuid"):
        lock_at(root.through(Overtaken(root.storage, path)) / "lock.json").acquire()
    assert stored(path)["owner"] == "0b63-uuid"


@pytest.mark.parametrize("unknown", ["If-None-Match", "If-Match"])
def test_a_storage_that_takes_no_notice_of_conditions_gives_no_lock(root: Folder, unknown: str) -> None:
    path = root / f"{unknown}.json"
    with pytest.raises(UnsupportedTableError, match="puts an object whatever condition it is given"):
        lock_at(root.through(Careless(root.storage, unknown)) / path.name).acquire()
    assert stored(path)["expired"] is True or unknown == "If-Match"
    with lock_at(path) as lock:
        assert lock.is_held()


def comes_true(condition: Any) -> bool:
    deadline = SYSTEM_CLOCK.now() + timedelta(seconds=10)
    while not condition() and SYSTEM_CLOCK.now() < deadline:
        SYSTEM_CLOCK.sleep(0.002)
    return bool(condition())
