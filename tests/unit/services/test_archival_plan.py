"""How many commits an archival leaves, and what it names where something is in the way: literal timelines."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.services.archival.plan import ArchivalPlan, Bound, Keep, TimelineFacts, plan_archival, why_nothing

pytestmark = pytest.mark.unit

KEYS = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "5"}
KEEP = Keep(least=3, most=5)


def line(text: str) -> tuple[Instant, ...]:
    """A letter and a digit for each: Commit, cLean, Rollback, Savepoint; a small ``w`` is a pending write."""
    kinds = {"C": Action.COMMIT, "L": Action.CLEAN, "R": Action.ROLLBACK, "S": Action.SAVEPOINT, "w": Action.COMMIT}
    found = [
        Instant(word[1:], kinds[word[0]], State.INFLIGHT if word[0] == "w" else State.COMPLETED)
        for word in text.split()
    ]
    return tuple(sorted(found, key=lambda one: (one.timestamp, one.action.value)))


SIX = "C1 C2 C3 C4 C5 C6"


@pytest.mark.parametrize(
    ("retained_from", "expected"),
    [
        (None, Keep(least=3, most=5)),
        ("7", Keep(least=3, most=5)),  # one commit is later: three stay in any case
        ("4", Keep(least=6, most=8, raised_for="4")),  # Hudi: the commits after it, and two
    ],
)
def test_what_cleaning_retains_raises_what_archival_leaves(retained_from: str | None, expected: Keep) -> None:
    assert Keep.of(KEYS, list("12345678"), retained_from) == expected


@pytest.mark.parametrize(
    ("instants", "bounds", "gone", "held_by"),
    [
        ("C1 C2 C3 C4 C5", (), "", None),
        (SIX, (), "123", None),
        (SIX, (Bound(before="3", why="the clean"),), "12", "the clean"),
        (SIX, (Bound(before="9", why="the clean"),), "123", None),
        (SIX, (Bound(before="", why="metadata", for_all=True),), "", "metadata"),
        ("w0 " + SIX, (), "", "0 commit (inflight), which is pending"),
        ("C1 C2 w3 C4 C5 C6 C7", (), "1", "3 commit (inflight), which is pending"),
        (SIX + " S2", (), "1", "savepoint 2"),
        (SIX + " S2", (Bound(before="3", why="the clean"),), "1", "savepoint 2"),
        ("L1 L2 L3 L4 L5 L6 C7", (), "123", None),
        ("L1 L2 L3 L4 L5 L6 C7", (Bound(before="0", why="a need of commits"),), "123", None),
        ("L1 L2 L3 L4 L5 L6 C7", (Bound(before="2", why="metadata", for_all=True),), "1", "metadata"),
    ],
)
def test_what_goes_and_what_holds_the_rest(
    instants: str, bounds: tuple[Bound, ...], gone: str, held_by: str | None
) -> None:
    chosen, held = plan_archival(TimelineFacts(instants=line(instants), bounds=bounds), KEEP)
    assert "".join(one.timestamp for one in chosen) == gone
    assert (held.why if held else None) == held_by


def test_beyond_savepoints_only_what_is_saved_stays() -> None:
    facts = TimelineFacts(instants=line(SIX + " S2"), bounds=(), beyond_savepoints=True)
    chosen, held = plan_archival(facts, KEEP)
    assert ([one.timestamp for one in chosen], held) == (["1", "3"], None)


def test_the_reason_has_the_numbers_and_the_blocker() -> None:
    few = TimelineFacts(instants=line("C1 C2 L3"), bounds=())
    assert why_nothing(few, KEEP, None).reason == (
        "2 completed commit(s), 1 clean(s); more than 5 (hoodie.keep.max.commits) of one kind make it due"
    )
    raised = Keep(least=6, most=8, raised_for="4")
    assert "more than 8 (since cleaning retains from 4) of one kind" in why_nothing(few, raised, None).reason
    back = Keep.of({}, [f"{one:03}" for one in range(60)], "004", "005 commit (inflight)")
    assert "(since cleaning retains from 004, held back by 005 commit (inflight), which is pending)" in (
        why_nothing(few, back, None).reason
    )
    assert ArchivalPlan(instants=(), keep=back).blocker == "005 commit (inflight), which is pending"
    held = TimelineFacts(instants=line("w0 " + SIX), bounds=())
    _, bound = plan_archival(held, KEEP)
    assert why_nothing(held, KEEP, bound).reason == (
        "6 completed commit(s); 3 of one kind are to stay, but 0 commit (inflight), which is pending keeps "
        "all from 0 on"
    )
