"""The idempotency key on the timeline: found while active, while archived, and on the way between the two."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, CommitMetadata
from spark_jobs.core.transaction.transaction import TransactionSettings, begin
from spark_jobs.write.once import completed_write, is_free, running_write, settle
from tests.support.folder import Folder
from tests.unit.core.support import HandClock, new_table
from tests.unit.core.timeline.lines import Line, time

pytestmark = pytest.mark.unit


def test_a_key_is_found_wherever_its_write_stands(root: Folder) -> None:
    line = Line(root)
    done = [line.commit(number, key=f"key-{number}") for number in (1, 2, 3)]
    stale = line.load()
    archive(line.load(), str(root), done[:2])
    for timeline in (line.load(), stale):  # one was listed before its instants were archived
        for number in (1, 2, 3):
            found = completed_write(timeline, f"key-{number}", HandClock())
            assert found is not None
            assert (found[0].timestamp, found[1].idempotency_key) == (time(number), f"key-{number}")
        assert completed_write(timeline, "key", HandClock()) is None


def test_one_that_was_taken_back_after_an_archival_that_broke_off_is_to_be_done_again(root: Folder) -> None:
    """Its instants were in the archive and on the timeline still."""
    line = Line(root)
    done = [line.commit(number, key=f"key-{number}") for number in (8, 9)]
    archive(line.load(), str(root), done)
    assert completed_write(line.load(), "key-9", HandClock()) is not None
    rollback = line.rollback(100)  # of 9
    assert completed_write(line.load(), "key-9", HandClock()) is None
    assert completed_write(line.load(), "key-8", HandClock()) is not None
    archive(line.load(), str(root), [rollback])
    assert completed_write(line.load(), "key-9", HandClock()) is None


@pytest.fixture
def settings(root: Folder) -> TransactionSettings:
    return new_table(root / "t", clock=HandClock(moment=datetime.now(UTC))).transaction_settings({})


def test_a_write_under_way_is_found_by_its_key(settings: TransactionSettings) -> None:
    running = begin(settings, Action.COMMIT, idempotency_key="key")
    assert running is not None
    timeline = settings.load_timeline()
    assert running_write(settings, timeline, "key") == running.instant
    assert running_write(settings, timeline, "another") is None
    assert [is_free(settings, timeline, key) for key in ("key", "another")] == [False, True]


def test_a_retry_waits_for_the_try_that_is_running(settings: TransactionSettings) -> None:
    running = begin(settings, Action.COMMIT, idempotency_key="key")
    assert running is not None
    running.to_inflight()
    done: list[Instant] = []

    def complete() -> None:
        if not done:
            payload = CommitMetadata(extra_metadata={IDEMPOTENCY_KEY: "key"}).payload()
            done.append(running.publish(payload, written=frozenset()))

    clock, notes = settings.clock, list[str]()
    assert isinstance(clock, HandClock)
    clock.on_sleep = complete
    found = settle(settings, "key", notes.append)
    assert found is not None
    assert (found[0], found[1].idempotency_key) == (done[0], "key")
    said = f"another process writes under this idempotency key (instant {running.time}); waiting for it"
    assert notes == [said]
