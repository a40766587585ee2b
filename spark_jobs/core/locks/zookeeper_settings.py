"""Where the lock in ZooKeeper is, by the keys of Hudi's ZookeeperBasedLockProvider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import lock as lock_keys
from spark_jobs.core.config.keys.table import NAME
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.locks.server_lock import Connection, connect_by, refuse_missing

_PORT = "2181"
"""Of a server that the URL names without one (ZooKeeper: ConnectStringParser)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperSettings:
    """``node`` is the whole path of the queue's node; a session lasts ``session_ms`` in silence, as far as the server
    lets it; an answer is waited for ``answer_ms``.
    """

    url: str
    node: str
    wait_ms: int
    session_ms: int
    answer_ms: int

    @property
    def path(self) -> str:
        return f"{self.node} of ZooKeeper at {self.url}"

    @property
    def gives_way(self) -> str:
        return "when its session is over (hoodie.write.lock.zookeeper.session_timeout_ms)"

    def connect(self, clock: Clock) -> Connection:
        return connect_by("zookeeper", self, clock)

    @staticmethod
    def of(properties: Mapping[str, str], wait_ms: int) -> ZookeeperSettings:
        """
        :raises ConfigError: a key is missing, or what it gives is no place in ZooKeeper.
        """
        url = lock_keys.ZOOKEEPER_URL.of(properties).strip()
        base = lock_keys.ZOOKEEPER_PATH.of(properties).strip()
        key = lock_keys.ZOOKEEPER_KEY.of(properties).strip() or NAME.of(properties).strip()
        given = {lock_keys.ZOOKEEPER_URL: url, lock_keys.ZOOKEEPER_PATH: base, lock_keys.ZOOKEEPER_KEY: key}
        refuse_missing({one.name: value for one, value in given.items()}, "the lock in ZooKeeper")
        node = f"{base}/{key}"
        if not node.startswith("/") or any(part in ("", ".", "..") for part in node[1:].split("/")):
            raise ConfigError(
                f"{node} is no path in ZooKeeper",
                todo=f"give a {lock_keys.ZOOKEEPER_PATH.name} that begins with / and does not end with it",
                key=lock_keys.ZOOKEEPER_PATH.name,
                value=base,
            )
        _refuse_other_port(url, lock_keys.ZOOKEEPER_PORT.of(properties).strip())
        return ZookeeperSettings(
            url=url,
            node=node,
            wait_ms=wait_ms,
            session_ms=lock_keys.ZOOKEEPER_SESSION.of(properties),
            answer_ms=lock_keys.ZOOKEEPER_CONNECTION.of(properties),
        )


def _refuse_other_port(url: str, port: str) -> None:
    """Hudi's provider connects to what the URL says alone: another port would be another lock than Hudi's."""
    servers = url.partition("/")[0].split(",")
    ports = {server.rpartition(":")[2] if ":" in server else _PORT for server in servers}
    if port and port not in ports:
        raise ConfigError(
            f"{lock_keys.ZOOKEEPER_PORT.name}={port} is no port of {url}, and Hudi takes those of the URL",
            todo=f"give it in {lock_keys.ZOOKEEPER_URL.name}, as host:{port}",
            key=lock_keys.ZOOKEEPER_PORT.name,
            value=port,
        )
