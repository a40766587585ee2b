"""Batched markers: those of an instant in few files, each rewritten whole as markers come in (docs/format.md, Markers).

Source: ``MarkerDirState`` in ``org.apache.hudi.timeline.service.handlers.marker``, and ``MarkerUtils``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.files.markers import BATCH_PREFIX, BATCHED, TYPE_FILE
from spark_jobs.core.files.names import Marker
from spark_jobs.core.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerRequest:
    """Somebody asks for a marker; ``number`` is the same when the same one asks again, having had no answer."""

    marker: Marker
    number: str


class MarkerBatches:
    """The marker folder of one instant while it is written. Several threads may add at once, each to a file of its own.

    :param files: how many files there are at most; more threads than that must not add at once.
    """

    def __init__(self, storage: Storage, folder: str, files: int) -> None:
        self._storage = storage
        self._folder = folder
        self._lock = threading.Lock()
        self._lines: list[list[str]] = [[] for _ in range(files)]
        self._free = [True] * files
        self._last = -1
        self._asked_by: dict[str, str] = {}
        self._typed = False

    def add(self, requests: Sequence[MarkerRequest]) -> list[bool]:
        """Put markers into one of the files; they are on storage when this returns.

        :returns: for each request whether its marker is new: False where somebody else asked for the same before.
        """
        with self._lock:
            if not self._typed:
                self._write_type()
            number = self._take_file()
            answers = [self._note(number, request) for request in requests]
            text = "".join(f"{line}\n" for line in self._lines[number])
        try:
            if any(answers):
                self._storage.replace(f"{self._folder}/{BATCH_PREFIX}{number}", text.encode())
        finally:
            with self._lock:
                self._free[number] = True
        return answers

    def _note(self, number: int, request: MarkerRequest) -> bool:
        name = request.marker.relative_path
        if self._asked_by.setdefault(name, request.number) != request.number:
            return False
        # also where it was asked for before: whether that one reached storage is not known
        self._lines[number].append(name)
        return True

    def _take_file(self) -> int:
        """The next file that no thread is writing, round robin."""
        count = len(self._free)
        number = next(n for n in ((self._last + 1 + step) % count for step in range(count)) if self._free[n])
        self._free[number] = False
        self._last = number
        return number

    def _write_type(self) -> None:
        with suppress(AlreadyExistsError):
            self._storage.create(f"{self._folder}/{TYPE_FILE}", BATCHED.encode())
        self._typed = True
