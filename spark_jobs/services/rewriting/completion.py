"""What a killed execution of a plan had finished: a record for each of its pieces, with the write stats.

The records stand in ``.aux``, which Hudi leaves alone. (In the marker folder they would do harm: one name without
``.marker`` there, and Hudi 0.15 takes direct markers for batched ones, finds none, and rolls nothing back.) A record
counts only while every file that it names is there, whole, with its marker, so that one of an instant that was rolled
back is void. The metadata table needs none of this: it hears of the files when the instant is published.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import StorageError
from spark_jobs.core.files.markers import marker_folder, read_markers
from spark_jobs.core.format.folders import AUX_FOLDER
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.write_stat import WriteStat

FOLDER = f"{AUX_FOLDER}/pyhudi.done"
"""Below it a folder for each instant, and a file for each piece in that."""
Piece = tuple[int, Any]
"""A piece of work with its number in the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRecords:
    """Those of one plan on the timeline, of so many pieces; ``plan_id`` is a digest of its requested file."""

    storage: Storage
    base_path: str
    instant: str
    plan_id: str
    pieces: int

    @staticmethod
    def of(timeline: ActiveTimeline, base_path: str, instant: Instant, pieces: int) -> CompletionRecords:
        plan_id = hashlib.sha256(timeline.read(instant.at(State.REQUESTED))).hexdigest()[:24]
        return CompletionRecords(
            storage=timeline.storage, base_path=base_path, instant=instant.timestamp, plan_id=plan_id, pieces=pieces
        )

    @property
    def folder(self) -> str:
        return f"{self.base_path}/{FOLDER}/{self.instant}"

    def note(self, number: int, stats: Sequence[WriteStat]) -> None:
        """Keep what a piece came to. Of several attempts the last stays, any is as good.

        Nothing is kept where the markers are gone: the instant ended while an old attempt still worked.
        """
        if not stats or not self.storage.has_folder(marker_folder(self.base_path, self.instant)):
            return
        record = {"plan": self.plan_id, "stats": [stat.to_json() for stat in stats]}
        # a piece whose record a loss of power takes or tears is done again
        self.storage.replace(f"{self.folder}/{number}.json", json.dumps(record).encode(), durable=False)

    def clear(self) -> None:
        """Remove them; what can't be removed now is swept by a later execution."""
        with suppress(StorageError):
            self.storage.delete_tree(self.folder)

    def sweep(self, timeline: ActiveTimeline) -> None:
        """Remove those of instants that are not pending: completed or taken back by others, or by a run that died right
        after it.
        """
        pending = {one.timestamp for one in timeline.instants if not one.is_completed}
        for status in timeline.storage.list(f"{self.base_path}/{FOLDER}"):
            if status.name not in pending:
                timeline.storage.delete_tree(status.path)

    def count(self) -> int:
        """How many there are, whether they hold or not; 0 where the storage can't say."""
        try:
            return len(self.storage.list(self.folder))
        except StorageError:
            return 0

    def finished(self) -> dict[int, list[WriteStat]]:
        """The pieces with a record that holds: every file that it names is there, whole, and has its marker."""
        found = {}
        marked: set[str] | None = None
        for status in self.storage.list(self.folder):
            stem, _, kind = status.name.partition(".")
            known = kind == "json" and stem.isascii() and stem.isdigit() and int(stem[:9]) < self.pieces
            stats = _parsed(self.storage.read(status.path), self.plan_id, status.path) if known else None
            if stats is None:
                continue
            if marked is None:
                markers = read_markers(self.storage, self.base_path, self.instant) or []
                marked = {marker.data_path for marker in markers}
            if all(stat.path in marked and self._is_whole(stat) for stat in stats):
                found[int(stem)] = stats
        return found

    def _is_whole(self, stat: WriteStat) -> bool:
        status = self.storage.stat(resolve(self.base_path, stat.path or RelativePath("")))
        return status is not None and status.size == stat.file_size_in_bytes


def _parsed(data: bytes, plan_id: str, where: str) -> list[WriteStat] | None:
    """None for a record of another plan, and for what a crash or another program left there."""
    try:
        found = json.loads(data)
        stats = [WriteStat.from_json(raw, where) for raw in found["stats"]] if found["plan"] == plan_id else []
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return stats if stats and all(isinstance(stat.path, str) for stat in stats) else None


@dataclass(frozen=True, slots=True)
class Recorded:
    """Does a numbered piece and keeps its record; runs in a worker, pickles."""

    work: Callable[[Any, TaskScope], list[WriteStat]]
    records: CompletionRecords

    def __call__(self, piece: Piece, scope: TaskScope) -> list[WriteStat]:
        number, item = piece
        stats = self.work(item, scope)
        self.records.note(number, stats)
        return stats
