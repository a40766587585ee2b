"""Files that can hold a key, by literal tables."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.index.ranges import KeyRange, candidates, overlapping

pytestmark = pytest.mark.unit


def pairs(keys: list[str], ranges: list[KeyRange]) -> set[tuple[int, str]]:
    files, places = candidates(pa.array(keys, pa.string()), ranges)
    found = [(int(number), keys[int(place)]) for number, place in zip(files, places, strict=True)]
    assert len(found) == len(set(found)), "no pair comes twice"
    return set(found)


def test_bounds_are_inclusive() -> None:
    ranges = [KeyRange(1, "b", "d"), KeyRange(2, "d", "f"), KeyRange(3, "x", "z")]
    assert pairs(["a", "b", "c", "d", "g", "z"], ranges) == {(1, "b"), (1, "c"), (1, "d"), (2, "d"), (3, "z")}


def test_a_file_without_a_range_can_hold_all() -> None:
    assert pairs(["a", "b"], [KeyRange(5), KeyRange(6, "b", "b")]) == {(5, "a"), (5, "b"), (6, "b")}


def test_keys_whose_order_depends_on_the_encoding_are_looked_for_everywhere() -> None:
    """U+FFFD comes after U+1F600 for Java, and before it as UTF-8."""
    ranges = [KeyRange(1, "a", "b"), KeyRange(2, "y", "z")]
    assert pairs(["\ufffd", "😀", "a"], ranges) == {(1, "\ufffd"), (2, "\ufffd"), (1, "😀"), (2, "😀"), (1, "a")}


def test_nothing_in_nothing_out() -> None:
    assert pairs([], [KeyRange(1, "a", "b")]) == set()
    assert pairs(["a"], []) == set()


_TEXTS = st.text(alphabet="ab日é\ue000😀", max_size=3)


@given(st.lists(_TEXTS, unique=True, max_size=8), st.lists(st.lists(_TEXTS, min_size=1), max_size=5), st.booleans())
def test_no_file_that_holds_a_key_is_left_out(keys: list[str], files: list[list[str]], java: bool) -> None:
    order = (lambda text: text.encode("utf-16-be")) if java else (lambda text: text.encode())
    ranges = [KeyRange(number, min(some, key=order), max(some, key=order)) for number, some in enumerate(files)]
    found = pairs(keys, ranges)
    assert {(number, key) for number, some in enumerate(files) for key in some if key in keys} <= found


def test_how_far_ranges_overlap() -> None:
    assert overlapping([]) == 0.0
    assert overlapping([KeyRange(1), KeyRange(2)]) == 1.0
    assert overlapping([KeyRange(1, "a", "b"), KeyRange(2, "c", "d")]) == 0.5
    assert overlapping([KeyRange(1, "a", "d"), KeyRange(2, "a", "d")]) == 1.0
