"""Progress of work that is done in pieces of several items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def reported_by_items(pieces: Sequence[Sequence[Any]], advance: Callable[[int], Any]) -> Callable[[int], None]:
    """What an engine is to call for ended pieces: it advances by as many items, by all at the end, and on the way by
    about those that are done, since the engine does not say which pieces they were in.
    """
    items, ended, reported = sum(map(len, pieces)), 0, 0

    def report(steps: int) -> None:
        nonlocal ended, reported
        ended += steps
        done = items * ended // len(pieces)
        advance(done - reported)
        reported = done

    return report
