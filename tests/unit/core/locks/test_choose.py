"""Which lock is taken; which of other writers are refused, before anything is written, and accepted with a note."""

from __future__ import annotations

import pickle

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError, LockNotAcquiredError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.locks.choose import choose_lock, lock_notes
from spark_jobs.core.locks.file_lock import FileLock
from spark_jobs.core.locks.in_process import InProcessLock
from spark_jobs.core.locks.storage_lock import StorageLock, StorageLockSettings
from spark_jobs.core.storage import Capabilities, LocalStorage
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.support import new_table

pytestmark = pytest.mark.unit

PACKAGE = "org.apache.hudi.client.transaction.lock"
ZOOKEEPER, HIVE = (
    f"{PACKAGE}.ZookeeperBasedLockProvider",
    "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
)
DYNAMO = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"
OPTIMISTIC = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
SINGLE = {"hoodie.write.concurrency.mode": "single_writer"}


def provider(name: str) -> dict[str, str]:
    return {"hoodie.write.lock.provider": name}


@pytest.mark.parametrize("mode", [{}, OPTIMISTIC, SINGLE])
@pytest.mark.parametrize("lock", [{}, provider(f"{PACKAGE}.FileSystemBasedLockProvider")])
def test_the_file_lock_is_taken_without_a_word(mode: dict[str, str], lock: dict[str, str]) -> None:
    assert writer_warnings({**mode, **lock}) == []


@pytest.mark.parametrize("mode", [{}, OPTIMISTIC, {"hoodie.write.concurrency.mode": ""}])
@pytest.mark.parametrize("name", [ZOOKEEPER, HIVE, DYNAMO, "com.example.MyLock"])
def test_another_lock_is_refused(mode: dict[str, str], name: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"{name} is .*not take it: .*FileSystemBasedLockProvider; or, .*single_writer"
    ) as caught:
        lock_notes({**mode, **provider(name)})
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", [ZOOKEEPER, HIVE])
def test_a_single_writer_is_told_that_its_lock_is_not_taken(name: str) -> None:
    (line,) = lock_notes({**SINGLE, **provider(name)})
    assert "is not taken" in line


@pytest.mark.parametrize("mode", [{}, OPTIMISTIC, SINGLE])
def test_a_lock_inside_of_a_process_is_accepted_with_a_note(mode: dict[str, str]) -> None:
    (line,) = lock_notes({**mode, **provider(f"{PACKAGE}.InProcessLockProvider")})
    assert "excludes nobody outside of its process" in line


@pytest.mark.parametrize("lock", [{}, provider(ZOOKEEPER), provider(f"{PACKAGE}.FileSystemBasedLockProvider")])
@pytest.mark.parametrize("mode", ["NBCC", "non_blocking_concurrency_control", "optimistic"])
def test_a_mode_that_is_none_is_refused(mode: str, lock: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="give one of single_writer, optimistic_concurrency_control"):
        lock_notes({"hoodie.write.concurrency.mode": mode, **lock})


AT = {"hoodie.write.lock.zookeeper.url": "zk:2181", "hoodie.write.lock.zookeeper.lock_key": "trips"}


def test_zookeeper_is_the_lock_of_writers_that_are_told_where_it_is() -> None:
    """It is Hudi's default, and those of its writers that name no provider take it."""
    with pytest.raises(ConfigError, match=f"{ZOOKEEPER} is a lock in ZooKeeper, and this release does not take it"):
        writer_warnings({**OPTIMISTIC, **AT})


@pytest.mark.parametrize("mode", [{}, SINGLE, {**OPTIMISTIC, **provider(f"{PACKAGE}.FileSystemBasedLockProvider")}])
def test_where_zookeeper_is_counts_for_nothing_with_another_lock_or_with_none(mode: dict[str, str]) -> None:
    assert [line.split(" has no effect")[0] for line in writer_warnings({**mode, **AT})] == sorted(AT)


def test_nothing_is_written_under_a_lock_that_is_not_taken(root: Folder) -> None:
    table = new_table(root / "t")
    before = sorted(root.rglob("*"))
    with pytest.raises(ConfigError, match="is a lock in ZooKeeper, and this release does not take it"):
        begin(table.transaction_settings({**OPTIMISTIC, **provider(ZOOKEEPER)}), Action.COMMIT)
    assert sorted(root.rglob("*")) == before
    assert (root / "t").table().timeline.instants == ()


@pytest.mark.parametrize(
    ("name", "is_"),
    [
        (f"{PACKAGE}.ZookeeperBasedImplicitBasePathLockProvider", "is a lock in ZooKeeper"),
        ("org.apache.hudi.hive.HiveMetastoreBasedLockProvider", "is a lock in the Hive metastore"),
        ("org.apache.hudi.aws.transaction.lock.DynamoDBBasedImplicitPartitionKeyLockProvider", "is a lock in DynamoDB"),
        ("ZookeeperBasedLockProvider", "is no lock provider of Hudi's"),
        ("com.example.FileSystemBasedLockProvider", "is no lock provider of Hudi's"),
    ],
)
def test_a_refusal_says_what_the_lock_is(name: str, is_: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} {is_}"):
        lock_notes(provider(name))


def test_a_noop_lock_is_no_lock_of_others() -> None:
    (line,) = lock_notes(provider(f"{PACKAGE}.NoopLockProvider"))
    assert "the file lock is taken" in line


class OfThisProcess(Through):
    """A storage that no other process sees."""

    capabilities = Capabilities(shared=False, guarded=False, linked=False)


@pytest.mark.parametrize("alone", [False, True], ids=["shared", "of one process"])
def test_the_lock_that_fits_a_storage_is_taken(alone: bool, root: Folder) -> None:
    storage = OfThisProcess(root.storage) if alone else root.storage
    kind, file = (FileLock, "lock") if root.is_local else (StorageLock, ".locks/table_lock.json")
    choice = choose_lock({"hoodie.write.lock.wait_time_ms": "0"}, storage, str(root))
    with pickle.loads(pickle.dumps(choice)).new(storage, SYSTEM_CLOCK) as lock:
        assert isinstance(lock, InProcessLock if alone else kind)
        assert (root / file).exists() is not alone
        with pytest.raises(LockNotAcquiredError):
            choice.new(storage, SYSTEM_CLOCK).acquire()
        lock.storage.create(str(root / "file"), b"1")


def test_the_file_is_where_the_configuration_says() -> None:
    choice = choose_lock({"hoodie.write.lock.filesystem.path": "/locks/t"}, LocalStorage(), "/t/.hoodie")
    assert choice.path == "/locks/t/lock"


def test_a_store_of_objects_keeps_no_lock_file(root: Folder) -> None:
    asked = provider(f"{PACKAGE}.FileSystemBasedLockProvider")
    if root.is_local:
        assert choose_lock(asked, root.storage, str(root)).path == f"{root}/lock"
        return
    with pytest.raises(ConfigError, match=r"can't be kept on a store of objects: give .*StorageBasedLockProvider"):
        choose_lock(asked, root.storage, str(root))


def test_renewals_have_to_come_ten_times_in_a_lease(root: Folder) -> None:
    asked = {**provider(f"{PACKAGE}.StorageBasedLockProvider"), "hoodie.write.lock.storage.renew.interval.secs": "31"}
    with pytest.raises(ConfigError, match=r"secs=31 is too long .* valid for 300 seconds: give at most 30"):
        choose_lock(asked, root.storage, str(root))


def test_the_lock_of_conditional_puts_is_taken_where_it_is_asked_for(root: Folder) -> None:
    name, prefix = f"{PACKAGE}.StorageBasedLockProvider", "hoodie.write.lock.storage."
    asked = {**provider(name), f"{prefix}validity.timeout.secs": "250", f"{prefix}heartbeat.poll.secs": "6"}
    assert writer_warnings(asked) == []
    assert choose_lock(asked, root.storage, str(root)).settings == StorageLockSettings(
        path=f"{root}/.locks/table_lock.json", wait_ms=60_000, valid_ms=250_000, renew_ms=6_000
    )
