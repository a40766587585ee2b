"""The table lock of stores of objects: a file that says who holds the table and until when, changed by conditional puts
alone.

Hudi 1.0.2 and later: StorageBasedLockProvider, StorageLockData. Its clients for S3 and GCS exclude this lock, and are
excluded by it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import (
    AlreadyExistsError,
    CorruptTableError,
    EtagMismatchError,
    LockNotAcquiredError,
    StorageError,
    WriteConflictError,
)
from spark_jobs.core.locks.conditions import refuse_careless
from spark_jobs.core.locks.fenced_storage import FencedStorage
from spark_jobs.core.locks.owner import parse_owner, this_process
from spark_jobs.core.locks.renewal import Renewal
from spark_jobs.core.locks.waiting import UNKNOWN, wait_for_lock
from spark_jobs.core.storage import Storage

T = TypeVar("T")
TABLE_LOCK = ".locks/table_lock.json"
"""In the folder ``.hoodie`` (Hudi: StorageLockClient.getLockFolderPath, DEFAULT_TABLE_LOCK_FILE_NAME)."""
DRIFT_MS = 500
"""By which the clocks of two hosts may differ (Hudi: CLOCK_DRIFT_BUFFER_MS)."""
LONGEST_CHANGE_MS = 120_000
"""In which a change that was begun has taken effect, or never will (``objects/stores.py``)."""
_TRIES = 3
_HELD: set[str] = set()
"""Tokens of the locks that this process holds or tries to take. A file of this process with another token is left over
from a call that was broken off, or whose answer was lost, and nobody's."""
_LOOK_MS = 1000
"""For so long a look at the file is good in the process that holds the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLockSettings:
    """``wait_ms`` until the writer gives up; the lock is good for ``valid_ms`` and renewed every ``renew_ms``."""

    path: str
    wait_ms: int
    valid_ms: int
    renew_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLock:
    """What the file says; ``owner`` is any text, ``valid_until_ms`` since the epoch."""

    expired: bool
    valid_until_ms: int
    owner: str

    @staticmethod
    def parse(data: bytes, path: str) -> StoredLock:
        """
        :raises CorruptTableError: it is no such file.
        """
        try:
            raw = json.loads(data)
            return StoredLock(
                expired=_of(bool, raw["expired"]),
                valid_until_ms=_of(int, raw["validUntil"]),
                owner=_of(str, raw["owner"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptTableError(
                f"{path} is no lock of Hudi's StorageBasedLockProvider", todo="remove it if no writer is at work"
            ) from error

    def encode(self) -> bytes:
        return json.dumps({"expired": self.expired, "validUntil": self.valid_until_ms, "owner": self.owner}).encode()

    def holds(self, now_ms: int) -> bool:
        """Whether others have to wait, as far as clocks may differ and as far as its owner may be alive."""
        if self.expired or now_ms > self.valid_until_ms + DRIFT_MS:
            return False
        found = parse_owner(self.owner.encode())
        if found is None:
            return True
        owner, raw = found
        if owner.is_this_process():
            return str(raw.get("token")) in _HELD
        # what workers of a dead process had begun is over then
        renewed_ms = self.valid_until_ms - _number(raw.get("validMs"))
        return not owner.is_dead() or now_ms < renewed_ms + LONGEST_CHANGE_MS + DRIFT_MS


class _Look(NamedTuple):
    """When this process saw that a lock is its own, by its two clocks in milliseconds, and until when it is good."""

    at_ms: int
    monotonic_ms: float
    valid_until_ms: int


LOOKS: dict[str, _Look] = {}
"""By token."""


@dataclass(frozen=True, slots=True)
class StorageLease:
    """A change is begun after a look at the file, and while half of the lease is left: no call of a storage lasts as
    long as that. The process that holds the lock makes the changes of a second after one look; its workers look before
    each.
    """

    path: str
    token: str
    valid_ms: int
    clock: Clock

    @contextmanager
    def held(self, storage: Storage) -> Iterator[None]:
        why = "" if self._was_held_just_now() else self._why_not(storage)
        if why:
            raise WriteConflictError(f"the table lock {self.path} was lost: {why}", todo="run it again", path=self.path)
        yield

    def _was_held_just_now(self) -> bool:
        look = LOOKS.get(self.token) if self.token in _HELD else None
        if look is None:
            return False
        now_ms, passed_ms = _now_ms(self.clock), self.clock.monotonic() * 1000 - look.monotonic_ms
        if not (0 <= now_ms - look.at_ms <= _LOOK_MS and passed_ms <= _LOOK_MS):
            return False
        return self._lasts(look.valid_until_ms, now_ms)

    def _lasts(self, valid_until_ms: int, now_ms: int) -> bool:
        return valid_until_ms - now_ms >= self.valid_ms / 2

    def _why_not(self, storage: Storage) -> str:
        at_ms, monotonic_ms = _now_ms(self.clock), self.clock.monotonic() * 1000
        try:
            found = _read(storage, self.path)
        except CorruptTableError:
            return "another process took it over"
        if found is None:
            return "its file was removed"
        stored = found[0]
        if not self.token or _token_of(stored) != self.token:
            return "another process took it over" if self.token else "it is not held"
        if stored.expired:
            return "it was released"
        if not self._lasts(stored.valid_until_ms, _now_ms(self.clock)):
            return "it could not be renewed in time"
        if self.token in _HELD:
            LOOKS[self.token] = _Look(at_ms, monotonic_ms, stored.valid_until_ms)
        return ""


class StorageLock:
    """A context manager; not reentrant. A lock is taken over when its time is over, or its owner was a process of this
    machine that is dead.
    """

    def __init__(self, storage: Storage, settings: StorageLockSettings, clock: Clock) -> None:
        self._storage = storage
        self._settings = settings
        self._clock = clock
        self._token = ""
        self._process = 0
        self._renewal: Renewal | None = None

    @property
    def storage(self) -> FencedStorage:
        """The storage by which the table may be changed while this lock is held."""
        lease = StorageLease(self._settings.path, self._token, self._settings.valid_ms, self._clock)
        return FencedStorage(self._storage, lease)

    def __enter__(self) -> StorageLock:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def acquire(self) -> None:
        """
        :raises LockNotAcquiredError: the lock stayed with another for the whole wait.
        :raises CorruptTableError: its file is none that Hudi writes.
        :raises UnsupportedTableError: the storage takes no notice of the conditions of a put, as some do that speak S3.
        """
        token = self._clock.new_uuid()
        _HELD.add(token)
        try:
            wait_for_lock(self._clock, self._settings.wait_ms, lambda is_last: self._try(token), self._refusal)
        except BaseException:
            _HELD.discard(token)
            raise
        self._token, self._process = token, os.getpid()
        self._renewal = Renewal(self._clock, self._renew, self._settings.renew_ms)
        try:
            refuse_careless(self._storage, self._settings.path)
            self._renewal.start()
        except BaseException:
            self.release()
            raise

    def is_held(self) -> bool:
        """Whether the file on storage is still this lock's, and its time is not over."""
        found = _read(self._storage, self._settings.path) if self._token else None
        if found is None or found[0].expired or _token_of(found[0]) != self._token:
            return False
        return _now_ms(self._clock) < found[0].valid_until_ms

    def release(self) -> None:
        """Say in the file that it is over, if it is still this lock's. A storage that fails now leaves it until its
        time is over.
        """
        if self._renewal is not None:
            self._renewal.stop()
            self._renewal = None
        token, self._token = self._token, ""
        if self._process != os.getpid():  # a forked child does not hold what its parent holds
            return
        for _ in range(_TRIES if token else 0):
            with suppress(StorageError):
                with suppress(EtagMismatchError, AlreadyExistsError):
                    self._put(token, expired=True)
                break
        _HELD.discard(token)
        LOOKS.pop(token, None)

    def _renew(self) -> bool:
        return self._put(self._token, expired=False)

    def _put(self, token: str, *, expired: bool) -> bool:
        """Over the version that was looked at; False where it is another's."""
        found = _read(self._storage, self._settings.path)
        if found is None or found[0].expired or _token_of(found[0]) != token:
            return False
        self._write(token, found[1], expired=expired)
        return True

    def _try(self, token: str) -> str | None:
        """None where it is this lock's now, else its owner, as far as that is known."""
        found = _read(self._storage, self._settings.path)
        if found is not None and found[0].holds(_now_ms(self._clock)):
            return found[0].owner
        try:
            self._write(token, None if found is None else found[1], expired=False)
        except (AlreadyExistsError, EtagMismatchError):
            return UNKNOWN  # another was faster
        return None

    def _write(self, token: str, etag: str | None, *, expired: bool) -> None:
        valid_ms = self._settings.valid_ms
        owner = json.dumps({"token": token, "owner": this_process().to_json(), "validMs": valid_ms})
        until_ms = _now_ms(self._clock) + valid_ms
        content = StoredLock(expired=expired, valid_until_ms=until_ms, owner=owner).encode()
        if etag is None:
            self._storage.create(self._settings.path, content)
        else:
            self._storage.replace_if(self._settings.path, content, etag)

    def _refusal(self) -> LockNotAcquiredError:
        path = self._settings.path
        found = _read(self._storage, path)
        parsed = None if found is None else parse_owner(found[0].owner.encode())
        holder = str(parsed[0]) if parsed else "another writer" if found is None else f"the writer {found[0].owner}"
        return LockNotAcquiredError(
            f"{path} is held by {holder} after a wait of {self._settings.wait_ms} ms",
            todo="run it again later; a writer that died gives way when its lock's time is over (validUntil)",
            path=path,
        )


def _read(storage: Storage, path: str) -> tuple[StoredLock, str] | None:
    """What the file says, and the version that says it."""
    content = storage.load(path)
    return None if content is None else (StoredLock.parse(content.data, path), content.status.etag)


def _token_of(stored: StoredLock) -> str | None:
    """None for the owner of a lock of Hudi's."""
    found = parse_owner(stored.owner.encode())
    return None if found is None else str(found[1].get("token", ""))


def _number(value: object) -> int:
    return value if type(value) is int else 0


def _now_ms(clock: Clock) -> int:
    return int(clock.now().timestamp() * 1000)


def _of(kind: type[T], value: object) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
