"""The table lock of storages that one process alone sees (Hudi: InProcessLockProvider)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError, WriteConflictError
from spark_jobs.core.locks.fenced_storage import FencedStorage
from spark_jobs.core.storage import Storage

_CHANGED = Condition()
_HOLDERS: dict[str, str] = {}
"""Tokens by lock name."""
_CHANGES: dict[str, int] = {}
"""By token, how many threads are in the middle of a change under it."""


@dataclass(frozen=True, slots=True)
class InProcessLease:
    """In another process it holds nothing."""

    name: str
    token: str

    @contextmanager
    def held(self, storage: Storage) -> Iterator[None]:
        with _CHANGED:
            if _HOLDERS.get(self.name) != self.token:
                raise WriteConflictError(
                    f"the lock {self.name} was released, nothing more is changed under it",
                    todo="run it again",
                    path=self.name,
                )
            _CHANGES[self.token] = _CHANGES.get(self.token, 0) + 1
        try:
            yield
        finally:
            with _CHANGED:
                _CHANGES[self.token] -= 1
                if not _CHANGES[self.token]:
                    del _CHANGES[self.token]
                    _CHANGED.notify_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessSettings:
    """``path`` is what is locked, one name for all; ``wait_ms`` until the writer gives up."""

    path: str
    wait_ms: int


class InProcessLock:
    """Excludes the other threads of this process. Nothing expires: a holder dies with all who wait for it."""

    def __init__(self, storage: Storage, settings: InProcessSettings, clock: Clock) -> None:
        self._storage = storage
        self._name = settings.path
        self._wait_ms = settings.wait_ms
        self._clock = clock
        self._token = ""

    @property
    def storage(self) -> FencedStorage:
        return FencedStorage(self._storage, InProcessLease(self._name, self._token))

    def __enter__(self) -> InProcessLock:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def acquire(self) -> None:
        """
        :raises LockNotAcquiredError: another thread held it for the whole wait.
        """
        token = self._clock.new_uuid()
        with _CHANGED:
            if not _CHANGED.wait_for(lambda: self._name not in _HOLDERS, self._wait_ms / 1000):
                raise LockNotAcquiredError(
                    f"{self._name} is held by another thread of this process after a wait of {self._wait_ms} ms",
                    todo="run it again later",
                    path=self._name,
                )
            _HOLDERS[self._name] = self._token = token

    def is_held(self) -> bool:
        return self._token != "" and _HOLDERS.get(self._name) == self._token

    def release(self) -> None:
        """Waits for the changes that are under way."""
        with _CHANGED:
            if self.is_held():
                _CHANGED.wait_for(lambda: self._token not in _CHANGES)
                del _HOLDERS[self._name]
                _CHANGED.notify_all()
        self._token = ""
