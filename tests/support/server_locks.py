"""The locks that servers keep, each on a real server that the tests start: what a writer is given for one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.locks.choose import choose_lock
from spark_jobs.core.locks.server_lock import ServerLock
from spark_jobs.core.storage import LocalStorage, Storage
from tests.support import zookeeper

ONCE = {"hoodie.write.lock.client.num_retries": "0"}
"""The wait for a lock is not begun again."""
SERVERS: Mapping[str, Callable[[], dict[str, str]]] = {
    "zookeeper": lambda: zookeeper.keys(f"/tests/{SYSTEM_CLOCK.new_uuid()}", session_timeout_ms="2000"),
}
"""Properties of a lock that nobody else takes. One whose owner is silent gives way after a few seconds."""


def lock_of(properties: Mapping[str, str], wait_ms: int, storage: Storage = LocalStorage()) -> ServerLock:  # noqa: B008
    asked = {**ONCE, **properties, "hoodie.write.lock.wait_time_ms": str(wait_ms)}
    lock = choose_lock(asked, storage, "/t/.hoodie").new(storage, SYSTEM_CLOCK)
    assert isinstance(lock, ServerLock)
    return lock
