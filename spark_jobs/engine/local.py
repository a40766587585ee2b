"""The engine without a cluster: this process does the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.handles.context import TaskScope

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class LocalEngine:
    """One piece after the other. Write tokens carry random digits in place of Spark's stage and attempt."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    slots = 1

    def settle(self, bytes_in: int, calls: int = 0) -> str:
        return "local"

    def run_each(
        self,
        items: Sequence[Item],
        work: Callable[[Item, TaskScope], Outcome],
        advance: Callable[[int], Any] = lambda steps: None,
        sizes: Sequence[int] | None = None,
    ) -> list[Outcome]:
        outcomes = []
        for number, item in enumerate(items):
            attempt = int(self._clock.new_uuid()[:7], 16)
            outcomes.append(work(item, TaskScope(number, f"{number}-0-{attempt}")))
            advance(1)
        return outcomes
