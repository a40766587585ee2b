"""Which lock a writer takes, by its configuration and by what its storage is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import lock as lock_keys
from spark_jobs.core.config.keys.lock import CONCURRENCY_MODE, LOCK_PROVIDER, ConcurrencyMode
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
from spark_jobs.core.locks.in_process import InProcessLock
from spark_jobs.core.locks.protocol import TableLock
from spark_jobs.core.locks.providers import HUDIS_DEFAULT, Served, provider_of
from spark_jobs.core.storage import Storage

_ZOOKEEPER_KEYS = "hoodie.write.lock.zookeeper."


@dataclass(frozen=True, slots=True, kw_only=True)
class LockChoice:
    """The lock of one table, as a value; ``file`` is where it is, and how long it is waited for."""

    file: FileLockSettings
    in_process: bool

    def new(self, storage: Storage, clock: Clock) -> TableLock:
        """For one acquisition."""
        if self.in_process:
            return InProcessLock(storage, self.file.path, self.file.wait_ms, clock)
        return FileLock(storage, self.file, clock)


def choose_lock(properties: Mapping[str, str], storage: Storage, folder: str) -> LockChoice:
    """The file lock, but where no other process sees the storage.

    :param folder: of the lock file, unless the configuration names another one.
    :raises ConfigError: as :func:`lock_notes`.
    """
    lock_notes(properties)
    return LockChoice(
        file=FileLockSettings(
            path=f"{lock_keys.LOCK_PATH.of(properties) or folder}/lock",
            wait_ms=lock_keys.LOCK_WAIT.of(properties),
            expire_ms=lock_keys.LOCK_EXPIRE.of(properties) * 60_000,
            lease_ms=lock_keys.LOCK_LEASE.of(properties),
        ),
        in_process=not storage.capabilities.shared,
    )


def lock_notes(properties: Mapping[str, str]) -> list[str]:
    """What the lock, which is taken whatever the configuration says, does not exclude by it.

    A provider counts as it does for Hudi, which takes any that is not its default also where no mode is given (Hudi:
    HoodieWriteConfig.isLockRequired). Its default is the lock in ZooKeeper: writers that are told of several, and where
    ZooKeeper is, take that.

    :raises ConfigError: other writers hold a lock that is not taken here; or the mode is none that Hudi has.
    """
    mode = CONCURRENCY_MODE.of(properties)
    name = LOCK_PROVIDER.of(properties).strip()
    if (
        not properties.get(LOCK_PROVIDER.name)
        and mode is not ConcurrencyMode.SINGLE_WRITER
        and _names_zookeeper(properties)
    ):
        name = HUDIS_DEFAULT
    provider = provider_of(name)
    if provider.served is Served.BY_ITS_FILE:
        return []
    if provider.served is Served.INSIDE_A_PROCESS:
        return [
            f"{LOCK_PROVIDER.name}={name} excludes nobody outside of its process: the file lock is taken, which "
            "excludes writers of this project, and Hudi's where they take the file lock too"
        ]
    if properties.get(CONCURRENCY_MODE.name) and mode is ConcurrencyMode.SINGLE_WRITER:
        return [
            f"{LOCK_PROVIDER.name}={name} is not taken, as {CONCURRENCY_MODE.name} says that nobody else writes; "
            "the file lock is, which writers with that provider don't see"
        ]
    raise ConfigError(
        f"{LOCK_PROVIDER.name}={name} {provider.is_}, and this release does not take it",
        todo=f"give all writers of the table {LOCK_PROVIDER.default}; or, if no other writer is ever at work "
        f"meanwhile, {CONCURRENCY_MODE.name}={ConcurrencyMode.SINGLE_WRITER.value}",
        key=LOCK_PROVIDER.name,
        value=name,
    )


def _names_zookeeper(properties: Mapping[str, str]) -> bool:
    return any(text.strip() for name, text in properties.items() if name.startswith(_ZOOKEEPER_KEYS))
