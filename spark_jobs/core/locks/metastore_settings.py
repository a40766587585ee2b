"""Where the lock in the Hive metastore is, by the keys of Hudi's HiveMetastoreBasedLockProvider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import lock as lock_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.locks.server_lock import Connection, connect_by, refuse_missing

DEFAULT_PORT = 9083


@dataclass(frozen=True, slots=True, kw_only=True)
class MetastoreSettings:
    """``uris`` are ``thrift://host:port``, separated by commas."""

    uris: str
    database: str
    table: str
    wait_ms: int
    heartbeat_ms: int

    @property
    def path(self) -> str:
        return f"{self.database}.{self.table} of the Hive metastore at {self.uris}"

    @property
    def gives_way(self) -> str:
        return "when the metastore had no heartbeat of it for its hive.txn.timeout (300 s by default)"

    def connect(self, clock: Clock) -> Connection:
        return connect_by("hive_metastore", self, clock)

    @staticmethod
    def of(properties: Mapping[str, str], wait_ms: int) -> MetastoreSettings:
        """
        :raises ConfigError: a key is missing, or a URI is none of a metastore.
        """
        given = {
            key.name: key.of(properties).strip()
            for key in (lock_keys.HIVE_URIS, lock_keys.HIVE_DATABASE, lock_keys.HIVE_TABLE)
        }
        refuse_missing(given, "the lock in the Hive metastore")
        uris = given[lock_keys.HIVE_URIS.name]
        for uri in uris.split(","):
            if not _is_metastore(uri.strip()):
                raise ConfigError(
                    f"metastore URI {uri.strip()} is not valid",
                    todo="give thrift://host:port",
                    key=lock_keys.HIVE_URIS.name,
                )
        return MetastoreSettings(
            uris=uris,
            database=given[lock_keys.HIVE_DATABASE.name],
            table=given[lock_keys.HIVE_TABLE.name],
            wait_ms=wait_ms,
            heartbeat_ms=lock_keys.HEARTBEAT_INTERVAL.of(properties),
        )


def _is_metastore(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        return parts.scheme == "thrift" and bool(parts.hostname) and (parts.port or DEFAULT_PORT) > 0
    except ValueError:
        return False
