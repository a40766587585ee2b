"""Looks at many files or slices, none of which needs another: in this process, or as tasks of an engine on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.steps import reported_by_items

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_READ_AHEAD = 16
"""Looks that wait for their turn, for each that is under way."""


@dataclass(frozen=True, slots=True)
class _Several(Generic[Item, Outcome]):
    """One look after the other, or some at a time; runs in a worker, pickles."""

    scan: Callable[[Item], Outcome]
    at_once: int

    def __call__(self, items: Sequence[Item], scope: TaskScope) -> list[Outcome]:
        return list(_here(items, self.scan, self.at_once, lambda steps: None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scans:
    """How a validation looks; ``on_spark`` is what its engine settled for."""

    engine: Engine
    progress: Progress
    on_spark: bool

    def each(
        self,
        items: Sequence[Item],
        scan: Callable[[Item], Outcome],
        sizes: Sequence[int],
        advance: Callable[[int], Any],
        *,
        at_once: int = 1,
        together: int = 1,
        most: int | None = None,
    ) -> Iterator[Outcome]:
        """What each look gives, in the order of the items.

        :param scan: items, looks and what they give pickle.
        :param sizes: bytes that each item reads.
        :param at_once: looks at a time, in threads; on Spark only where ``together`` is more than one.
        :param together: items of one piece of work on Spark.
        :param most: bytes of items whose outcomes Spark brings back together; None for all.
        """
        if not self.on_spark:
            yield from _here(items, scan, at_once, advance)
            return
        starts = range(0, len(items), together)
        pieces = [items[begin : begin + together] for begin in starts]
        lengths = [sum(sizes[begin : begin + together]) for begin in starts]
        work, notify = _Several(scan, at_once if together > 1 else 1), reported_by_items(pieces, advance)
        for begin, end in _waves(lengths, most):
            for found in self.engine.run_each(pieces[begin:end], work, notify, lengths[begin:end]):
                yield from found


def _here(
    items: Sequence[Item], scan: Callable[[Item], Outcome], at_once: int, advance: Callable[[int], Any]
) -> Iterator[Outcome]:
    if at_once == 1:
        for item in items:
            found = scan(item)
            advance(1)
            yield found
        return
    with ThreadPoolExecutor(at_once) as pool:
        for begin in range(0, len(items), _READ_AHEAD * at_once):
            for found in pool.map(scan, items[begin : begin + _READ_AHEAD * at_once]):
                advance(1)
                yield found


def _waves(lengths: Sequence[int], most: int | None) -> Iterator[tuple[int, int]]:
    """Where each run of pieces begins and ends: as many as have no more bytes together, and at least one."""
    begin, held = 0, 0
    for place, length in enumerate(lengths):
        if most is not None and place > begin and held + length > most:
            yield begin, place
            begin, held = place, 0
        held += length
    if begin < len(lengths):
        yield begin, len(lengths)
