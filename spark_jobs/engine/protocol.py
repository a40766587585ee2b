"""What a service asks of a cluster: do this for each of those, and bring back what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from spark_jobs.core.handles.context import TaskScope

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Engine(Protocol):
    """Runs independent pieces of work; each is given an item and the scope of its task, and may run more than once."""

    def run_each(
        self,
        items: Sequence[Item],
        work: Callable[[Item, TaskScope], Outcome],
        advance: Callable[[int], Any] = lambda steps: None,
    ) -> list[Outcome]:
        """Outcomes in the order of the items; ``advance`` is told how many more are done. Items, work and outcomes
        pickle.
        """
        ...
