"""The lock providers of Hudi 0.14 to 1.2, by the class that ``hoodie.write.lock.provider`` names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spark_jobs.core.config.keys.lock import LOCK_PROVIDER


class Served(Enum):
    """How this release excludes the writers that name a provider."""

    BY_ITS_FILE = "by its file"
    BY_CONDITIONAL_PUTS = "by conditional puts"
    BY_ZOOKEEPER = "by ZooKeeper"
    BY_METASTORE = "by the Hive metastore"
    BY_DYNAMODB = "by DynamoDB"
    BY_WHAT_FITS = "by what fits the storage"
    INSIDE_A_PROCESS = "inside a process"
    NOT = "not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """``is_`` says what it is, behind its name."""

    names: tuple[str, ...]
    is_: str
    served: Served = Served.NOT


_CLIENT, _HIVE = "org.apache.hudi.client.transaction.lock", "org.apache.hudi.hive"
_AWS = "org.apache.hudi.aws.transaction.lock"
STORAGE_BASED = f"{_CLIENT}.StorageBasedLockProvider"
HUDIS_DEFAULT = f"{_CLIENT}.ZookeeperBasedLockProvider"
PROVIDERS = (
    Provider(names=(LOCK_PROVIDER.default,), is_="is a lock file", served=Served.BY_ITS_FILE),
    Provider(
        names=(f"{_CLIENT}.InProcessLockProvider", f"{_CLIENT}.NoopLockProvider"),
        is_="is a lock in the memory of one process",
        served=Served.INSIDE_A_PROCESS,
    ),
    Provider(names=(HUDIS_DEFAULT,), is_="is a lock in ZooKeeper", served=Served.BY_ZOOKEEPER),
    Provider(
        names=(f"{_CLIENT}.ZookeeperBasedImplicitBasePathLockProvider",),
        is_="is a lock in ZooKeeper whose path Hudi makes of the table's",
    ),
    Provider(
        names=(f"{_HIVE}.transaction.lock.HiveMetastoreBasedLockProvider", f"{_HIVE}.HiveMetastoreBasedLockProvider"),
        is_="is a lock in the Hive metastore",
        served=Served.BY_METASTORE,
    ),
    Provider(names=(f"{_AWS}.DynamoDBBasedLockProvider",), is_="is a lock in DynamoDB", served=Served.BY_DYNAMODB),
    Provider(
        names=(f"{_AWS}.DynamoDBBasedImplicitPartitionKeyLockProvider",),
        is_="is a lock in DynamoDB whose key Hudi makes of the table's path",
    ),
    Provider(
        names=(STORAGE_BASED,),
        is_="is a lock in a file that conditional puts change",
        served=Served.BY_CONDITIONAL_PUTS,
    ),
)

UNNAMED = Provider(names=("",), is_="is not named", served=Served.BY_WHAT_FITS)


def provider_of(name: str) -> Provider:
    """A class that is none of Hudi's own is one that is not served."""
    known = (one for one in PROVIDERS if name in one.names)
    return next(known, Provider(names=(name,), is_="is no lock provider of Hudi's"))
