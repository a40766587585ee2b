"""The table lock that a server beside the storage keeps: taking it, looking at it before changes, giving it back.

The servers are in modules of their own (``zookeeper.py``, ``hive_metastore.py``, ``dynamodb.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple, Protocol

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import ConfigError, LockNotAcquiredError, WriteConflictError
from spark_jobs.core.locks.conditions import refuse_careless
from spark_jobs.core.locks.fenced_storage import FencedStorage
from spark_jobs.core.locks.renewal import Renewal
from spark_jobs.core.locks.waiting import UNKNOWN, wait_for_lock
from spark_jobs.core.storage import Storage

_LOOK_MS = 1000
"""For so long a look at the server is good in the process that holds the lock."""


class Connection(Protocol):
    """To the server of a lock, for one acquisition. Several threads use it at a time.

    A *handle* names what the server keeps of one acquisition, to whoever else connects to it.
    """

    def attempt(self, token: str) -> str:
        """Try to take the lock: its handle, or nothing while another holds it. What waits in a queue of the server
        stays there until the next attempt, or :meth:`close`.

        :raises LockNotAcquiredError: the server does not answer.
        """
        ...

    def lasts_ms(self, handle: str) -> float:
        """For how long from now, if its owner is silent, the lock is still held; 0 where it is not held any more.

        :raises LockNotAcquiredError: the server does not answer.
        """
        ...

    @property
    def renewal_ms(self) -> float:
        """How often :meth:`lasts_ms` has to be asked so that the lock stays; 0 where the connection sees to it."""
        ...

    def give_back(self, handle: str) -> None:
        """
        :raises LockNotAcquiredError: the server does not answer: the lock ends by itself.
        """
        ...

    def holder(self) -> str:
        """Who holds the lock, for people."""
        ...

    def close(self) -> None:
        """End the connection and leave nothing in a queue of the server; raises nothing."""
        ...


class ServerSettings(Protocol):
    """The lock of one table, as a value that pickles. ``path`` names it to people, ``gives_way`` says when the lock of
    a writer that died does; ``wait_ms`` until the writer gives up.
    """

    @property
    def path(self) -> str: ...

    @property
    def wait_ms(self) -> int: ...

    @property
    def gives_way(self) -> str: ...

    def connect(self, clock: Clock) -> Connection:
        """
        :raises LockNotAcquiredError: no server answers.
        """
        ...


def connect_by(module: str, settings: ServerSettings, clock: Clock) -> Connection:
    """What ``connect`` of a module beside this one gives, which needs a package that not everybody has: it is imported
    now, by its name.

    :raises LockNotAcquiredError: no server answers.
    """
    connection: Connection = import_module(f"spark_jobs.core.locks.{module}").connect(settings, clock)
    return connection


def refuse_missing(values: Mapping[str, str], lock: str) -> None:
    """
    :param values: by the names of keys that a lock needs.
    :param lock: what it is called.
    :raises ConfigError: one is empty.
    """
    for name, value in values.items():
        if not value:
            raise ConfigError(
                f"{name} is missing, which {lock} needs", todo="give what the other writers of the table have", key=name
            )


class _Look(NamedTuple):
    """When this process asked the server about its lock, by its two clocks in milliseconds, and how long it lasts."""

    at_ms: float
    monotonic_ms: float
    lasts_ms: float


@dataclass(slots=True)
class _Held:
    """What the process that holds a lock has of it."""

    connection: Connection
    look: _Look | None = None


HELD: dict[str, _Held] = {}
"""By token: the locks of this process."""
os.register_at_fork(after_in_child=HELD.clear)  # a child does not hold what its parent holds


@dataclass(frozen=True, slots=True)
class ServerLease:
    """A change is begun after the server said that the lock is held. The process that holds it makes the changes of a
    second after one look, if half of what the lock lasts is left then; its workers look before each, by connections of
    their own.
    """

    settings: ServerSettings
    token: str
    handle: str
    clock: Clock

    @contextmanager
    def held(self, storage: Storage) -> Iterator[None]:
        why = "" if self._was_held_just_now() else self._why_not()
        if why:
            path = self.settings.path
            raise WriteConflictError(f"the table lock {path} was lost: {why}", todo="run it again", path=path)
        yield

    def _was_held_just_now(self) -> bool:
        own = HELD.get(self.token)
        if own is None or own.look is None:
            return False
        at_ms, monotonic_ms = _now_ms(self.clock)
        good_ms = min(_LOOK_MS, own.look.lasts_ms / 2)
        return 0 <= at_ms - own.look.at_ms <= good_ms and monotonic_ms - own.look.monotonic_ms <= good_ms

    def _why_not(self) -> str:
        if not self.handle:
            return "it is not held"
        own = HELD.get(self.token)
        try:
            if own is None:
                connection = self.settings.connect(self.clock)
                try:
                    return "" if connection.lasts_ms(self.handle) else "it was released, or another process has it"
                finally:
                    connection.close()
            at_ms, monotonic_ms = _now_ms(self.clock)
            lasts_ms = own.connection.lasts_ms(self.handle)
        except LockNotAcquiredError as error:
            return error.what
        if not lasts_ms:
            return "its owner was silent for too long"
        own.look = _Look(at_ms, monotonic_ms, lasts_ms)
        return "" if self._was_held_just_now() else "its server answered too late"


class ServerLock:
    """A context manager; not reentrant. Hudi's writers with the same provider exclude it and are excluded by it."""

    def __init__(self, storage: Storage, settings: ServerSettings, clock: Clock, conditions_at: str = "") -> None:
        """
        :param conditions_at: a file at which the conditions of puts are tried, for a storage that publishes by them.
        """
        self._conditions_at = conditions_at
        self._storage = storage
        self._settings = settings
        self._clock = clock
        self._token = ""
        self._handle = ""
        self._renewal: Renewal | None = None

    @property
    def storage(self) -> FencedStorage:
        """The storage by which the table may be changed while this lock is held."""
        return FencedStorage(self._storage, ServerLease(self._settings, self._token, self._handle, self._clock))

    def __enter__(self) -> ServerLock:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def acquire(self) -> None:
        """
        :raises LockNotAcquiredError: no server answers, or the lock stayed with another for the whole wait.
        :raises UnsupportedTableError: the storage takes no notice of the conditions of a put.
        """
        token = self._clock.new_uuid()
        connection = self._settings.connect(self._clock)
        handle = ""

        def tried(is_last: bool) -> str | None:
            nonlocal handle
            handle = connection.attempt(token)
            return None if handle else UNKNOWN

        try:
            wait_for_lock(self._clock, self._settings.wait_ms, tried, lambda: self._refusal(connection))
            HELD[token] = _Held(connection)
            self._token, self._handle = token, handle
            if connection.renewal_ms:
                self._renewal = Renewal(self._clock, lambda: connection.lasts_ms(handle) > 0, connection.renewal_ms)
                self._renewal.start()
            if self._conditions_at:
                refuse_careless(self._storage, self._conditions_at)
        except BaseException:
            HELD.setdefault(token, _Held(connection))
            self._token, self._handle = token, handle
            self.release()
            raise

    def is_held(self) -> bool:
        """Whether the server says so now; False where it does not answer."""
        own = HELD.get(self._token)
        if own is None:
            return False
        try:
            return own.connection.lasts_ms(self._handle) > 0
        except LockNotAcquiredError:
            return False

    def release(self) -> None:
        """Give it back if it is still this lock's. A server that fails now leaves it until it gives way by itself."""
        if self._renewal is not None:
            self._renewal.stop()
            self._renewal = None
        handle, self._handle = self._handle, ""
        own = HELD.pop(self._token, None)
        self._token = ""
        if own is None:  # never acquired, or a forked child of who acquired it
            return
        with suppress(LockNotAcquiredError):
            if handle:
                own.connection.give_back(handle)
        own.connection.close()

    def _refusal(self, connection: Connection) -> LockNotAcquiredError:
        path = self._settings.path
        return LockNotAcquiredError(
            f"{path} is held by {connection.holder()} after a wait of {self._settings.wait_ms} ms",
            todo=f"run it again later; a writer that died gives way {self._settings.gives_way}",
            path=path,
        )


def _now_ms(clock: Clock) -> tuple[float, float]:
    return clock.now().timestamp() * 1000, clock.monotonic() * 1000
