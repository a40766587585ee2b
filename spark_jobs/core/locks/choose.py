"""Which lock a writer takes, by its configuration and by what its storage is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import lock as lock_keys
from spark_jobs.core.config.keys.lock import CONCURRENCY_MODE, LOCK_PROVIDER, ConcurrencyMode
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.locks.conditions import CONDITIONS
from spark_jobs.core.locks.dynamodb_settings import DynamoSettings
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
from spark_jobs.core.locks.in_process import InProcessLock, InProcessSettings
from spark_jobs.core.locks.metastore_settings import MetastoreSettings
from spark_jobs.core.locks.owner import this_process
from spark_jobs.core.locks.protocol import TableLock
from spark_jobs.core.locks.providers import HUDIS_DEFAULT, STORAGE_BASED, UNNAMED, Provider, Served, provider_of
from spark_jobs.core.locks.server_lock import ServerLock
from spark_jobs.core.locks.storage_lock import TABLE_LOCK, StorageLock, StorageLockSettings
from spark_jobs.core.locks.zookeeper_settings import ZookeeperSettings
from spark_jobs.core.storage import Storage

_RENEWALS_IN_VALIDITY = 10
"""At least (Hudi: StorageBasedLockConfig)."""
_ZOOKEEPER_KEYS = "hoodie.write.lock.zookeeper."
FileSettings = FileLockSettings | StorageLockSettings | InProcessSettings
ByServer = ZookeeperSettings | MetastoreSettings | DynamoSettings
_PACKAGES = {
    Served.BY_ZOOKEEPER: ("kazoo", "zookeeper"),
    Served.BY_METASTORE: ("pymetastore", "hive"),
    Served.BY_DYNAMODB: ("boto3", "dynamodb"),
}
"""What a server is asked by, and the extra that brings it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockChoice:
    """The lock of one table, as a value: which, where it is, and how long it is waited for."""

    settings: FileSettings | ByServer
    conditions_at: str = ""
    """A file at which the holder of a server's lock tries the conditions of puts; none where a storage does without."""

    @property
    def path(self) -> str:
        """Of its file, or the name by which threads or a server know it."""
        return self.settings.path

    def files(self, storage: Storage) -> tuple[str, ...]:
        """What the lock may leave where nobody holds it, and what it is held by."""
        if isinstance(self.settings, ByServer):
            return ()
        guard = storage.guard_of(self.path)
        return (self.path,) if guard is None else (self.path, guard)

    def forget(self, storage: Storage) -> None:
        """Remove what the lock leaves where nobody holds it, if that can be done without taking it from who takes it
        meanwhile; whoever is about to take it begins anew.

        :raises LockNotAcquiredError: somebody makes a change under it just now, and goes on with that.
        """
        if isinstance(self.settings, StorageLockSettings | ByServer):
            return  # its file, or its server, says that nobody holds it
        with storage.while_alone(self.path, str(this_process())):
            guard = storage.guard_of(self.path)
            if guard is not None:
                storage.delete(guard)

    def new(self, storage: Storage, clock: Clock) -> TableLock:
        """For one acquisition."""
        if isinstance(self.settings, InProcessSettings):
            return InProcessLock(storage, self.settings, clock)
        if isinstance(self.settings, StorageLockSettings):
            return StorageLock(storage, self.settings, clock)
        if isinstance(self.settings, ByServer):
            return ServerLock(storage, self.settings, clock, self.conditions_at)
        return FileLock(storage, self.settings, clock)


def choose_lock(properties: Mapping[str, str], storage: Storage, folder: str) -> LockChoice:
    """The lock of the provider that the configuration names; without one what fits the storage: a file with a lease
    where others can be kept from it, one that conditional puts change elsewhere, none where no other process sees it.

    :param folder: of the lock file, unless the configuration names another one.
    :raises ConfigError: as :func:`lock_notes`; or a lock file is asked for that the storage can't keep, or a server
        whose keys or package are missing.
    """
    lock_notes(properties)
    wait_ms = lock_keys.LOCK_WAIT.of(properties)
    asked = _asked(properties).served
    if asked in _PACKAGES:
        by_conditions = storage.capabilities.shared and not storage.capabilities.guarded
        return LockChoice(
            settings=_by_server(asked, properties, wait_ms),
            conditions_at=f"{folder}/{CONDITIONS}" if by_conditions else "",
        )
    if not storage.capabilities.shared:
        return LockChoice(settings=InProcessSettings(path=f"{folder}/lock", wait_ms=wait_ms))
    if asked is Served.BY_CONDITIONAL_PUTS or (asked is not Served.BY_ITS_FILE and not storage.capabilities.guarded):
        valid, renewed = lock_keys.LOCK_VALIDITY.of(properties), lock_keys.LOCK_RENEWAL.of(properties)
        if valid < _RENEWALS_IN_VALIDITY * renewed:
            raise ConfigError(
                f"{lock_keys.LOCK_RENEWAL.name}={renewed} is too long for a lock that is valid for {valid} seconds",
                todo=f"give at most {valid // _RENEWALS_IN_VALIDITY}, or more of {lock_keys.LOCK_VALIDITY.name}",
                key=lock_keys.LOCK_RENEWAL.name,
            )
        return LockChoice(
            settings=StorageLockSettings(
                path=f"{folder}/{TABLE_LOCK}",
                wait_ms=wait_ms,
                valid_ms=valid * 1000,
                renew_ms=renewed * 1000,
            )
        )
    if not storage.capabilities.guarded:
        raise ConfigError(
            f"{LOCK_PROVIDER.name}={LOCK_PROVIDER.default} can't be kept on a store of objects",
            todo=f"give all writers of the table {STORAGE_BASED}",
            key=LOCK_PROVIDER.name,
        )
    return LockChoice(
        settings=FileLockSettings(
            path=f"{lock_keys.LOCK_PATH.of(properties) or folder}/lock",
            wait_ms=wait_ms,
            expire_ms=lock_keys.LOCK_EXPIRE.of(properties) * 60_000,
            lease_ms=lock_keys.LOCK_LEASE.of(properties),
        )
    )


def _by_server(asked: Served, properties: Mapping[str, str], wait_ms: int) -> ByServer:
    package, extra = _PACKAGES[asked]
    if find_spec(package) is None:
        raise ConfigError(
            f"{LOCK_PROVIDER.name}={_asked(properties).names[0]} can't be taken without the package {package}",
            todo=f"pip install 'pyhudi[{extra}]'",
            key=LOCK_PROVIDER.name,
        )
    again = lock_keys.CLIENT_TRIES.of(properties)
    wait_ms += again * (wait_ms + lock_keys.CLIENT_PAUSE.of(properties))
    if asked is Served.BY_DYNAMODB:
        return DynamoSettings.of(properties, wait_ms)
    if asked is Served.BY_METASTORE:
        return MetastoreSettings.of(properties, wait_ms)
    return ZookeeperSettings.of(properties, wait_ms)


def lock_notes(properties: Mapping[str, str]) -> list[str]:
    """What the lock, which is taken whatever the configuration says, does not exclude by it.

    A provider that is named counts in every mode. Hudi takes one that is not its default in every mode too (Hudi:
    HoodieWriteConfig.isLockRequired). Its default is the lock in ZooKeeper: writers that are told of several, and where
    ZooKeeper is, take that.

    :raises ConfigError: other writers hold a lock that is not taken here; or the mode is none that Hudi has.
    """
    mode = CONCURRENCY_MODE.of(properties)
    provider = _asked(properties)
    name = LOCK_PROVIDER.of(properties).strip()
    if provider.served not in (Served.INSIDE_A_PROCESS, Served.NOT):
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


def _asked(properties: Mapping[str, str]) -> Provider:
    """The provider that is named, or that Hudi takes where none is."""
    asked = properties.get(LOCK_PROVIDER.name, "").strip()
    if (
        not asked
        and CONCURRENCY_MODE.of(properties) is not ConcurrencyMode.SINGLE_WRITER
        and _names_zookeeper(properties)
    ):
        return provider_of(HUDIS_DEFAULT)
    return provider_of(asked) if asked else UNNAMED


def _names_zookeeper(properties: Mapping[str, str]) -> bool:
    return any(text.strip() for name, text in properties.items() if name.startswith(_ZOOKEEPER_KEYS))
