"""Locks that servers keep, between real processes and on real servers: exclusion, waiting, loss of a holder that was
killed or suspended, and that whoever lost a lock changes nothing more.
"""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError, WriteConflictError
from tests.java import needs_java
from tests.support.server_locks import SERVERS, lock_of

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]
COUNT = """
import json, sys
from pathlib import Path
from spark_jobs.core.clock import SYSTEM_CLOCK
from tests.support.server_locks import lock_of
counter = Path(sys.argv[2])
for _ in range(8):
    with lock_of(json.loads(sys.argv[1]), 60_000):
        value = int(counter.read_text())
        SYSTEM_CLOCK.sleep(0.005)
        counter.write_text(str(value + 1))
"""
HOLD = """
import json, sys
from spark_jobs.core.errors import WriteConflictError
from tests.support.server_locks import lock_of
lock = lock_of(json.loads(sys.argv[1]), 5000)
lock.acquire()
print("held", flush=True)
for line in sys.stdin:
    try:
        lock.storage.create(line.strip(), b"1")
        print("done", flush=True)
    except WriteConflictError as error:
        print(error, flush=True)
"""
CHANGE = """
import pickle, sys
from spark_jobs.core.errors import WriteConflictError
storage = pickle.loads(bytes.fromhex(sys.argv[1]))
try:
    storage.create(sys.argv[2], b"1")
    print("done")
except WriteConflictError as error:
    print(error)
"""


@pytest.fixture(params=SERVERS)
def properties(request: pytest.FixtureRequest) -> dict[str, str]:
    needs_java()
    return SERVERS[request.param]()


@contextmanager
def holder(properties: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], Callable[[Path], str]]]:
    """Another process that holds the lock, and what it answers when it is asked to create a file under it."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, json.dumps(dict(properties))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    told, said = child.stdin, child.stdout

    def create(path: Path) -> str:
        told.write(f"{path}\n")
        told.flush()
        return said.readline()

    try:
        assert said.readline() == "held\n"
        yield child, create
    finally:
        child.kill()
        child.communicate()


def test_one_at_a_time(properties: dict[str, str], tmp_path: Path) -> None:
    first, second = lock_of(properties, 0), lock_of(properties, 0)
    assert not first.is_held()
    with first:
        assert first.is_held()
        first.storage.create(str(tmp_path / "file"), b"1")
        with pytest.raises(LockNotAcquiredError, match=r" is held by .* after a wait of 0 ms: .* gives way ") as caught:
            second.acquire()
        assert caught.value.exit_code == 4
        second.release()
        assert first.is_held()
    assert not first.is_held()
    with second:
        assert second.is_held()
    with pytest.raises(WriteConflictError, match="was lost"):
        first.storage.create(str(tmp_path / "other"), b"1")


def test_several_processes_exclude_each_other(properties: dict[str, str], tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    given = [sys.executable, "-c", COUNT, json.dumps(properties), str(counter)]
    children = [subprocess.Popen(given) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert counter.read_text() == "24"


def test_threads_of_one_process_exclude_each_other(properties: dict[str, str]) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(3):
            with lock_of(properties, 60_000):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                SYSTEM_CLOCK.sleep(0.005)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, most) == ([0], [1])


def test_who_was_killed_gives_way_when_its_time_is_over(properties: dict[str, str]) -> None:
    with holder(properties) as (child, _):
        with pytest.raises(LockNotAcquiredError):
            lock_of(properties, 0).acquire()
        child.kill()
        child.wait()
        with lock_of(properties, 30_000) as lock:
            assert lock.is_held()


def test_a_lock_is_kept_while_its_holder_works(properties: dict[str, str], tmp_path: Path) -> None:
    with holder(properties) as (_, create):
        with pytest.raises(LockNotAcquiredError):
            lock_of(properties, 6_000).acquire()
        assert create(tmp_path / "file") == "done\n"


def test_who_was_suspended_until_another_took_the_lock_changes_nothing_more(
    properties: dict[str, str], tmp_path: Path
) -> None:
    with holder(properties) as (child, create):
        assert create(tmp_path / "before") == "done\n"
        child.send_signal(signal.SIGSTOP)
        with lock_of(properties, 30_000) as lock:
            child.send_signal(signal.SIGCONT)
            assert "was lost" in create(tmp_path / "after")
            assert lock.is_held()
            lock.storage.create(str(tmp_path / "mine"), b"1")
        assert "was lost" in create(tmp_path / "after")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["before", "mine"]


def test_workers_of_a_holder_change_the_table_while_it_holds_the_lock(
    properties: dict[str, str], tmp_path: Path
) -> None:
    with lock_of(properties, 0) as lock:
        given = pickle.dumps(lock.storage).hex()
        assert _changed(given, tmp_path / "file") == "done\n"
        assert lock.is_held()
    for held_by_another in (False, True):
        another = lock_of(properties, 0)
        if held_by_another:
            another.acquire()
        assert "was lost" in _changed(given, tmp_path / "late")
        another.release()
    assert not (tmp_path / "late").exists()


def _changed(given: str, path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", CHANGE, given, str(path)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
