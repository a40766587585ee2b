"""What a service asks of a cluster: do this for each of those, and bring back what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from spark_jobs.core.handles.context import TaskScope

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Engine(Protocol):
    """Runs independent pieces of work; each is given an item and the scope of its task, and may run more than once."""

    @property
    def slots(self) -> int:
        """Pieces that run at the same time."""
        ...

    def settle(self, bytes_in: int, calls: int = 0) -> str:
        """Called before anything begins; the name of what will do it: ``local`` or ``spark``.

        :param bytes_in: what the work reads.
        :param calls: short calls to the storage, such as a deletion or a look at a footer.
        """
        ...

    def run_each(
        self,
        items: Sequence[Item],
        work: Callable[[Item, TaskScope], Outcome],
        advance: Callable[[int], Any] = lambda steps: None,
        sizes: Sequence[int] | None = None,
    ) -> list[Outcome]:
        """Outcomes in the order of the items; ``advance`` gets how many more are done. Items, work and outcomes
        pickle.

        :param sizes: bytes that each item reads: small ones may share a task. Without it each has its own.
        """
        ...

    def exchange(
        self,
        items: Sequence[Item],
        split: Callable[[Item], Iterable[tuple[int, pa.RecordBatch]]],
        tasks: int,
        work: Callable[[list[pa.RecordBatch], TaskScope], Outcome],
    ) -> list[Outcome]:
        """What came of each of ``tasks`` tasks that got any rows, in no order. Items, both functions and outcomes
        pickle.

        :param split: the rows of an item by the number of the task that is to have them, from 0; has to give the same
            each time.
        :param work: gets the blocks of its task in the order of the items, and those of one item as ``split`` gave
            them.
        """
        ...
