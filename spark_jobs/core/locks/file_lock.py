"""The table lock: a file that is created if absent, with an owner who renews it and can be found dead.

Hudi: FileSystemBasedLockProvider, whose file is empty and never renewed.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys.lock import LOCK_EXPIRE
from spark_jobs.core.errors import (
    AlreadyExistsError,
    EtagMismatchError,
    LockNotAcquiredError,
    StorageError,
)
from spark_jobs.core.locks.fenced_storage import FencedStorage
from spark_jobs.core.locks.owner import parse_owner, this_process
from spark_jobs.core.locks.renewal import Renewal
from spark_jobs.core.locks.waiting import UNKNOWN, wait_for_lock
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.storage.times import age_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLockSettings:
    """``wait_ms`` until the writer gives up; ``expire_ms`` after which a lock that is not renewed is taken over whoever
    holds it, and ``lease_ms`` that this writer's own lasts without a renewal (0: never, of both).
    """

    path: str
    wait_ms: int
    expire_ms: int
    lease_ms: int = 120_000


_RENEWALS = 6
"""In the time that a lock lasts without any: some may fail or come late."""
_TRIES = 3
_HELD: set[str] = set()
"""Tokens of the locks that this process holds or tries to take. A lock file of this process with another token is left
over from a call whose answer was lost, and nobody's."""


@dataclass(frozen=True, slots=True)
class FileLease:
    """Holds while the lock file has its token."""

    path: str
    token: str

    def held(self, storage: Storage) -> AbstractContextManager[None]:
        return storage.only_while(self.path, self.token)


class FileLock:
    """A context manager; not reentrant. Hudi's own writers exclude it and are excluded by it.

    A lock whose owner is a dead process of this machine is taken over at once; one that its owner renews when it missed
    all renewals of its lease; any other only when it is older than ``expire_ms``, by the storage's clock. It is made,
    taken over and removed while nobody makes a change under it; taking over is a conditional replace besides, so that
    of several waiters, Hudi's too, one wins.
    """

    def __init__(self, storage: Storage, settings: FileLockSettings, clock: Clock) -> None:
        self._storage = storage
        self._settings = settings
        self._clock = clock
        self._token = ""
        self._renewal: Renewal | None = None

    @property
    def storage(self) -> FencedStorage:
        """The storage by which the table may be changed while this lock is held."""
        return FencedStorage(self._storage, FileLease(self._settings.path, self._token))

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def acquire(self) -> None:
        """
        :raises LockNotAcquiredError: the lock stayed with another for the whole wait.
        """
        token = self._clock.new_uuid()
        _HELD.add(token)
        try:
            wait_for_lock(self._clock, self._settings.wait_ms, lambda is_last: self._try(token, is_last), self._refusal)
        except BaseException:
            _HELD.discard(token)
            raise
        self._token = token
        if self._settings.lease_ms:
            self._renewal = Renewal(self._clock, self._renew, self._settings.lease_ms / _RENEWALS)
            try:
                self._renewal.start()
            except BaseException:
                self.release()
                raise

    def is_held(self) -> bool:
        """Whether the file on storage is still this lock's."""
        return self._token != "" and self._stored_token() == self._token

    def release(self) -> None:
        """Remove the file if it is still this lock's.

        A storage that fails now does not undo what was done under the lock: after a few tries the file stays, and
        whoever wants the lock next finds that nobody holds it (Hudi only where its lock expires).
        """
        if self._renewal is not None:
            self._renewal.stop()
            self._renewal = None
        for _ in range(_TRIES):
            with suppress(StorageError, LockNotAcquiredError):
                if self._token:
                    self._remove()
                break
        _HELD.discard(self._token)
        self._token = ""

    def _renew(self) -> bool:
        """Write the file again, so that it never looks old: its time is what others judge by."""
        storage, path = self.storage, self._settings.path
        status = storage.stat(path)
        if status is None:
            return False
        # over the version that was looked at: one that somebody took over since stays his. And forced: a lock whose
        # content a loss of power takes away would look like one of Hudi's, which stays
        storage.replace_if(path, self._content(self._token), status.etag)
        return True

    def _refusal(self) -> LockNotAcquiredError:
        return LockNotAcquiredError(
            f"{self._settings.path} is held by {self._holder()} after a wait of {self._settings.wait_ms} ms",
            todo="run it again later; an owner of this release that died gives way by itself, any other "
            f"after the minutes of {LOCK_EXPIRE.name} (0, the default: never); if it is gone for certain, "
            "remove the file",
            path=self._settings.path,
        )

    def _remove(self) -> None:
        with self._storage.while_alone(self._settings.path, str(this_process())):
            status = self._storage.stat(self._settings.path)
            if status is not None and self.is_held():
                self._storage.delete_if(self._settings.path, status.etag)

    def _try(self, token: str, is_last: bool) -> str | None:
        """None where it is this lock's now, else the version of the file that is another's."""
        path, content = self._settings.path, self._content(token)
        status = self._storage.stat(path)
        if status is not None and not self._is_abandoned(status):
            return status.etag
        try:
            with self._storage.while_alone(path, str(this_process()), wait_ms=0):
                if status is None:
                    self._storage.create(path, content)
                else:
                    self._storage.replace_if(path, content, status.etag)
            return None
        except (AlreadyExistsError, EtagMismatchError):
            return UNKNOWN  # another was faster
        except LockNotAcquiredError:
            if is_last:
                raise  # it says who is in the middle of a change
            return UNKNOWN if status is None else status.etag

    def _content(self, token: str) -> bytes:
        now = self._clock.now().astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        value: dict[str, Any] = {"lockCreateTime": now, "lockThreadName": "main", "token": token}
        return json.dumps({**value, "owner": this_process().to_json(), "leaseMs": self._settings.lease_ms}).encode()

    def _is_abandoned(self, status: FileStatus) -> bool:
        found = parse_owner(self._read())
        if found is not None:
            owner, raw = found
            if owner.is_dead() or (owner.is_this_process() and str(raw.get("token")) not in _HELD):
                return True
        lasts_ms = self._settings.expire_ms if found is None else _lease_of(found[1], self._settings.expire_ms)
        return bool(lasts_ms) and age_ms(self._storage, status, self._clock) > lasts_ms

    def _holder(self) -> str:
        found = parse_owner(self._read())
        if found is None:
            return "another writer"
        renews = "leaseMs" in found[1]
        return str(found[0]) + ("" if renews else " (an earlier release, which does not renew its lock)")

    def _stored_token(self) -> str:
        found = parse_owner(self._read())
        return str(found[1].get("token", "")) if found else ""

    def _read(self) -> bytes:
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._storage.read(self._settings.path)
            except StorageError:
                if self._storage.stat(self._settings.path) is None:
                    return b""  # released in between
                if not tries_left:
                    raise  # else it may be another's by now, who took it in between
        raise AssertionError("unreachable")


def _lease_of(raw: dict[str, Any], otherwise: int) -> int:
    """Milliseconds that a lock lasts without a renewal, by its own word; a release before this one gave none."""
    lease = raw.get("leaseMs")
    return lease if type(lease) is int and lease >= 0 else otherwise
