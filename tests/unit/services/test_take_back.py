"""A table that was made for a write that failed goes again, unless somebody uses it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from spark_jobs.core.errors import TableNotFoundError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.locks.storage_lock import TABLE_LOCK
from spark_jobs.core.transaction.transaction import TransactionSettings, begin
from spark_jobs.services.rollback.failed_writes import undo
from spark_jobs.services.rollback.new_table import take_back_table
from tests.support.folder import Folder
from tests.unit.core.support import HandClock, MortalStorage, new_table
from tests.unit.services.dead_writes import dies, write

pytestmark = pytest.mark.unit


def after_a_failed_write(path: Folder) -> TransactionSettings:
    table = new_table(path, clock=HandClock(moment=datetime.now(UTC)))
    settings = table.transaction_settings({"hoodie.write.lock.wait_time_ms": "500"})
    transaction = begin(settings, Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    write(table, transaction.time, "g", ("a", 1, "never"))
    transaction.abandon()
    undo(settings, transaction.time, lambda line: None)
    assert [one.action for one in settings.load_timeline().instants] == [Action.ROLLBACK]
    return settings


def silent(line: str) -> None:
    raise AssertionError(line)


def left_of(folder: Folder) -> set[str]:
    """Names of files; on a store of objects the lock says that nobody holds it, and stays."""
    return {path.name for path in folder.walk() if not path.url.endswith(TABLE_LOCK)}


def test_nothing_is_left_of_it(root: Folder) -> None:
    take_back_table(after_a_failed_write(root / "t"), silent)
    assert left_of(root / "t") == set()
    assert not (root.is_local and (root / "t").exists())


def test_files_of_others_stay(root: Folder) -> None:
    settings = after_a_failed_write(root / "t")
    (root / "t" / "notes.txt").touch()
    (root / "t" / "p" / "other.csv").touch()
    take_back_table(settings, silent)
    assert left_of(root / "t") == {
        "notes.txt",
        "other.csv",
        ".hoodie_partition_metadata",
    }


def test_a_table_that_another_writer_began_with_stays(root: Folder) -> None:
    settings = after_a_failed_write(root / "t")
    other = begin(settings, Action.DELTA_COMMIT)
    assert other is not None
    take_back_table(settings, silent)
    assert (root / "t").table().timeline.find(other.time)
    other.abandon()


def test_who_opened_it_before_does_not_begin_on_what_is_gone(root: Folder) -> None:
    settings = after_a_failed_write(root / "t")
    take_back_table(settings, silent)
    with pytest.raises(TableNotFoundError, match=r"was removed meanwhile.*run it again"):
        begin(settings, Action.DELTA_COMMIT)


def test_a_death_on_the_way_leaves_an_empty_table_or_none(root: Folder) -> None:
    deaths = 0
    while True:
        path = root / str(deaths)
        after_a_failed_write(path)
        mortal = replace(path.table(), storage=MortalStorage(deaths, path.storage)).transaction_settings({})
        if not dies(lambda mortal=mortal: take_back_table(mortal, silent)):  # type: ignore[misc]
            break
        if (path / ".hoodie" / "hoodie.properties").exists():
            assert path.table().timeline.completed_commits() == ()
        else:
            new_table(path)
        deaths += 1
        assert deaths < 60
    assert deaths > 5
