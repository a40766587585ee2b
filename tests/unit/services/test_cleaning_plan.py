"""Which files a clean removes: literal tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.core.config.keys.clean import CleaningPolicy
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.view.file_slice import FileGroup
from spark_jobs.services.cleaning.plan import (
    CleanPlan,
    CleanSettings,
    earliest_retained,
    earliest_since,
    plan_cleaning,
)
from spark_jobs.services.cleaning.reasons import held_back_by
from tests.support.payloads import stored
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit


def commits(times: str) -> list[Instant]:
    return [Instant(time, Action.COMMIT, State.COMPLETED) for time in times]


@pytest.mark.parametrize(
    ("completed", "pending", "retained", "expected"),
    [
        ("123", "", 3, None),
        ("1234", "", 3, "2"),
        ("123456", "", 3, "4"),
        ("123456", "", 1, "6"),
        ("12456", "3", 2, "2"),  # never past a pending write
        ("12456", "3", 4, "2"),
        ("23456", "1", 2, None),
        ("12456", "9", 2, "5"),
    ],
)
def test_earliest_retained(completed: str, pending: str, retained: int, expected: str | None) -> None:
    found = earliest_retained(commits(completed), list(pending), retained)
    assert (found.timestamp if found else None) == expected


def group(
    file_id: str,
    times: str,
    *,
    partition: str = "a",
    logs: int = 0,
    pending: str | None = None,
    replaced: str | None = None,
) -> FileGroup:
    """A group with a base file of each time, and so many logs on each."""
    slices = tuple(file_slice(file_id, time, 10, *[1] * logs, partition=partition) for time in reversed(times))
    return FileGroup(
        partition=partition, file_id=file_id, slices=slices, pending_compaction=pending, replaced_at=replaced
    )


def clean(
    *groups: FileGroup,
    retained: int,
    completed: str = "12345",
    pending: str = "",
    by: CleaningPolicy = CleaningPolicy.KEEP_LATEST_COMMITS,
    protected: frozenset[str] = frozenset(),
) -> CleanPlan:
    return plan_cleaning(
        groups,
        CleanSettings(policy=by, retained=retained),
        completed=commits(completed),
        pending=list(pending),
        protected=protected,
    )


def removed(plan: CleanPlan) -> dict[str, list[str]]:
    """Base instants of the base files that go, by partition."""
    return {
        partition: [name.split("_")[-1].split(".")[0] for name, _ in names if not name.startswith(".")]
        for partition, names in plan.deletions.items()
    }


@pytest.mark.parametrize(
    ("given", "retained", "expected"),
    [
        (group("g", "12345"), 5, []),
        (
            group("g", "12345"),
            4,
            [],
        ),  # retained is 2: its readers need the slice of 1 no more, but it is the one before
        (group("g", "12345"), 3, ["1"]),
        (group("g", "12345"), 1, ["1", "2", "3"]),
        (group("g", "1"), 1, []),  # the only slice stays, however old
        (group("g", "12"), 1, ["1"]),
        (group("g", "135"), 2, ["1"]),
        (group("g", "13", replaced="4"), 2, ["1"]),  # replaced in the retained range: still read as of 3
        (group("g", "13", replaced="4"), 1, ["1", "3"]),
        (group("g", "123", pending="4"), 1, ["1", "2"]),  # the slice under a pending compaction stays
        (group("g", "12345", pending="3"), 1, ["1"]),
    ],
)
def test_by_commits(given: FileGroup, retained: int, expected: list[str]) -> None:
    assert removed(clean(given, retained=retained)).get("a", []) == expected


@pytest.mark.parametrize(
    ("given", "retained", "expected"),
    [
        (group("g", "12345"), 5, []),
        (group("g", "12345"), 3, ["1", "2"]),
        (group("g", "12345"), 1, ["1", "2", "3", "4"]),
        (group("g", "12", replaced="3"), 2, ["1", "2"]),
        (group("g", "123", pending="4"), 3, []),  # the pending compaction counts for one, 2 and 1 are the others
        (group("g", "1234", pending="5"), 3, ["1"]),
        (group("g", "12345", pending="5"), 3, ["1"]),  # with logs for the slice that the compaction will make
        (group("g", "123", pending="4"), 1, ["1", "2"]),
        (group("g", "123", pending="2"), 1, []),
    ],
)
def test_by_versions(given: FileGroup, retained: int, expected: list[str]) -> None:
    plan = clean(given, retained=retained, by=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS)
    assert removed(plan).get("a", []) == expected
    assert plan.retain_from is None


def test_logs_go_with_their_slice() -> None:
    plan = clean(group("g", "145", logs=2), group("h", "1"), retained=1)
    assert [name for name, _ in plan.deletions["a"]] == [
        ".g_1.log.1_0-1-1",
        ".g_1.log.2_0-1-1",
        "g_0-1-1_1.parquet",
    ]
    assert (plan.files, plan.bytes, plan.last_completed) == (3, 12, "5")


def test_a_slice_with_a_file_of_a_savepoint_stays_whole() -> None:
    plan = clean(group("g", "12345", logs=1), retained=1, protected=frozenset({"g_0-1-1_2.parquet"}))
    assert removed(plan) == {"a": ["1", "3"]}


def test_a_pending_write_holds_everything_from_before_it() -> None:
    plan = clean(group("g", "12345"), retained=1, completed="1245", pending="3")
    assert plan.retain_from == commits("2")[0]
    assert plan.files == 0


def test_a_partition_that_keeps_nothing_goes_unless_it_is_the_table() -> None:
    gone = [group("g", "12", partition=partition, replaced="3") for partition in ("", "p", "q")]
    plan = clean(*gone, group("h", "3", partition="q"), retained=1)
    assert plan.empty_partitions == ("p",)
    assert set(plan.deletions) == {"", "p", "q"}


def test_the_plan_survives_the_timeline() -> None:
    plan = clean(group("g", "12345"), retained=2)
    raw = decode_payload(stored(plan.requested().payload("/lake/t")), "x")
    assert raw["earliestInstantToRetain"] == {"timestamp": "4", "action": "commit", "state": "COMPLETED"}
    assert [one["filePath"] for one in raw["filePathsToBeDeletedPerPartition"]["a"]] == [
        "/lake/t/a/g_0-1-1_1.parquet",
        "/lake/t/a/g_0-1-1_2.parquet",
    ]
    assert plan.to_json() == {
        "policy": "KEEP_LATEST_COMMITS",
        "retain_from": "4",
        "deletions": {"a": ["g_0-1-1_1.parquet", "g_0-1-1_2.parquet"]},
        "bytes": {"a": 20},
        "empty_partitions": [],
    }
    again = CleanPlan.of(RequestedClean.of(raw), lambda path: 10)
    assert (again.facts, again.retain_from, again.last_completed) == (plan.facts, plan.retain_from, "5")


@pytest.mark.parametrize(
    ("completed", "pending", "since", "expected"),
    [
        ("12345", "", "3", "3"),
        ("12345", "", "0", "1"),
        ("12345", "", "6", None),  # nothing is as young: everything stays
        ("1245", "3", "4", "2"),  # never past a pending write
        ("1245", "3", "2", "2"),
        ("245", "1", "4", None),
    ],
)
def test_earliest_since(completed: str, pending: str, since: str, expected: str | None) -> None:
    found = earliest_since(commits(completed), list(pending), since)
    assert (found.timestamp if found else None) == expected


def test_by_hours_the_slice_that_the_first_retained_commit_reads_stays() -> None:
    plan = plan_cleaning(
        [group("g", "12345")],
        CleanSettings(policy=CleaningPolicy.KEEP_LATEST_BY_HOURS, retained=2, since="4"),
        completed=commits("12345"),
        pending=[],
        protected=frozenset(),
    )
    assert plan.retain_from == commits("4")[0]
    assert [name for name, _ in plan.deletions["a"]] == ["g_0-1-1_1.parquet", "g_0-1-1_2.parquet"]


def test_files_that_only_a_savepoint_keeps_are_counted() -> None:
    plan = clean(group("g", "12345"), retained=2, protected=frozenset({"g_0-1-1_2.parquet"}))
    assert (plan.files, plan.held) == (1, 1)


@pytest.mark.parametrize(("pending", "says"), [("3", "the pending instant 3 commit (inflight)"), ("", None)])
def test_a_write_that_ended_since_the_plan_was_made_holds_nothing_back(pending: str, says: str | None) -> None:
    plan = clean(group("f", "12456"), retained=2, completed="12456", pending="3")
    writes = tuple(Instant(time, Action.COMMIT, State.INFLIGHT) for time in pending)
    timeline = SimpleNamespace(completed_commits=lambda: tuple(commits("12456")), pending_writes=lambda: writes)
    table: Any = SimpleNamespace(timeline=timeline)
    assert held_back_by(table, plan) == says
