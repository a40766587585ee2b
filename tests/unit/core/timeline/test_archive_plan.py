"""Which instants may go to the archive, by literal timelines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import WRITES, Action, Instant, State
from spark_jobs.core.timeline.archive_plan import ArchiveLimits, instants_to_archive

pytestmark = pytest.mark.unit

LETTERS = {
    "c": Action.COMMIT,
    "d": Action.DELTA_COMMIT,
    "r": Action.REPLACE_COMMIT,
    "k": Action.CLEAN,
    "b": Action.ROLLBACK,
    "s": Action.SAVEPOINT,
    "m": Action.COMPACTION,
    "x": Action.RESTORE,
    "i": Action.INDEXING,
}


def line(text: str) -> list[Instant]:
    """``c1 d2? s1``: an action's letter, a time, and a question mark while it is pending."""
    out = []
    for word in text.split():
        state = State.INFLIGHT if word.endswith("?") else State.COMPLETED
        out.append(Instant(word[1:].rstrip("?").zfill(2), LETTERS[word[0]], state))
    return sorted(out, key=lambda one: (one.timestamp, one.action.value))


def gone(text: str, keep: tuple[int, int] = (2, 3), **more: Any) -> str:
    limits = ArchiveLimits(keep_min=keep[0], keep_max=keep[1], **more)
    letters = {action: letter for letter, action in LETTERS.items()}
    return " ".join(f"{letters[one.action]}{int(one.timestamp)}" for one in instants_to_archive(line(text), limits))


@pytest.mark.parametrize(
    ("timeline", "expected"),
    [
        ("", ""),
        ("c1 c2 c3", ""),
        ("c1 c2 c3 c4", "c1 c2"),
        ("c1 d2 r3 c4 c5", "c1 d2 r3"),
        # cleans and rollbacks are counted each for themselves, and go first
        ("k1 k2 k3 k4 b1 b2 b3 b4 c5 c6 c7", "b1 b2 k1 k2"),
        ("k2 k3 k4 b2 b3 b4 c1 c5 c6 c7 c8", "c1 c5 c6"),
        # nothing from the first savepoint on
        ("c1 c2 c3 c4 c5 s2", "c1"),
        ("c1 c2 c3 c4 c5 s1", ""),
        # the commit before the oldest pending write stays, or that write bounds all
        ("c1 c2 m3? c4 c5 c6", "c1"),
        ("m1? c2 c3 c4 c5", ""),
        ("c1 c2 c3 c4 c6 d5?", "c1 c2 c3"),
        # a pending clean does not count, restores and indexing stay
        ("x1 i2 c3 c4 c5 c6 k1?", "c3 c4"),
    ],
)
def test_what_may_go(timeline: str, expected: str) -> None:
    assert gone(timeline) == expected


def test_bounds_of_the_caller() -> None:
    timeline = "k1 k2 k3 k4 c1 c2 c3 c4 c5 c6"
    assert gone(timeline) == "k1 k2 c1 c2 c3 c4"
    assert gone(timeline, commits_before=("03", "05")) == "k1 k2 c1 c2"
    assert gone(timeline, all_before=("02",)) == "k1 c1"


def test_beyond_savepoints_only_the_saved_commits_stay() -> None:
    assert gone("c1 c2 c3 c4 c5 s2", beyond_savepoints=True) == "c1 c3"


def test_the_newest_commits_stay_however_many_are_saved() -> None:
    """Without the last commit on the timeline nobody sees its rows."""
    assert gone("c1 c2 c3 c4 c5 s1 s2 s3", beyond_savepoints=True) == ""


@pytest.mark.parametrize("keep", [(0, 3), (3, 3), (4, 3)])
def test_limits_that_make_no_sense(keep: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="is not below"):
        gone("c1", keep)


WORDS = st.lists(
    st.tuples(st.sampled_from("cdrkbm"), st.integers(1, 40), st.sampled_from(["", "?"])),
    unique_by=lambda word: word[1],
    max_size=25,
)


@given(WORDS, st.integers(1, 4))
def test_no_gap_is_left(words: list[tuple[str, int, str]], keep_min: int) -> None:
    """Invariant 8: completed writes go from the oldest on, none is younger than a pending write, and enough stay."""
    instants = line(" ".join(f"{letter}{number}{mark}" for letter, number, mark in words if letter + mark != "m"))
    chosen = instants_to_archive(instants, ArchiveLimits(keep_min=keep_min, keep_max=keep_min + 1))
    commits = [one for one in instants if one.is_completed and one.action in WRITES]
    gone_commits = [one for one in chosen if one.action in WRITES]
    assert gone_commits == commits[: len(gone_commits)]
    pending = [one.timestamp for one in instants if not one.is_completed and one.action in WRITES]
    assert all(one.timestamp < min(pending, default="99") for one in gone_commits)
    assert not gone_commits or len(commits) - len(gone_commits) >= keep_min
