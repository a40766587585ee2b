"""The lock of a storage that no other process sees."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError, WriteConflictError
from spark_jobs.core.locks.in_process import InProcessLock, InProcessSettings
from spark_jobs.core.storage import LocalStorage

pytestmark = pytest.mark.unit


def lock(name: str, wait_ms: int = 0) -> InProcessLock:
    return InProcessLock(LocalStorage(), InProcessSettings(path=name, wait_ms=wait_ms), SYSTEM_CLOCK)


def test_one_thread_at_a_time_holds_it(tmp_path: Path) -> None:
    name, counter = str(tmp_path / "lock"), tmp_path / "n"
    counter.write_text("0")

    def add(_: int) -> None:
        with lock(name, wait_ms=60_000) as held:
            held.storage.replace(str(counter), str(int(counter.read_text()) + 1).encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(100)))
    assert counter.read_text() == "100"
    assert not (tmp_path / "lock").exists()


def test_who_waits_in_vain_is_refused(tmp_path: Path) -> None:
    name = str(tmp_path / "lock")
    with lock(name) as held, pytest.raises(LockNotAcquiredError, match=f"{name} is held by another thread"):
        lock(name).acquire()
    assert not held.is_held()
    with lock(name) as held, lock(f"{name}2"):
        assert held.is_held()


def test_nothing_is_changed_by_a_lease_that_ended(tmp_path: Path) -> None:
    name, file = str(tmp_path / "lock"), str(tmp_path / "file")
    with lock(name) as held:
        storage = held.storage
        pickle.loads(pickle.dumps(storage)).create(file, b"1")
    with lock(name), pytest.raises(WriteConflictError, match="was released"):
        storage.delete(file)
    assert LocalStorage().read(file) == b"1"


def test_nor_by_another_process(tmp_path: Path) -> None:
    name, file = str(tmp_path / "lock"), str(tmp_path / "file")
    program = "import pickle, sys; pickle.loads(bytes.fromhex(sys.argv[1])).create(sys.argv[2], b'1')"
    with lock(name) as held:
        child = subprocess.run([sys.executable, "-c", program, pickle.dumps(held.storage).hex(), file], check=False)
    assert child.returncode != 0
    assert LocalStorage().stat(file) is None


def test_a_release_waits_for_the_changes_that_are_under_way(tmp_path: Path) -> None:
    held = lock(str(tmp_path / "lock"))
    held.acquire()
    lease, inside, go_on, done = held.storage.lease, Event(), Event(), []

    def change() -> None:
        with lease.held(LocalStorage()):
            inside.set()
            go_on.wait(60)
            done.append("change")

    def release() -> None:
        held.release()
        done.append("release")

    with ThreadPoolExecutor(2) as pool:
        change_ends = pool.submit(change)
        inside.wait(60)
        release_ends = pool.submit(release)
        go_on.set()
        change_ends.result(60)
        release_ends.result(60)
    assert done == ["change", "release"]
