"""Instants and their file names, and the times they carry."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import TimelineZone, format_instant, next_instant_time, parse_instant_time
from spark_jobs.core.format.v6.instant_names import file_name_of, parse_instant

pytestmark = pytest.mark.unit

T = "20240102030405678"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{T}.commit", Instant(T, Action.COMMIT, State.COMPLETED)),
        (f"{T}.inflight", Instant(T, Action.COMMIT, State.INFLIGHT)),
        (f"{T}.commit.requested", Instant(T, Action.COMMIT, State.REQUESTED)),
        (f"{T}.deltacommit", Instant(T, Action.DELTA_COMMIT, State.COMPLETED)),
        (f"{T}.deltacommit.inflight", Instant(T, Action.DELTA_COMMIT, State.INFLIGHT)),
        (f"{T}.compaction.requested", Instant(T, Action.COMPACTION, State.REQUESTED)),
        (f"{T}.compaction.inflight", Instant(T, Action.COMPACTION, State.INFLIGHT)),
        (f"{T}.replacecommit.requested", Instant(T, Action.REPLACE_COMMIT, State.REQUESTED)),
        (f"{T}.clean", Instant(T, Action.CLEAN, State.COMPLETED)),
        (f"{T}.rollback.inflight", Instant(T, Action.ROLLBACK, State.INFLIGHT)),
        (f"{T}.savepoint.inflight", Instant(T, Action.SAVEPOINT, State.INFLIGHT)),
        (f"{T}.savepoint", Instant(T, Action.SAVEPOINT, State.COMPLETED)),
        ("20240102030405.commit", Instant("20240102030405", Action.COMMIT, State.COMPLETED)),
    ],
)
def test_names(name: str, expected: Instant) -> None:
    assert parse_instant(name) == expected
    assert file_name_of(expected) == name


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.properties",
        f"{T}.compaction",
        f"{T}.logcompaction",
        f"{T}.savepoint.requested",
        f"{T}.commit.requested.tmp",
        f"{T}.commit.0a-b.tmp",
        f".{T}.commit.crc",
        f"{T}.other",
        f"{T}",
        ".heartbeat",
    ],
)
def test_other_files_are_no_instants(name: str) -> None:
    assert parse_instant(name) is None


@given(st.from_regex(r"\A[0-9]{14}([0-9]{3})?\Z"), st.sampled_from(Action), st.sampled_from(State))
def test_round_trip(timestamp: str, action: Action, state: State) -> None:
    instant = Instant(timestamp, action, State.REQUESTED).at(state)
    if action is Action.SAVEPOINT and state is State.REQUESTED:
        return
    assert parse_instant(file_name_of(instant)) == instant


def test_a_compaction_ends_as_a_commit() -> None:
    assert file_name_of(Instant(T, Action.COMPACTION, State.INFLIGHT).at(State.COMPLETED)) == f"{T}.commit"
    assert file_name_of(Instant(T, Action.LOG_COMPACTION, State.INFLIGHT).at(State.COMPLETED)) == f"{T}.deltacommit"


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_zones() -> None:
    moment = datetime(2024, 7, 1, 23, 30, 0, 4_999, tzinfo=UTC)
    assert format_instant(moment, TimelineZone.UTC) == "20240701233000004"
    assert format_instant(moment, TimelineZone.LOCAL) == "20240702013000004"


@pytest.mark.usefixtures("in_berlin")
def test_instants_grow_through_the_hour_that_comes_twice() -> None:
    last = ""
    for minute in range(0, 180, 20):  # summer time ends at 01:00 UTC
        moment = datetime(2024, 10, 27, minute // 60, minute % 60, tzinfo=UTC)
        following = next_instant_time(moment, TimelineZone.LOCAL, last)
        assert following > last
        last = following


def test_an_instant_of_14_digits_is_the_end_of_its_second() -> None:
    assert parse_instant_time("20240102030405") == datetime(2024, 1, 2, 3, 4, 5, 999_000)
    assert parse_instant_time("20240102030405006") == datetime(2024, 1, 2, 3, 4, 5, 6_000)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("", "20240506070809123"),
        ("20240506070809122", "20240506070809123"),
        ("20240506070809123", "20240506070809124"),
        ("20240506070809999", "20240506070810000"),
        ("20991231235959999", "21000101000000000"),
        ("20240506070810", "20240506070811000"),
        ("00000000000000", "20240506070809123"),
    ],
)
def test_the_next_instant_is_greater_than_the_last(after: str, expected: str) -> None:
    assert next_instant_time(datetime(2024, 5, 6, 7, 8, 9, 123_456, tzinfo=UTC), TimelineZone.UTC, after) == expected


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
)
def test_instants_strictly_increase_whatever_the_clocks_say(here: datetime, there: datetime) -> None:
    first = next_instant_time(here, TimelineZone.UTC, "")
    second = next_instant_time(there, TimelineZone.UTC, first)
    assert second > first
    assert len(second) == 17
