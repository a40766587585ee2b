"""The engine of a job: this process for what is little, Spark for what is much; a job that finds nothing to do never
starts a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import EngineKind

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

LOCAL_BYTES = 128 * 1024 * 1024
"""What ``auto`` does in this process: about as much as it reads and writes while a session of Spark would start."""
LOCAL_CALLS = 10_000
"""Short calls to the storage that ``auto`` makes in this process. An object store answers in some 30 ms, and 16 are
under way at once: these take 20 s, about as long as a cluster takes to start a session and its executors.
"""


class SparkOnDemand:
    """An engine and a context manager; a session of Spark that it started is stopped at the end."""

    def __init__(
        self, job: str, *, debug: bool = False, kind: EngineKind = EngineKind.SPARK, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._job = job
        self._debug = debug
        self._kind = kind
        self._is_auto = kind is EngineKind.AUTO
        self._clock = clock
        self._held = ExitStack()
        self._local: Engine | None = None
        self._spark: Engine | None = None

    def __enter__(self) -> SparkOnDemand:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)

    @property
    def slots(self) -> int:
        return self._started().slots

    def settle(self, bytes_in: int, calls: int = 0) -> str:
        """Decide where ``auto`` works. Once that is Spark, what comes later goes there too, however little it is."""
        if self._is_auto and self._kind is not EngineKind.SPARK:
            is_little = bytes_in <= LOCAL_BYTES and calls <= LOCAL_CALLS
            self._kind = EngineKind.LOCAL if is_little else EngineKind.SPARK
        return self._kind.value

    def run_each(
        self,
        items: Sequence[Item],
        work: Callable[[Item, TaskScope], Outcome],
        advance: Callable[[int], Any] = lambda steps: None,
        sizes: Sequence[int] | None = None,
    ) -> list[Outcome]:
        if not items:
            return []
        return self._started().run_each(items, work, advance, sizes)

    def exchange(
        self,
        items: Sequence[Item],
        split: Callable[[Item], Iterable[tuple[int, pa.RecordBatch]]],
        tasks: int,
        work: Callable[[list[pa.RecordBatch], TaskScope], Outcome],
    ) -> list[Outcome]:
        return self._started().exchange(items, split, tasks, work) if items else []

    def _started(self) -> Engine:
        if self._kind is EngineKind.LOCAL:
            self._local = self._local or LocalEngine(self._clock)
            return self._local
        if self._spark is None:
            from spark_jobs.engine.session import job_session
            from spark_jobs.engine.spark import SparkEngine

            self._spark = SparkEngine(self._held.enter_context(job_session(self._job, debug=self._debug)))
        return self._spark
