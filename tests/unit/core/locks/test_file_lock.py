"""The table lock between real processes: exclusion, take-over from a dead one, waiting, renewal, expiry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
from spark_jobs.core.locks.owner import Owner, parse_owner, this_process
from spark_jobs.core.storage import LocalStorage, Storage
from tests.unit.core.locks.other_owners import elsewhere, make_older
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

HOLD = """
import sys
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
lock = FileLock(LocalStorage(), FileLockSettings(path=sys.argv[1], wait_ms=5000, expire_ms=0), SYSTEM_CLOCK)
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""
COUNT = """
import sys
from pathlib import Path
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
counter = Path(sys.argv[2])
for _ in range(25):
    with FileLock(LocalStorage(), FileLockSettings(path=sys.argv[1], wait_ms=30000, expire_ms=0), SYSTEM_CLOCK):
        value = int(counter.read_text())
        SYSTEM_CLOCK.sleep(0.001)
        counter.write_text(str(value + 1))
"""


LOCAL = LocalStorage()


def lock_at(
    path: Path,
    wait_ms: int = 0,
    expire_ms: int = 0,
    clock: HandClock | None = None,
    storage: Storage = LOCAL,
    lease_ms: int = 120_000,
) -> FileLock:
    settings = FileLockSettings(path=str(path), wait_ms=wait_ms, expire_ms=expire_ms, lease_ms=lease_ms)
    return FileLock(storage, settings, clock or SYSTEM_CLOCK)


def python(code: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    child = python(HOLD, str(path))
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def test_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / ".hoodie" / "lock"
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


def test_a_live_process_keeps_its_lock_and_a_killed_one_loses_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
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


def test_a_process_that_died_unseen_by_its_parent_counts_as_dead(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as child:
        found = parse_owner((tmp_path / "lock").read_bytes())
        assert found is not None
        assert not found[0].is_dead()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
        assert found[0].is_dead()


def test_two_processes_exclude_each_other(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    children = [python(COUNT, str(tmp_path / "lock"), str(counter)) for _ in range(2)]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    assert counter.read_text() == "50"
    assert not (tmp_path / "lock").exists()


def test_of_many_that_take_over_a_dead_owners_lock_one_wins(tmp_path: Path) -> None:
    path, counter = tmp_path / "lock", tmp_path / "counter"
    with holder(path) as child:
        child.kill()
        child.wait()
        counter.write_text("0")
        children = [python(COUNT, str(path), str(counter)) for _ in range(3)]
        for one in children:
            one.communicate()
            assert one.returncode == 0
    assert counter.read_text() == "75"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"owner": {"host": "h"}}'])
def test_a_lock_of_hudi_is_taken_over_only_when_it_expired(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    make_older(path, 50)
    for expire_ms, older in ((60_000, 0), (0, 7200)):
        make_older(path, older)
        with pytest.raises(LockNotAcquiredError, match="held by another writer"):
            lock_at(path, expire_ms=expire_ms).acquire()
    with lock_at(path, expire_ms=60_000) as mine:
        assert mine.is_held()


@pytest.mark.parametrize("expire_ms", [0, 1000])
def test_a_renewed_lock_of_another_host_gives_way_when_it_missed_its_renewals(tmp_path: Path, expire_ms: int) -> None:
    path = tmp_path / "lock"
    path.write_bytes(elsewhere(leaseMs=120_000))
    make_older(path, 100)
    with pytest.raises(LockNotAcquiredError, match="held by process 7 on elsewhere after"):
        lock_at(path, expire_ms=expire_ms).acquire()
    make_older(path, 30)
    with lock_at(path, expire_ms=expire_ms) as mine:
        assert mine.is_held()


@pytest.mark.parametrize("lease", [{}, {"leaseMs": 0}, {"leaseMs": -1}, {"leaseMs": "x"}, {"leaseMs": True}])
def test_a_lock_that_nobody_renews_is_not_judged_by_renewals(tmp_path: Path, lease: dict[str, object]) -> None:
    """An earlier release, or an owner whose lease has no end."""
    path = tmp_path / "lock"
    path.write_bytes(elsewhere(**lease))
    make_older(path, 7200)
    with pytest.raises(LockNotAcquiredError, match="process 7 on elsewhere"):
        lock_at(path).acquire()


def test_the_age_of_a_lock_is_by_the_clock_of_the_storage(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(elsewhere(leaseMs=120_000))
    ahead = HandClock(moment=datetime.fromtimestamp(path.stat().st_mtime + 7200, UTC))
    with pytest.raises(LockNotAcquiredError):
        lock_at(path, expire_ms=60_000, clock=ahead).acquire()
    make_older(path, 7200)
    behind = HandClock(moment=datetime.fromtimestamp(path.stat().st_mtime - 7200, UTC))
    with lock_at(path, clock=behind) as mine:
        assert mine.is_held()


def test_a_held_lock_is_renewed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock_at(path, lease_ms=12) as mine:
        os.utime(path, (1, 1))
        assert comes_true(lambda: path.stat().st_mtime > 1)
        assert mine.is_held()
        path.write_bytes(elsewhere())
        assert comes_true(lambda: not any(one.name == "lock-renewal" for one in threading.enumerate()))
        assert path.read_bytes() == elsewhere()
        assert not mine.is_held()


def comes_true(condition: Callable[[], bool]) -> bool:
    deadline = SYSTEM_CLOCK.monotonic() + 10
    while not condition() and SYSTEM_CLOCK.monotonic() < deadline:
        SYSTEM_CLOCK.sleep(0.002)
    return condition()


class Raced(LocalStorage):
    """Another program, which asks no guard, takes the stale lock over right after it was looked at."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = 0) -> Iterator[None]:
        with super().while_alone(lock, name, wait_ms=wait_ms):
            Path(lock).unlink()
            Path(lock).write_bytes(self.content)
            yield


@pytest.mark.parametrize("content", [b"", elsewhere(leaseMs=1000)])
def test_a_stale_lock_that_another_took_meanwhile_stays_its(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(elsewhere(leaseMs=1000))
    make_older(path, 10)
    with pytest.raises(LockNotAcquiredError):
        lock_at(path, storage=Raced(content)).acquire()
    assert path.read_bytes() == content


def test_a_lock_of_another_host_is_not_proved_dead(tmp_path: Path) -> None:
    me = this_process()
    assert not me.is_dead()
    assert not Owner(host="elsewhere/1/2", pid=me.pid, started=0).is_dead()
    assert Owner(host=me.host, pid=me.pid, started=me.started + 1).is_dead()  # its number went to another process
    assert not Owner(host="", pid=1, started=0).is_dead()


def test_who_lost_the_lock_knows_and_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = lock_at(path), lock_at(path)
    first.acquire()
    make_older(path, 121)
    second.acquire()
    assert (first.is_held(), second.is_held()) == (False, True)
    first.release()
    assert second.is_held()
    second.release()
    assert not path.exists()
