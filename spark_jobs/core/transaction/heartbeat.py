"""Signs of life of a write under way (Hudi: HoodieHeartbeatClient): one file for each pending instant."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.folders import HEARTBEAT_FOLDER
from spark_jobs.core.locks.owner import Owner, parse_owner, this_process
from spark_jobs.core.storage import Content, FileStatus, Storage
from spark_jobs.core.storage.times import age_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatSettings:
    """``interval_ms`` between beats; after ``misses`` more intervals without one a writer counts as gone."""

    interval_ms: int
    misses: int

    @property
    def lapse_ms(self) -> int:
        return self.interval_ms * self.misses


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """What the heartbeat file of an instant says."""

    alive: bool
    owner: Owner | None
    idempotency_key: str | None


def heartbeat_path(base_path: str, instant: str) -> str:
    return f"{base_path}/{HEARTBEAT_FOLDER}/{instant}"


def read_pulse(storage: Storage, base_path: str, instant: str, settings: HeartbeatSettings, clock: Clock) -> Pulse:
    """Alive while the file is fresh and its owner is not known to be dead; an instant without a file has none."""
    content = storage.load(heartbeat_path(base_path, instant))
    if content is None:
        return Pulse(alive=False, owner=None, idempotency_key=None)
    found = parse_owner(content.data)
    fresh = age_ms(storage, content.status, clock) <= settings.lapse_ms
    if found is None:
        return Pulse(alive=fresh, owner=None, idempotency_key=None)
    owner, raw = found
    return Pulse(alive=fresh and not owner.is_dead(), owner=owner, idempotency_key=raw.get("idempotencyKey"))


class Heartbeat:
    """Beats until stopped; :meth:`lapsed` is the writer's own doubt before it publishes.

    One that was silent for longer than others wait (a machine that slept, a storage that hung) stays silent: its
    rollback may have begun, and a late beat would hide that.
    """

    def __init__(
        self,
        storage: Storage,
        base_path: str,
        instant: str,
        settings: HeartbeatSettings,
        clock: Clock,
        idempotency_key: str | None = None,
    ) -> None:
        self._storage = storage
        self._path = heartbeat_path(base_path, instant)
        self._settings = settings
        self._clock = clock
        self._content = json.dumps(
            {"owner": this_process().to_json(), "idempotencyKey": idempotency_key, "token": clock.new_uuid()}
        ).encode()
        self._lost = False
        self._last_beat = 0.0
        # half the interval, so that one slow write of the file is no missed beat
        self._beats = clock.every(settings.interval_ms / 2000, self._beat, f"heartbeat-{instant}")

    def start(self, storage: Storage | None = None) -> None:
        """
        :param storage: by which the first beat goes, for which the caller holds the table lock.
        """
        self._last_beat = self._clock.monotonic()
        (storage or self._storage).replace(self._path, self._content, durable=False)  # as its writer: not for later
        self._beats.start()

    def stop(self) -> None:
        """Stop beating and remove the file; one that can't be removed now is swept by a later writer."""
        self._beats.stop()
        with suppress(StorageError):
            if self._is_own(self._storage.load(self._path)):
                self._storage.discard([self._path])

    def lapsed(self) -> bool:
        """Whether others may take this writer for gone, or could once since it began: the file is missing, too old,
        another worker's by now, or was too old at a beat.
        """
        return self._lost or not self._is_good()

    def _is_good(self) -> bool:
        content = self._storage.load(self._path)
        return content is not None and self._is_own(content) and self._is_fresh(content.status)

    def _is_fresh(self, status: FileStatus) -> bool:
        """By two clocks: the one of this process stands still while its machine sleeps, that of the storage, by which
        others judge, may be set.
        """
        silent_ms = (self._clock.monotonic() - self._last_beat) * 1000
        if silent_ms > self._settings.lapse_ms:
            return False
        return age_ms(self._storage, status, self._clock) <= self._settings.lapse_ms

    def _is_own(self, content: Content | None) -> bool:
        return content is not None and content.data == self._content

    def _beat(self) -> bool:
        """Whether the next beat is to come."""
        # a storage that fails once may serve the next beat; one that stays away shows in lapsed()
        with suppress(StorageError):
            if not self._is_good():
                # another writer may have taken this one for gone: a new file would contradict its rollback
                self._lost = True
                return False
            began = self._clock.monotonic()
            self._storage.replace(self._path, self._content, durable=False)
            if (self._clock.monotonic() - self._last_beat) * 1000 > self._settings.lapse_ms:
                self._lost = True  # it hung while it beat
                return False
            self._last_beat = began
        return True
