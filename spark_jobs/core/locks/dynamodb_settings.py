"""Where the lock in DynamoDB is, by the keys of Hudi's DynamoDBBasedLockProvider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import lock as lock_keys
from spark_jobs.core.config.keys.lock import BillingMode
from spark_jobs.core.config.keys.table import NAME
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.locks.server_lock import Connection, connect_by, refuse_missing

_SHORTEST_LEASE_MS = 3000
"""A lock lasts as long as it is waited for (Hudi); one that lasted shorter could not be kept by heartbeats."""
_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoSettings:
    """``table`` holds an item for each lock, by ``key``; a lock lasts ``lease_ms`` in silence. Capacities are units of
    DynamoDB, of a table that is made in the mode PROVISIONED.
    """

    table: str
    key: str
    region: str
    endpoint: str
    wait_ms: int
    lease_ms: int
    billing: BillingMode
    read_capacity: int
    write_capacity: int
    creation_ms: int

    @property
    def path(self) -> str:
        return f"{self.key} of DynamoDB's table {self.table} in {self.endpoint or self.region}"

    @property
    def gives_way(self) -> str:
        return "when its item did not change for its leaseDuration"

    def connect(self, clock: Clock) -> Connection:
        return connect_by("dynamodb_items", self, clock)

    @staticmethod
    def of(properties: Mapping[str, str], wait_ms: int) -> DynamoSettings:
        """
        :raises ConfigError: a key is missing.
        """
        table = lock_keys.DYNAMODB_TABLE.of(properties).strip()
        refuse_missing({lock_keys.DYNAMODB_TABLE.name: table}, "the lock in DynamoDB")
        key = lock_keys.DYNAMODB_KEY.of(properties).strip() or NAME.of(properties).strip()
        if not key:
            raise ConfigError(
                f"{lock_keys.DYNAMODB_KEY.name} is missing, and no table has a name to take in its place",
                todo="give what the other writers of the table have",
                key=lock_keys.DYNAMODB_KEY.name,
            )
        return DynamoSettings(
            table=table,
            key=key,
            region=lock_keys.DYNAMODB_REGION.of(properties).strip() or os.environ.get("AWS_REGION", "") or _REGION,
            endpoint=lock_keys.DYNAMODB_ENDPOINT.of(properties).strip(),
            wait_ms=wait_ms,
            lease_ms=max(lock_keys.LOCK_WAIT.of(properties), _SHORTEST_LEASE_MS),
            billing=lock_keys.DYNAMODB_BILLING.of(properties),
            read_capacity=lock_keys.DYNAMODB_READ.of(properties),
            write_capacity=lock_keys.DYNAMODB_WRITE.of(properties),
            creation_ms=lock_keys.DYNAMODB_CREATION.of(properties),
        )
