"""The order of the times of instants, as questions: the one module that compares their texts.

A time is digits, compared as text, so that one of 14 digits comes before those of the same second with 17
(Hudi: InstantComparison). Two texts that no clock makes stand for the ends: nothing precedes :data:`BEFORE_ALL`, and
nothing follows :data:`AFTER_ALL`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import ge, gt, lt
from typing import Any, TypeVar

import pyarrow.compute as pc

T = TypeVar("T")
BEFORE_ALL = ""
AFTER_ALL = "~"
EARLIEST = "000"
"""How the beginning is named where a user may name it, and in checkpoints: a time before every instant's."""

# Those that are asked of each instant of long timelines and listings are the operators themselves: called from C, they
# cost no frame.
precedes: Callable[[str, str], bool] = lt
"""Whether a time is before another."""
follows: Callable[[str, str], bool] = gt
"""Whether a time is after another."""
is_from: Callable[[str, str], bool] = ge
"""Whether a time is not before another: a beginning, inclusive."""


def is_up_to(time: str, end: str | None) -> bool:
    """Whether a time is not after an end (inclusive; None: there is no end)."""
    return end is None or time <= end


def is_between(time: str, begin: str, end: str) -> bool:
    """Whether a time is after ``begin`` and before ``end``, both exclusive."""
    return begin < time < end


def is_in_range(time: str, after: str, until: str | None) -> bool:
    """Whether a query of a range takes a time: ``after`` is exclusive, ``until`` inclusive (None: no end)."""
    return after < time and (until is None or time <= until)


def earliest(times: Iterable[str], default: str = BEFORE_ALL) -> str:
    """The first of some times; ``default`` where there are none."""
    return min(times, default=default)


def latest(times: Iterable[str], default: str = BEFORE_ALL) -> str:
    """The last of some times; ``default`` where there are none."""
    return max(times, default=default)


def oldest_first(times: Iterable[str]) -> list[str]:
    return sorted(times)


def by_time(items: Iterable[T], time_of: Callable[[T], str]) -> list[T]:
    """Items sorted by a time that each has, oldest first."""
    return sorted(items, key=time_of)


def newest_first(times: Iterable[str]) -> list[str]:
    return sorted(times, reverse=True)


def rows_in_range(times: Any, after: str, until: str | None) -> Any:
    """:func:`is_in_range` of each row's time.

    :param times: a column of texts, or a ``pyarrow.compute`` expression of one; the result is of the same kind.
    """
    found = pc.greater(times, after)
    return found if until is None else pc.and_kleene(found, pc.less_equal(times, until))
