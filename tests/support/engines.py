"""Engines that break off, or whose work is done elsewhere."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import StorageError
from spark_jobs.engine.local import LocalEngine


class Elsewhere(LocalEngine):
    """As Spark does: all goes there and comes back by pickle."""

    def __init__(self) -> None:
        super().__init__(SYSTEM_CLOCK)
        self.told: tuple[int, int] | None = None
        self.jobs = 0

    def settle(self, bytes_in: int, calls: int = 0) -> str:
        self.told = (bytes_in, calls)
        return "spark"

    def run_each(
        self, items: Any, work: Any, advance: Callable[[int], Any] = lambda steps: None, sizes: Any = None
    ) -> Any:
        assert sizes is None or len(sizes) == len(items)
        self.jobs += 1
        items, work = pickle.loads(pickle.dumps((items, work)))
        return pickle.loads(pickle.dumps(super().run_each(items, work, advance, sizes)))


class StopsAfter(LocalEngine):
    """Breaks off when so many pieces are done."""

    def __init__(self, pieces: int) -> None:
        super().__init__(SYSTEM_CLOCK)
        self.left = pieces

    def run_each(self, items: Any, work: Any, advance: Any = lambda steps: None, sizes: Any = None) -> Any:
        def limited(item: Any, scope: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                self.break_off()
            return work(item, scope)

        return super().run_each(items, limited, advance, sizes)

    def break_off(self) -> None:
        raise StorageError("the disk is full (injected)")


class DiesAfter(StopsAfter):
    """The process is gone, with this exit code, when so many pieces are done."""

    def __init__(self, pieces: int, code: int) -> None:
        super().__init__(pieces)
        self.code = code

    def break_off(self) -> None:
        os._exit(self.code)
