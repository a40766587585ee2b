"""Questions about the order of instants, and that nothing else compares their texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.format import order
from spark_jobs.core.format.instant import Action, Instant, State, in_order
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage.local import LocalStorage
from spark_jobs.core.timeline.active import ActiveTimeline

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[4]
EARLY, LATE = "20260101000000000", "20260101000000001"
KNOW_THE_ORDER = ("spark_jobs/core/format/", "spark_jobs/core/files/names.py")
TIMES = {
    "timestamp",
    "instant",
    "base_instant",
    "replaced_at",
    "pending_compaction",
    "last_completed",
    "last_time",
    "first_write",
    "unbroken_from",
    "lost_before",
    "holes_until",
    "goal",
    "retained_from",
}
"""How the times of instants are named; ``timestamp()`` is a clock's."""
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EACH = (ast.GeneratorExp, ast.ListComp, ast.SetComp)
SORTING = {"min", "max", "sorted", "bisect", "bisect_left", "bisect_right"}


def comparisons(source: str) -> Iterator[int]:
    """Lines of a module that compare the texts of times, or sort by them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            pairs = zip(node.ops, pairwise([node.left, *node.comparators]), strict=True)
            if any(isinstance(sign, _ORDERS) and any(map(_is_time, pair)) for sign, pair in pairs):
                yield node.lineno
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            keys = [one.value.body for one in node.keywords if isinstance(one.value, ast.Lambda)]
            things = [one.elt if isinstance(one, _EACH) else one for one in node.args]
            asked = chain(keys, things) if name in SORTING else keys if name == "sort" else ()
            if any(map(_is_time, asked)):
                yield node.lineno


def _is_time(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_time(node.value)
    if isinstance(node, ast.Tuple):
        return any(map(_is_time, node.elts))
    if isinstance(node, ast.Attribute) and node.attr == "start":  # others have bytes and rows of that name
        return getattr(node.value, "attr", getattr(node.value, "id", "")) == "timeline"
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) in TIMES


@pytest.mark.parametrize(
    "text",
    [
        "one.timestamp < moment",
        "begin <= one.timestamp",
        "goal < instant < restore",
        "asked < table.timeline.start",
        "max(one.timestamp for one in instants)",
        "sorted(instants, key=lambda one: one.timestamp)",
        "found.sort(key=lambda one: (one.base_instant, one.size))",
        "min([one.base_instant for one in slices])",
    ],
)
def test_a_comparison_of_times_is_seen(text: str) -> None:
    assert list(comparisons(text)) == [1]


@pytest.mark.parametrize(
    "text",
    ["one.timestamp == other.timestamp", "block.start >= self.start", "status.modified_ms < bound.timestamp() * 1000"],
)
def test_what_compares_no_times_is_passed_over(text: str) -> None:
    assert list(comparisons(text)) == []


def test_nothing_but_the_order_compares_times() -> None:
    found = []
    for package in ("spark_jobs", "airflow_provider_pyhudi"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(KNOW_THE_ORDER):
                found += [f"{name}:{line}" for line in comparisons(path.read_text())]
    assert found == [], "ask spark_jobs/core/format/order.py, or the Instant"


def test_questions_of_two_times() -> None:
    assert order.precedes(EARLY, LATE)
    assert not order.precedes(EARLY, EARLY)
    assert not order.precedes(LATE, EARLY)
    assert order.follows(LATE, EARLY)
    assert not order.follows(EARLY, EARLY)
    assert order.is_from(EARLY, EARLY)
    assert order.is_from(LATE, EARLY)
    assert not order.is_from(EARLY, LATE)
    assert order.is_up_to(EARLY, EARLY)
    assert order.is_up_to(LATE, None)
    assert not order.is_up_to(LATE, EARLY)
    assert order.precedes(EARLY[:14], EARLY), "a second comes before its milliseconds"


def test_the_ends_are_beyond_every_time() -> None:
    assert order.precedes(order.BEFORE_ALL, "00000000000000")
    assert order.follows(order.AFTER_ALL, "99999999999999999")


def test_a_range_is_open_at_its_beginning() -> None:
    assert [order.is_in_range(one, EARLY, LATE) for one in (EARLY, LATE, LATE + "1")] == [False, True, False]
    assert [order.is_between(one, EARLY, LATE + "1") for one in (EARLY, LATE, LATE + "1")] == [False, True, False]
    times = pa.array([EARLY, LATE, LATE + "1", None])
    assert order.rows_in_range(times, EARLY, LATE).to_pylist() == [False, True, False, None]
    assert order.rows_in_range(times, EARLY, None).to_pylist() == [False, True, True, None]


def test_the_first_and_the_last_of_some_times() -> None:
    assert (order.earliest([LATE, EARLY]), order.latest([EARLY, LATE])) == (EARLY, LATE)
    assert (order.earliest([], order.AFTER_ALL), order.latest([])) == (order.AFTER_ALL, order.BEFORE_ALL)
    assert order.oldest_first({LATE, EARLY}) == [EARLY, LATE] == order.newest_first([EARLY, LATE])[::-1]
    assert order.by_time([("b", LATE), ("a", EARLY)], lambda one: one[1]) == [("a", EARLY), ("b", LATE)]


def test_an_instant_answers_by_the_time_it_began() -> None:
    one = Instant(LATE, Action.COMMIT, State.COMPLETED)
    assert one.follows(EARLY)
    assert one.is_from(LATE)
    assert not one.precedes(LATE)
    assert one.is_visible_at(None)
    assert one.is_visible_at(LATE)
    assert not one.is_visible_at(EARLY)
    plan = Instant(LATE, Action.CLEAN, State.REQUESTED)
    assert in_order([one, plan]) == [plan, one]


def test_a_timeline_gives_the_commits_on_either_side_of_a_time(tmp_path: Path) -> None:
    for name in (f"{EARLY}.commit", f"{LATE}.commit", f"{LATE}5.inflight"):
        (tmp_path / name).touch()
    timeline = ActiveTimeline.load(LocalStorage(), str(tmp_path), str(tmp_path / "archived"), format=VERSION_6)
    early, late = (Instant(time, Action.COMMIT, State.COMPLETED) for time in (EARLY, LATE))
    assert timeline.commits_after(EARLY) == (late,) == timeline.commits_from(LATE)
    assert timeline.commits_before(LATE) == (early,)
    assert timeline.last_time == f"{LATE}5"
