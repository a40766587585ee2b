"""The lock in DynamoDB: an item that conditional writes change, as AWS's lock client has it.

Hudi: DynamoDBBasedLockProvider. AWS: AmazonDynamoDBLockClient of amazon-dynamodb-lock-client.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.dynamodb_settings import DynamoSettings
from spark_jobs.core.locks.owner import this_process

KEY, OWNER, LEASE, VERSION = "key", "ownerName", "leaseDuration", "recordVersionNumber"
"""Attributes of an item, each a text; the lease is in milliseconds."""
RELEASED = "isReleased"
"""Of an item that was given back and not deleted; what its value is does not count. Hudi deletes its items."""


class Items(Protocol):
    """The item of one lock; a call raises LockNotAcquiredError where DynamoDB does not answer, or refuses."""

    def get(self) -> Mapping[str, str] | None: ...

    def put(self, item: Mapping[str, str], version: str | None) -> bool:
        """Where the item that is there has the version; None: where there is no item. False elsewhere."""
        ...

    def renew(self, owner: str, lease_ms: int, version: str) -> bool:
        """Give the item a new version, if it is the owner's."""
        ...

    def delete(self, owner: str) -> bool:
        """If it is the owner's."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A version of another's item, and when this process first saw it, by its own clock that never goes back."""

    version: str
    lease_ms: float
    at_ms: float


class DynamoConnection:
    """The handle is the name of the owner, which no other acquisition has: AWS's client asks for the version too where
    the owner changes its item, but a heartbeat whose answer was lost changed the version.

    A heartbeat gives the item a new version. A lock is taken over when its version stayed for its lease, by the clock
    of whoever waits: clocks of hosts are not compared.
    """

    def __init__(self, settings: DynamoSettings, clock: Clock, items: Items) -> None:
        self._settings = settings
        self._clock = clock
        self._items = items
        self._is_owner = False
        self._seen: _Seen | None = None

    @property
    def renewal_ms(self) -> float:
        """A third of the lease, as Hudi's."""
        return self._settings.lease_ms / 3

    def attempt(self, token: str) -> str:
        owner = f"{this_process()} {token}"
        item = self._items.get()
        if item is None:
            self._is_owner = self._put(owner, None)
        elif item.get(OWNER) == owner:  # the answer to its put was lost
            self._is_owner = self._renew(owner)
        elif RELEASED in item or self._is_over(item):
            self._is_owner = self._put(owner, item.get(VERSION, ""))
        return owner if self._is_owner else ""

    def lasts_ms(self, handle: str) -> float:
        if not self._is_owner:  # a worker: the item says whose it is, not since when
            item = self._items.get() or {}
            return _number(item.get(LEASE, "")) if item.get(OWNER) == handle and RELEASED not in item else 0
        begun_ms = self._now_ms()
        if not self._renew(handle):
            return 0
        return max(self._settings.lease_ms - (self._now_ms() - begun_ms), 0)

    def give_back(self, handle: str) -> None:
        self._items.delete(handle)

    def holder(self) -> str:
        with suppress(LockNotAcquiredError):
            return (self._items.get() or {}).get(OWNER) or "another writer"
        return "another writer"

    def close(self) -> None:
        self._items.close()

    def _is_over(self, item: Mapping[str, str]) -> bool:
        """Whether this process saw the same version for as long as the lock lasts."""
        version, now_ms = item.get(VERSION, ""), self._now_ms()
        if self._seen is None or self._seen.version != version:
            self._seen = _Seen(version=version, lease_ms=_number(item.get(LEASE, "")), at_ms=now_ms)
        return now_ms - self._seen.at_ms > self._seen.lease_ms

    def _put(self, owner: str, version: str | None) -> bool:
        lease, new = str(self._settings.lease_ms), self._clock.new_uuid()
        return self._items.put({KEY: self._settings.key, OWNER: owner, LEASE: lease, VERSION: new}, version)

    def _renew(self, owner: str) -> bool:
        return self._items.renew(owner, self._settings.lease_ms, self._clock.new_uuid())

    def _now_ms(self) -> float:
        return self._clock.monotonic() * 1000


def _number(text: str) -> float:
    return float(text) if text.isdigit() else 0.0
