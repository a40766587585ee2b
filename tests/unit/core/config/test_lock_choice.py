"""Which locks of other writers are refused, before anything is written, and which are accepted with a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.config.lock_choice import lock_notes, writer_warnings
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.instant import Action
from spark_jobs.core.transaction.transaction import begin
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
        ConfigError, match=rf"{name} is a lock .*FileSystemBasedLockProvider; or, .*single_writer"
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


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="give one of single_writer, optimistic_concurrency_control"):
        lock_notes({"hoodie.write.concurrency.mode": "NBCC", **provider(ZOOKEEPER)})


def test_nothing_is_written_under_a_lock_that_is_not_taken(tmp_path: Path) -> None:
    table = new_table(str(tmp_path / "t"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match="does not take"):
        begin(table.transaction_settings({**OPTIMISTIC, **provider(ZOOKEEPER)}), Action.COMMIT)
    assert sorted(tmp_path.rglob("*")) == before
    assert HudiTable.open(str(tmp_path / "t")).timeline.instants == ()
