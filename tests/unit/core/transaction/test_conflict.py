"""Which other instants a writer must look at, and what a conflict is."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.known import VERSION_6
from spark_jobs.core.format.v6.instant_names import file_name_of, parse_instant
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive.known import archive_of
from spark_jobs.core.timeline.archived_writes import ArchivedWrites
from spark_jobs.core.transaction.conflict import Baseline, candidates, find_conflict

pytestmark = pytest.mark.unit


def timeline(*names: str) -> ActiveTimeline:
    instants = tuple(instant for name in names if (instant := parse_instant(name)) is not None)
    assert len(instants) == len(names)
    archive = ArchivedWrites(archive_of(VERSION_6, LocalStorage(), "/nowhere").form, LocalStorage(), ("", ""), ())
    return ActiveTimeline(
        LocalStorage(), "/nowhere", instants, dict.fromkeys(instants, 0), "/nowhere", archive, VERSION_6
    )


OWN = parse_instant("5.deltacommit.inflight")
assert OWN is not None


def test_what_a_writer_saw_when_it_began() -> None:
    begun = timeline("1.commit", "2.deltacommit.inflight", "3.deltacommit", "4.clean", "4.compaction.requested")
    assert Baseline.of(begun) == Baseline(frozenset({"1", "3"}), frozenset({"2", "4"}))
    assert Baseline.of(timeline()) == Baseline(frozenset(), frozenset())


@pytest.mark.parametrize(
    ("other", "counts"),
    [
        ("1.commit", False),  # completed before the writer began
        ("3.deltacommit", False),
        ("2.deltacommit", True),  # was pending then, is completed now
        ("0.deltacommit", True),  # Hudi drew its time before 1 and 3 were completed, and requested it later
        ("2.deltacommit.inflight", False),  # still pending: the later of the two finds the conflict
        ("6.deltacommit", True),
        ("6.deltacommit.inflight", False),
        ("4.commit", True),  # the compaction that was pending then
        ("4.compaction.requested", False),
        ("6.compaction.requested", True),
        ("6.compaction.inflight", True),
        ("6.replacecommit.requested", True),
        ("2.replacecommit.requested", True),  # a clustering planned before, which the write would be lost to
        ("4.replacecommit.inflight", True),
        ("6.replacecommit", True),
        ("6.clean", False),
        ("6.rollback", False),
    ],
)
def test_candidates(other: str, counts: bool) -> None:
    assert OWN is not None
    now = timeline(other, "5.deltacommit.inflight")
    found = candidates(now, OWN, Baseline(frozenset({"1", "3"}), frozenset({"2", "4"})))
    assert [file_name_of(one) for one in found] == ([other] if counts else [])


def test_a_clustering_that_yields_looks_at_writes_under_way() -> None:
    own = parse_instant("4.replacecommit.inflight")
    assert own is not None
    now = timeline("3.deltacommit.inflight", "5.deltacommit.inflight", "6.deltacommit.requested", "7.clean.inflight")
    assert candidates(now, own, Baseline(frozenset({"2"}), frozenset())) == ()
    found = candidates(now, own, Baseline(frozenset({"2"}), frozenset()), yields_to_writes=True)
    assert [one.timestamp for one in found] == ["3", "5"]


def test_for_a_clustering_plan_all_counts_that_completed_after_it() -> None:
    own = parse_instant("4.replacecommit.requested")
    assert own is not None
    now = timeline("1.commit", "3.commit", "5.deltacommit", "6.rollback")
    baseline = Baseline.of(now)
    assert baseline.rollbacks == {"6"}
    assert candidates(now, own, baseline) == ()
    assert [one.timestamp for one in candidates(now, own, baseline.since(own, now))] == ["5"]


def conflict(others: dict[str, set[str]], touched: set[str], compactions: set[str] = frozenset()) -> str | None:  # type: ignore[assignment]
    assert OWN is not None
    instants = [one for name in others if (one := parse_instant(name)) is not None]

    def groups(other: Instant) -> frozenset[tuple[str, str]]:
        return frozenset(("p", name) for name in others[file_name_of(other)])

    found = find_conflict(
        instants,
        OWN,
        frozenset(("p", name) for name in touched),
        groups,
        lambda other: file_name_of(other) in compactions,
    )
    return None if found is None else f"{file_name_of(found[0])} {sorted(file_id for _, file_id in found[1])}"


def test_a_common_file_group_is_a_conflict() -> None:
    assert conflict({"6.deltacommit": {"a", "b"}}, {"b", "c"}) == "6.deltacommit ['b']"
    assert conflict({"6.deltacommit": {"a"}, "7.deltacommit": {"c"}}, {"b", "c"}) == "7.deltacommit ['c']"
    assert conflict({"6.deltacommit": {"a"}}, {"b"}) is None
    assert conflict({}, {"b"}) is None


def test_an_older_compaction_is_none_and_a_younger_one_is() -> None:
    assert conflict({"4.commit": {"a"}}, {"a"}, {"4.commit"}) is None
    assert conflict({"4.commit": {"a"}}, {"a"}) == "4.commit ['a']"
    younger = "6.compaction.requested"
    assert conflict({younger: {"a"}}, {"a"}, {younger}) == f"{younger} ['a']"
