"""The table lock: a file that is created if absent, with an owner who can be found dead.

Hudi: FileSystemBasedLockProvider.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.write_keys import LOCK_EXPIRE
from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, LockNotAcquiredError, StorageError
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.transaction.owner import parse_owner, this_process


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSettings:
    """``wait_ms`` until the writer gives up; ``expire_ms`` after which a lock is taken over whoever holds it (0:
    never).
    """

    path: str
    wait_ms: int
    expire_ms: int


_TRIES = 3
_HELD: set[str] = set()
"""Tokens of the locks that this process holds or tries to take. A lock file of this process with another token is left
over from a call whose answer was lost, and nobody's."""


class TableLock:
    """A context manager; not reentrant. Hudi's own writers exclude it and are excluded by it.

    A lock whose owner is a dead process of this machine is taken over at once; any other only when it is older than
    ``expire_ms``. Taking over is a conditional replace, so of several waiters one wins.
    """

    def __init__(self, storage: Storage, settings: LockSettings, clock: Clock) -> None:
        self._storage = storage
        self._settings = settings
        self._clock = clock
        self._token = ""

    def __enter__(self) -> TableLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self) -> None:
        """
        :raises LockNotAcquiredError: the lock stayed with another for the whole wait.
        """
        deadline = self._clock.monotonic() + self._settings.wait_ms / 1000
        token, pause = self._clock.new_uuid(), 0.02
        _HELD.add(token)
        try:
            while not self._try(token):
                if self._clock.monotonic() >= deadline:
                    raise LockNotAcquiredError(
                        f"{self._settings.path} is held by {self._holder()}"
                        f" after a wait of {self._settings.wait_ms} ms",
                        todo="run it again later; an owner that may be dead on another machine gives way after the "
                        f"minutes of {LOCK_EXPIRE.name} (0, the default: never), or remove the file if it is gone for "
                        "certain",
                        path=self._settings.path,
                    )
                self._clock.sleep(pause)
                pause = min(pause * 1.6, 1.0)
        except BaseException:
            _HELD.discard(token)
            raise
        self._token = token

    def is_held(self) -> bool:
        """Whether the file on storage is still this lock's."""
        return self._token != "" and self._stored_token() == self._token

    def release(self) -> None:
        """Remove the file if it is still this lock's.

        A storage that fails now does not undo what was done under the lock: after a few tries the file stays, and
        whoever wants the lock next finds that nobody holds it (Hudi only where its lock expires).
        """
        for _ in range(_TRIES):
            with suppress(StorageError):
                status = self._storage.stat(self._settings.path)
                if status is not None and self.is_held():
                    self._storage.delete_if(self._settings.path, status.etag)
                break
        _HELD.discard(self._token)
        self._token = ""

    def _try(self, token: str) -> bool:
        content = self._content(token)
        try:
            self._storage.create(self._settings.path, content)
            return True
        except AlreadyExistsError:
            status = self._storage.stat(self._settings.path)
        if status is None or not self._is_abandoned(status):
            return False
        try:
            self._storage.replace_if(self._settings.path, content, status.etag)
            return True
        except EtagMismatchError:
            return False

    def _content(self, token: str) -> bytes:
        now = self._clock.now().astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        value = {"lockCreateTime": now, "lockThreadName": "main", "token": token, "owner": this_process().to_json()}
        return json.dumps(value).encode()

    def _is_abandoned(self, status: FileStatus) -> bool:
        age_ms = self._clock.now().timestamp() * 1000 - status.modified_ms
        if self._settings.expire_ms and age_ms > self._settings.expire_ms:
            return True
        found = parse_owner(self._read())
        if found is None:
            return False
        owner, raw = found
        return owner.is_dead() or (owner.is_this_process() and str(raw.get("token")) not in _HELD)

    def _holder(self) -> str:
        found = parse_owner(self._read())
        return str(found[0]) if found else "another writer"

    def _stored_token(self) -> str:
        found = parse_owner(self._read())
        return str(found[1].get("token", "")) if found else ""

    def _read(self) -> bytes:
        try:
            return self._storage.read(self._settings.path)
        except StorageError:
            if self._storage.stat(self._settings.path) is None:
                return b""  # released in between
            raise
