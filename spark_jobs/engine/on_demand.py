"""Spark from the first piece of work on: a job that finds nothing to do never starts a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.protocol import Engine

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class SparkOnDemand:
    """An engine and a context manager; the job's session is stopped at the end."""

    def __init__(self, job: str, *, debug: bool = False) -> None:
        self._job = job
        self._debug = debug
        self._held = ExitStack()
        self._engine: Engine | None = None

    def __enter__(self) -> SparkOnDemand:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)

    def run_each(
        self,
        items: Sequence[Item],
        work: Callable[[Item, TaskScope], Outcome],
        advance: Callable[[int], Any] = lambda steps: None,
    ) -> list[Outcome]:
        if not items:
            return []
        if self._engine is None:
            from spark_jobs.engine.session import job_session
            from spark_jobs.engine.spark import SparkEngine

            self._engine = SparkEngine(self._held.enter_context(job_session(self._job, debug=self._debug)))
        return self._engine.run_each(items, work, advance)
