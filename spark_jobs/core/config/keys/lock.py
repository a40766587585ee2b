"""The keys of the table lock."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, choice, integer, text


class ConcurrencyMode(StrEnum):
    """Whether several writers work at a table (Hudi: WriteConcurrencyMode)."""

    SINGLE_WRITER = "single_writer"
    OPTIMISTIC_CONCURRENCY_CONTROL = "optimistic_concurrency_control"
    NON_BLOCKING_CONCURRENCY_CONTROL = "non_blocking_concurrency_control"


class BillingMode(StrEnum):
    """How a table of DynamoDB is paid for."""

    PAY_PER_REQUEST = "PAY_PER_REQUEST"
    PROVISIONED = "PROVISIONED"


LOCK_WAIT = Key(
    name="hoodie.write.lock.wait_time_ms",
    parse=integer(),
    default=60000,
    doc="Milliseconds to wait for the table lock. A lock in DynamoDB lasts as long without a heartbeat.",
)
LOCK_PATH = Key(
    name="hoodie.write.lock.filesystem.path",
    parse=text,
    default="",
    doc="Directory of the lock file; empty: `.hoodie`.",
)
LOCK_EXPIRE = Key(
    name="hoodie.write.lock.filesystem.expire",
    parse=integer(),
    default=0,
    doc="Minutes after which a lock of Hudi's, or of another owner that does not renew it, is taken over; 0: never.",
)
LOCK_LEASE = Key(
    name="pyhudi.lock.lease_ms",
    parse=integer(),
    default=120_000,
    doc="Milliseconds for which a lock of this project holds without a renewal; its owner renews it six times as "
    "often. 0: for ever.",
)
LOCK_VALIDITY = Key(
    name="hoodie.write.lock.storage.validity.timeout.secs",
    parse=integer(250),
    default=300,
    doc="Seconds for which the lock on a store of objects holds without a renewal.",
)
LOCK_RENEWAL = Key(
    name="hoodie.write.lock.storage.renew.interval.secs",
    parse=integer(1),
    default=30,
    doc="Seconds between two renewals of the lock on a store of objects.",
    aliases=("hoodie.write.lock.storage.heartbeat.poll.secs",),
)
CLIENT_TRIES = Key(
    name="hoodie.write.lock.client.num_retries",
    parse=integer(),
    default=50,
    doc="How often a wait for a lock in ZooKeeper, the Hive metastore or DynamoDB is begun again, when "
    "`hoodie.write.lock.wait_time_ms` is over.",
)
CLIENT_PAUSE = Key(
    name="hoodie.write.lock.client.wait_time_ms_between_retry",
    parse=integer(),
    default=5000,
    doc="Milliseconds that each of these waits is longer than `hoodie.write.lock.wait_time_ms`.",
)
ZOOKEEPER_URL = Key(
    name="hoodie.write.lock.zookeeper.url",
    parse=text,
    default="",
    doc="Servers of ZooKeeper, `host:port` each, separated by commas; below a node of theirs with `/node` behind.",
)
ZOOKEEPER_PORT = Key(
    name="hoodie.write.lock.zookeeper.port",
    parse=text,
    default="",
    doc="Hudi's ZookeeperBasedLockProvider does not read it: a server without a port in the URL has 2181. Another port "
    "here, that the URL does not have, is an error.",
)
ZOOKEEPER_PATH = Key(
    name="hoodie.write.lock.zookeeper.base_path",
    parse=text,
    default="",
    doc="Node below which the lock is; the same for all writers of a table.",
)
ZOOKEEPER_KEY = Key(
    name="hoodie.write.lock.zookeeper.lock_key",
    parse=text,
    default="",
    doc="Name of the lock's node below `base_path`; empty: the table's name.",
)
ZOOKEEPER_SESSION = Key(
    name="hoodie.write.lock.zookeeper.session_timeout_ms",
    parse=integer(1),
    default=60_000,
    doc="Milliseconds after which a lock in ZooKeeper is others' whose owner is silent; the server may set bounds.",
)
ZOOKEEPER_CONNECTION = Key(
    name="hoodie.write.lock.zookeeper.connection_timeout_ms",
    parse=integer(1),
    default=15_000,
    doc="Milliseconds to wait for an answer of ZooKeeper.",
)
HIVE_DATABASE = Key(
    name="hoodie.write.lock.hivemetastore.database",
    parse=text,
    default="",
    doc="Database of the table on which the lock in the Hive metastore is.",
)
HIVE_TABLE = Key(
    name="hoodie.write.lock.hivemetastore.table",
    parse=text,
    default="",
    doc="Name of that table; it need not be there.",
)
HIVE_URIS = Key(
    name="hoodie.write.lock.hivemetastore.uris",
    parse=text,
    default="",
    doc="Metastores, `thrift://host:port` each, separated by commas: the first that answers is taken.",
)
HEARTBEAT_INTERVAL = Key(
    name="hoodie.write.lock.heartbeat_interval_ms",
    parse=integer(1),
    default=60_000,
    doc="Milliseconds between two heartbeats of a lock in the Hive metastore.",
)
_DYNAMODB = "hoodie.write.lock.dynamodb."
DYNAMODB_TABLE = Key(
    name=f"{_DYNAMODB}table",
    parse=text,
    default="",
    doc="DynamoDB's table that holds the locks; it is made where there is none.",
)
DYNAMODB_KEY = Key(
    name=f"{_DYNAMODB}partition_key",
    parse=text,
    default="",
    doc="Key of the lock's item there; empty: the table's name.",
)
DYNAMODB_REGION = Key(
    name=f"{_DYNAMODB}region",
    parse=text,
    default="",
    doc="Region of AWS; empty: `AWS_REGION` of the environment, or us-east-1.",
)
DYNAMODB_ENDPOINT = Key(
    name=f"{_DYNAMODB}endpoint_url",
    parse=text,
    default="",
    doc="Another address of DynamoDB than the region's.",
)
DYNAMODB_BILLING = Key(
    name=f"{_DYNAMODB}billing_mode",
    parse=choice(BillingMode),
    default=BillingMode.PAY_PER_REQUEST,
    doc="How a table that is made is paid for.",
)
DYNAMODB_READ = Key(
    name=f"{_DYNAMODB}read_capacity",
    parse=integer(1),
    default=20,
    doc="Units of reads of a table that is made as PROVISIONED.",
)
DYNAMODB_WRITE = Key(
    name=f"{_DYNAMODB}write_capacity",
    parse=integer(1),
    default=10,
    doc="Units of writes of a table that is made as PROVISIONED.",
)
DYNAMODB_CREATION = Key(
    name=f"{_DYNAMODB}table_creation_timeout",
    parse=integer(),
    default=120_000,
    doc="Milliseconds to wait for a table that is made.",
)
CONCURRENCY_MODE = Key(
    name="hoodie.write.concurrency.mode",
    parse=choice(ConcurrencyMode),
    default=ConcurrencyMode.SINGLE_WRITER,
    doc="Whether others write at the same time. Here a lock is taken and conflicts are looked for in both modes; "
    "single_writer says that a lock of `hoodie.write.lock.provider` which is not served need not be taken. By "
    "non_blocking_concurrency_control upserts of a MERGE_ON_READ table with a bucket index, whose payload goes by the "
    "ordering value, are no conflict where they append to one file group.",
)
LOCK_PROVIDER = Key(
    name="hoodie.write.lock.provider",
    parse=text,
    default="org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    doc="The lock of all writers of the table: Hudi's lock file; on a store of objects its StorageBasedLockProvider, "
    "which is taken there without the key; ZookeeperBasedLockProvider, HiveMetastoreBasedLockProvider or "
    "DynamoDBBasedLockProvider on any storage. A lock inside of a process is accepted with a note, any other is "
    "refused, but where the mode is given as single_writer.",
)
