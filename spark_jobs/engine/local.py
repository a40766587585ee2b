"""The engine without a cluster: this process does the work."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from spark_jobs.core.clock import Clock
from spark_jobs.core.handles.context import TaskScope

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_HELD_BYTES = 64 << 20
"""Of rows that are exchanged, before they go to their files."""


class LocalEngine:
    """One piece after the other, or ``slots`` at a time in threads: Arrow works without Python's lock."""

    def __init__(self, clock: Clock, slots: int = 1) -> None:
        self._clock = clock
        self.slots = slots

    @classmethod
    def of_machine(cls, clock: Clock) -> LocalEngine:
        """With a slot for each processor that this process may use."""
        return cls(clock, slots=len(os.sched_getaffinity(0)))

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
        for outcome in self._outcomes([partial(work, item) for item in items], range(len(items))):
            outcomes.append(outcome)
            advance(1)
        return outcomes

    def _outcomes(self, pieces: Sequence[Callable[[TaskScope], Outcome]], numbers: Iterable[int]) -> Iterator[Outcome]:
        """In the order of the pieces; after a failure none begins, and those that run have ended."""
        scopes = [TaskScope.of_attempt(number, self._clock) for number in numbers]
        if self.slots == 1 or len(pieces) < 2:
            yield from (piece(scope) for piece, scope in zip(pieces, scopes, strict=True))
            return
        with ThreadPoolExecutor(self.slots) as pool:
            running = [pool.submit(piece, scope) for piece, scope in zip(pieces, scopes, strict=True)]
            try:
                for one in running:
                    yield one.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def exchange(
        self,
        items: Sequence[Item],
        split: Callable[[Item], Iterable[tuple[int, pa.RecordBatch]]],
        tasks: int,
        work: Callable[[list[pa.RecordBatch], TaskScope], Outcome],
    ) -> list[Outcome]:
        """Rows wait in files of the machine's temporary folder, and are mapped into memory when their turn comes."""
        with tempfile.TemporaryDirectory(prefix="pyhudi-exchange-") as folder:
            sent = _Blocks(Path(folder))
            for item in items:
                for target, rows in split(item):
                    sent.add(target, rows)
            sent.flush()
            pieces = [partial(self._received, sent, target, work) for target in sent.targets]
            return list(self._outcomes(pieces, sent.targets))

    @staticmethod
    def _received(
        sent: _Blocks, target: int, work: Callable[[list[pa.RecordBatch], TaskScope], Outcome], scope: TaskScope
    ) -> Outcome:
        return work(sent.of(target), scope)


class _Blocks:
    """Record batches by target, a file for each: streams of Arrow's IPC format, one behind the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[int, list[pa.RecordBatch]] = {}
        self._size = 0
        self._written: set[int] = set()

    def add(self, target: int, rows: pa.RecordBatch) -> None:
        self._held.setdefault(target, []).append(rows)
        self._size += rows.nbytes
        if self._size >= _HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """No file stays open: there may be more targets than files that a process may have."""
        for target, batches in self._held.items():
            with open(self._path(target), "ab") as file, pa.ipc.new_stream(file, batches[0].schema) as stream:
                for rows in batches:
                    stream.write_batch(rows)
        self._written.update(self._held)
        self._held, self._size = {}, 0

    @property
    def targets(self) -> list[int]:
        return sorted(self._written)

    def of(self, target: int) -> list[pa.RecordBatch]:
        found: list[pa.RecordBatch] = []
        file = pa.memory_map(str(self._path(target)))
        while file.tell() < file.size():
            found += pa.ipc.open_stream(file)
        return found

    def _path(self, target: int) -> Path:
        return self._folder / str(target)
