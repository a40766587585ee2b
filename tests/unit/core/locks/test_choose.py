"""Which lock is taken; which of other writers are refused, before anything is written, and accepted with a note."""

from __future__ import annotations

import pickle

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys.lock import BillingMode
from spark_jobs.core.errors import ConfigError, LockNotAcquiredError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.locks.choose import choose_lock, lock_notes
from spark_jobs.core.locks.dynamodb_settings import DynamoSettings
from spark_jobs.core.locks.file_lock import FileLock
from spark_jobs.core.locks.in_process import InProcessLock
from spark_jobs.core.locks.metastore_settings import MetastoreSettings
from spark_jobs.core.locks.storage_lock import StorageLock, StorageLockSettings
from spark_jobs.core.locks.zookeeper_settings import ZookeeperSettings
from spark_jobs.core.storage import Capabilities, LocalStorage
from spark_jobs.core.storage.objects.storage import ObjectStorage
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
IMPLICIT = f"{PACKAGE}.ZookeeperBasedImplicitBasePathLockProvider"
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
@pytest.mark.parametrize("name", [IMPLICIT, "com.example.MyLock"])
def test_another_lock_is_refused(mode: dict[str, str], name: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"{name} is .*not take it: .*FileSystemBasedLockProvider; or, .*single_writer"
    ) as caught:
        lock_notes({**mode, **provider(name)})
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", [IMPLICIT, "com.example.MyLock"])
def test_a_single_writer_is_told_that_its_lock_is_not_taken(name: str) -> None:
    (line,) = lock_notes({**SINGLE, **provider(name)})
    assert "is not taken" in line


@pytest.mark.parametrize("mode", [{}, OPTIMISTIC, SINGLE])
def test_a_lock_inside_of_a_process_is_accepted_with_a_note(mode: dict[str, str]) -> None:
    (line,) = lock_notes({**mode, **provider(f"{PACKAGE}.InProcessLockProvider")})
    assert "excludes nobody outside of its process" in line


@pytest.mark.parametrize("lock", [{}, provider(ZOOKEEPER), provider(f"{PACKAGE}.FileSystemBasedLockProvider")])
@pytest.mark.parametrize("mode", ["NBCC", "optimistic"])
def test_a_mode_that_is_none_is_refused(mode: str, lock: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="give one of single_writer, optimistic_concurrency_control"):
        lock_notes({"hoodie.write.concurrency.mode": mode, **lock})


AT = {
    "hoodie.write.lock.zookeeper.url": "zk:2181",
    "hoodie.write.lock.zookeeper.base_path": "/hudi/locks",
    "hoodie.write.lock.zookeeper.lock_key": "trips",
}
WAIT_MS = 60_000 + 50 * (60_000 + 5_000)


@pytest.mark.parametrize("asked", [OPTIMISTIC, provider(ZOOKEEPER), {**SINGLE, **provider(ZOOKEEPER)}])
def test_zookeeper_is_the_lock_of_writers_that_name_it_or_are_told_where_it_is(asked: dict[str, str]) -> None:
    """It is Hudi's default, and those of its writers that name no provider take it."""
    assert writer_warnings({**asked, **AT}) == []
    assert choose_lock({**asked, **AT}, LocalStorage(), "/t/.hoodie").settings == ZookeeperSettings(
        url="zk:2181", node="/hudi/locks/trips", wait_ms=WAIT_MS, session_ms=60_000, answer_ms=15_000
    )


@pytest.mark.parametrize("mode", [{}, SINGLE, {**OPTIMISTIC, **provider(f"{PACKAGE}.FileSystemBasedLockProvider")}])
def test_where_zookeeper_is_counts_for_nothing_with_another_lock_or_with_none(mode: dict[str, str]) -> None:
    choice = choose_lock({**mode, **AT}, LocalStorage(), "/t/.hoodie")
    assert choice.path == "/t/.hoodie/lock"


def test_the_lock_of_a_server_leaves_nothing_in_the_table(root: Folder) -> None:
    choice = choose_lock({**provider(ZOOKEEPER), **AT}, root.storage, str(root))
    assert choice.files(root.storage) == ()
    choice.forget(root.storage)


def test_a_lock_in_zookeeper_without_a_key_has_the_name_of_the_table(root: Folder) -> None:
    given = {**provider(ZOOKEEPER), **{name: text for name, text in AT.items() if not name.endswith("lock_key")}}
    settings = new_table(root / "t").transaction_settings(given).lock.settings
    assert isinstance(settings, ZookeeperSettings)
    assert settings.node == "/hudi/locks/t"


@pytest.mark.parametrize(
    ("key", "text", "match"),
    [
        ("url", "", r"zookeeper.url is missing, which the lock in ZooKeeper needs: give what the other writers"),
        ("base_path", "", r"zookeeper.base_path is missing"),
        ("lock_key", "", r"zookeeper.lock_key is missing"),
        ("base_path", "hudi", r"hudi/trips is no path in ZooKeeper: give a .*base_path that begins with /"),
        ("base_path", "/hudi/", r"/hudi//trips is no path"),
        ("port", "2182", r"zookeeper.port=2182 is no port of zk:2181, and Hudi takes those of the URL: give it in"),
    ],
)
def test_a_place_that_is_none_is_refused(key: str, text: str, match: str) -> None:
    asked = {**provider(ZOOKEEPER), **AT, f"hoodie.write.lock.zookeeper.{key}": text}
    with pytest.raises(ConfigError, match=match):
        choose_lock(asked, LocalStorage(), "/t/.hoodie")


HIVE_AT = {
    "hoodie.write.lock.hivemetastore.uris": "thrift://a:9083,thrift://b",
    "hoodie.write.lock.hivemetastore.database": "lake",
    "hoodie.write.lock.hivemetastore.table": "trips",
}


@pytest.mark.parametrize("name", [HIVE, "org.apache.hudi.hive.HiveMetastoreBasedLockProvider"])
def test_the_lock_in_the_hive_metastore_is_where_its_keys_say(name: str) -> None:
    asked = {**provider(name), **HIVE_AT, "hoodie.write.lock.client.num_retries": "0"}
    assert writer_warnings(asked) == []
    assert choose_lock(asked, LocalStorage(), "/t/.hoodie").settings == MetastoreSettings(
        uris="thrift://a:9083,thrift://b", database="lake", table="trips", wait_ms=60_000, heartbeat_ms=60_000
    )


@pytest.mark.parametrize(
    ("key", "text", "match"),
    [
        ("uris", "", r"hivemetastore.uris is missing, which the lock in the Hive metastore needs"),
        ("database", "", r"hivemetastore.database is missing"),
        ("table", "", r"hivemetastore.table is missing"),
        ("uris", "http://a:9083", r"metastore URI http://a:9083 is not valid: give thrift://host:port"),
        ("uris", "thrift://a:x", r"metastore URI thrift://a:x is not valid"),
    ],
)
def test_a_metastore_that_is_none_is_refused(key: str, text: str, match: str) -> None:
    asked = {**provider(HIVE), **HIVE_AT, f"hoodie.write.lock.hivemetastore.{key}": text}
    with pytest.raises(ConfigError, match=match):
        choose_lock(asked, LocalStorage(), "/t/.hoodie")


def test_the_lock_in_dynamodb_is_where_its_keys_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.core.locks.choose.find_spec", lambda name: name)  # boto3 need not be installed
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    prefix = "hoodie.write.lock.dynamodb."
    asked = {**provider(DYNAMO), f"{prefix}table": "locks", "hoodie.table.name": "trips"}
    assert writer_warnings(asked) == []
    choice = choose_lock(asked, LocalStorage(), "/t/.hoodie")
    assert choice.conditions_at == ""
    assert choose_lock(asked, ObjectStorage(), "s3://t/.hoodie").conditions_at == "s3://t/.hoodie/.locks/conditions"
    assert choice.settings == DynamoSettings(
        table="locks",
        key="trips",
        region="eu-west-1",
        endpoint="",
        wait_ms=WAIT_MS,
        lease_ms=60_000,
        billing=BillingMode.PAY_PER_REQUEST,
        read_capacity=20,
        write_capacity=10,
        creation_ms=120_000,
    )
    named = {**asked, f"{prefix}partition_key": "other", f"{prefix}region": "us-west-2"}
    found = choose_lock({**named, "hoodie.write.lock.wait_time_ms": "5"}, LocalStorage(), "/t/.hoodie").settings
    assert isinstance(found, DynamoSettings)
    assert (found.key, found.region, found.lease_ms) == ("other", "us-west-2", 3000)


def test_a_lock_in_dynamodb_needs_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.core.locks.choose.find_spec", lambda name: name)
    with pytest.raises(ConfigError, match=r"dynamodb.table is missing, which the lock in DynamoDB needs"):
        choose_lock(provider(DYNAMO), LocalStorage(), "/t/.hoodie")


def test_a_port_that_the_url_has_is_accepted() -> None:
    asked = {**provider(ZOOKEEPER), **AT, "hoodie.write.lock.zookeeper.port": "2181"}
    for url in ("zk:2181", "zk", "a:2180,b/hudi"):
        choose_lock({**asked, "hoodie.write.lock.zookeeper.url": url}, LocalStorage(), "/t/.hoodie")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [(ZOOKEEPER, "kazoo", "zookeeper"), (HIVE, "pymetastore", "hive"), (DYNAMO, "boto3", "dynamodb")],
)
def test_a_package_that_is_missing_is_one_line_that_names_its_extra(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_jobs.core.locks.choose.find_spec", lambda name: None)
    said = rf"{name} can't be taken without the package {package}: pip install 'pyhudi\[{extra}\]'"
    with pytest.raises(ConfigError, match=said):
        choose_lock(provider(name), LocalStorage(), "/t/.hoodie")


def test_nothing_is_written_under_a_lock_that_is_not_taken(root: Folder) -> None:
    table = new_table(root / "t")
    before = sorted(root.rglob("*"))
    with pytest.raises(ConfigError, match=r"is a lock in ZooKeeper .*, and this release does not take it"):
        begin(table.transaction_settings({**OPTIMISTIC, **provider(IMPLICIT)}), Action.COMMIT)
    assert sorted(root.rglob("*")) == before
    assert (root / "t").table().timeline.instants == ()


@pytest.mark.parametrize(
    ("name", "is_"),
    [
        (f"{PACKAGE}.ZookeeperBasedImplicitBasePathLockProvider", "is a lock in ZooKeeper"),
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
    kind, file = (FileLock, "lock") if root.has_folders else (StorageLock, ".locks/table_lock.json")
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
    if root.has_folders:
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
