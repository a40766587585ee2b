"""Heartbeats: alive, silent, of a dead process, and a beat that fails."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import StorageError
from spark_jobs.core.locks.owner import Owner, this_process
from spark_jobs.core.storage import Storage
from spark_jobs.core.transaction.heartbeat import Heartbeat, HeartbeatSettings, heartbeat_path, read_pulse
from tests.support.folder import Folder, file_at
from tests.support.through import Through
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

SLOW = HeartbeatSettings(interval_ms=60_000, misses=2)
FAST = HeartbeatSettings(interval_ms=40, misses=100)


def beat_file(base: Folder) -> Folder:
    return file_at(base.storage, heartbeat_path(str(base), "1"))


def write(base: Folder, owner: Owner | None, key: str | None = None) -> None:
    content = b"" if owner is None else json.dumps({"owner": owner.to_json(), "idempotencyKey": key}).encode()
    beat_file(base).write_bytes(content)


def silent_for(base: Folder, seconds: int) -> None:
    """As if the last beat was so long ago, by the clock of the storage."""
    beat_file(base).date(now_ms() - seconds * 1000)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_no_file_no_life(root: Folder) -> None:
    pulse = read_pulse(root.storage, str(root), "1", SLOW, HandClock())
    assert (pulse.alive, pulse.owner, pulse.idempotency_key) == (False, None, None)


def test_it_lives_while_its_file_is_young(root: Folder) -> None:
    write(root, this_process(), "key")
    for seconds, alive in ((0, True), (100, True), (121, False)):
        silent_for(root, seconds)
        pulse = read_pulse(root.storage, str(root), "1", SLOW, HandClock())
        assert (pulse.alive, pulse.idempotency_key, pulse.owner) == (alive, "key", this_process())


def test_the_empty_file_of_hudi_counts_by_its_age(root: Folder) -> None:
    write(root, None)
    silent_for(root, 100)
    assert read_pulse(root.storage, str(root), "1", SLOW, HandClock()).alive
    silent_for(root, 121)
    assert not read_pulse(root.storage, str(root), "1", SLOW, HandClock()).alive


@pytest.mark.parametrize("seconds", [-86400 * 400, -125, 125, 86400 * 400])
def test_a_clock_that_is_off_takes_nobody_for_dead(root: Folder, seconds: float) -> None:
    off = HandClock(moment=datetime.now(UTC) + timedelta(seconds=seconds))
    beat = Heartbeat(root.storage, str(root), "1", SLOW, off)
    beat.start()
    assert not beat.lapsed()
    assert read_pulse(root.storage, str(root), "1", SLOW, SYSTEM_CLOCK).alive
    assert read_pulse(root.storage, str(root), "1", SLOW, off).alive
    beat.stop()


def test_a_dead_process_has_no_pulse_however_young_its_file_is(root: Folder) -> None:
    code = "from spark_jobs.core.locks.owner import this_process; print(*this_process().to_json().values())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    host, pid, started = printed.rsplit(maxsplit=2)
    write(root, Owner(host=host, pid=int(pid), started=int(started)))
    assert not read_pulse(root.storage, str(root), "1", SLOW, HandClock()).alive


def wait_until(condition: object, seconds: float = 5) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def test_it_beats_until_it_is_stopped(root: Folder) -> None:
    beat = Heartbeat(root.storage, str(root), "1", FAST, SYSTEM_CLOCK, "key")
    beat.start()
    first = beat_file(root).modified_ms
    wait_until(lambda: beat_file(root).modified_ms > first)
    assert read_pulse(root.storage, str(root), "1", SLOW, SYSTEM_CLOCK).alive
    beat.stop()
    assert not beat_file(root).exists()
    assert beat.lapsed()


def test_a_writer_doubts_itself_when_its_file_is_old_or_gone(root: Folder) -> None:
    clock = HandClock(moment=datetime.now(UTC))
    beat = Heartbeat(root.storage, str(root), "1", SLOW, clock)
    beat.start()
    assert not beat.lapsed()
    clock.passed = 125
    assert beat.lapsed()
    clock.passed = 0
    beat_file(root).unlink()
    assert beat.lapsed()
    beat.stop()


def test_who_was_taken_for_gone_does_not_come_back(root: Folder) -> None:
    beat = Heartbeat(root.storage, str(root), "1", FAST, SYSTEM_CLOCK)
    beat.start()
    beat_file(root).unlink(missing_ok=True)
    time.sleep(0.1)
    beat_file(root).unlink(missing_ok=True)  # one beat may have been on its way
    time.sleep(0.1)
    assert not beat_file(root).exists()
    beat.stop()


def test_a_writer_that_was_silent_for_too_long_does_not_beat_again(root: Folder) -> None:
    """Its machine slept: neither a young file nor another beat makes it forget."""
    beat = Heartbeat(root.storage, str(root), "1", FAST, SYSTEM_CLOCK)
    beat.start()
    while not beat.lapsed():  # a beat may be on its way
        beat_file(root).date(1000)
        time.sleep(0.05)
    beat_file(root).date(now_ms())
    first = beat_file(root).modified_ms
    assert beat.lapsed()
    time.sleep(0.1)
    assert beat_file(root).modified_ms == first
    beat.stop()


class Hanging(Through):
    """A storage that hangs in one write for longer than a writer may be silent, by the clock of the test."""

    def __init__(self, inner: Storage, clock: HandClock) -> None:
        super().__init__(inner)
        self.clock = clock
        self.hangs = 0

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.replace(path, data, durable=durable)
        self.clock.passed += 300 * self.hangs


def test_a_beat_that_took_too_long_counts_as_silence(root: Folder) -> None:
    clock = HandClock(moment=datetime.now(UTC))
    settings = HeartbeatSettings(interval_ms=40, misses=5000)
    storage = Hanging(root.storage, clock)
    beat = Heartbeat(storage, str(root), "hung", settings, clock)
    beat.start()
    storage.hangs = 1
    wait_until(lambda: not any(thread.name == "heartbeat-hung" for thread in threading.enumerate()))
    clock.passed = 0.0  # the file is young again, by both clocks
    assert beat.lapsed()
    beat.stop()


class Flaky(Through):
    """A storage that fails some writes, as a network file system does."""

    failures = 0

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise StorageError(f"{path} can't be written (a fault of this test)")
        self.inner.replace(path, data, durable=durable)


def test_a_beat_that_fails_is_followed_by_the_next(root: Folder) -> None:
    storage = Flaky(root.storage)
    beat = Heartbeat(storage, str(root), "1", FAST, SYSTEM_CLOCK)
    beat.start()
    first = beat_file(root).modified_ms
    storage.failures = 2
    wait_until(lambda: beat_file(root).modified_ms > first)
    assert storage.failures == 0
    beat.stop()


def test_a_worker_that_was_replaced_leaves_the_new_ones_heartbeat_alone(root: Folder) -> None:
    """Two workers of one plan: the first stalled, its plan was rolled back and taken by the second."""
    first = Heartbeat(root.storage, str(root), "1", SLOW, SYSTEM_CLOCK)
    first.start()
    beat_file(root).unlink()
    second = Heartbeat(root.storage, str(root), "1", SLOW, SYSTEM_CLOCK)
    second.start()
    assert first.lapsed()
    assert not second.lapsed()
    first.stop()
    assert beat_file(root).exists()
    second.stop()
    assert not beat_file(root).exists()
