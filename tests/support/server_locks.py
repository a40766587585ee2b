"""The locks that servers keep, each on a real server that the tests start: what a writer is given for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.locks.choose import LockChoice, choose_lock
from spark_jobs.core.locks.server_lock import ServerLock
from spark_jobs.core.storage import LocalStorage, Storage
from tests.support import dynamodb, hive_locks, zookeeper

SERVERS: Mapping[str, Callable[[], dict[str, str]]] = {
    "zookeeper": lambda: zookeeper.keys(f"/tests/{SYSTEM_CLOCK.new_uuid()}", session_timeout_ms="2000"),
    "hive": lambda: hive_locks.keys(f"t_{SYSTEM_CLOCK.new_uuid().replace('-', '')}"),
    "dynamodb": lambda: dynamodb.keys(SYSTEM_CLOCK.new_uuid()),
}
"""Properties of a lock that nobody else takes. One whose owner is silent gives way after a few seconds."""


def lock_of(properties: Mapping[str, str], wait_ms: int, storage: Storage = LocalStorage()) -> ServerLock:  # noqa: B008
    """One that gives up after ``wait_ms``, however long it lasts."""
    asked = {"hoodie.write.lock.wait_time_ms": "3000", **properties}
    settings = replace(choose_lock(asked, storage, "/t/.hoodie").settings, wait_ms=wait_ms)
    lock = LockChoice(settings=settings).new(storage, SYSTEM_CLOCK)
    assert isinstance(lock, ServerLock)
    return lock
