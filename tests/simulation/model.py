"""What a table has to hold: the rows by the commits that were seen to take effect, in their order."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY
from tests.faults.local_table import PARTITIONS
from tests.simulation.scheduler import Process

Rows = dict[int, str]
_REQUESTED = re.compile(r"/\.hoodie/(\d{17})\.[a-z]+\.requested$")
_COMMIT = re.compile(r"/\.hoodie/(\d{17})\.(commit|deltacommit|replacecommit)$")
_BEAT = re.compile(r"/\.hoodie/\.heartbeat/(\d{17})$")
_BEGUN = re.compile(r"/\.hoodie/(\d{17})\.(commit|deltacommit)\.requested$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """``kind`` is an operation by its name; an Airflow task does it under one ``key`` until it is done. A key is in one
    of :data:`PARTITIONS`, by turns.
    """

    key: str
    kind: str
    ids: tuple[int, ...]
    fresh: tuple[int, ...] = ()
    """Those of its keys that a writer like Hudi inserts, since no other does."""

    def on(self, rows: Rows, unseen: Collection[int] = ()) -> Rows:
        """
        :param unseen: keys that others wrote while it was under way. A delete that had found one would have been
            refused, as it changes the same file group; so it came before them.
        """
        if self.kind == "delete":
            return {one: value for one, value in rows.items() if one not in self.ids or one in unseen}
        if self.kind == "insert_overwrite":
            replaced = {one % len(PARTITIONS) for one in self.ids}
            rows = {one: value for one, value in rows.items() if one % len(PARTITIONS) not in replaced}
        return {**rows, **dict.fromkeys(self.ids, self.key)}


@dataclass(slots=True, kw_only=True)
class Model:
    """``states`` are the rows after each commit, the first one before any; ``wrong`` what no table may do."""

    writes: dict[str, Write]
    states: list[Rows] = field(default_factory=lambda: [{}])
    wrong: list[str] = field(default_factory=list)
    _instants: set[str] = field(default_factory=set)
    foreign: dict[str, Write] = field(default_factory=dict)
    """By instant, of a writer that knows no keys of tasks."""
    is_void: bool = False
    """Two instants have one millisecond, which can happen where a writer draws its own without the lock."""
    undoers: list[Process] = field(default_factory=list)
    """Restores: a commit whose file one of them removes is undone."""
    _history: list[tuple[str, Write | None, tuple[int, ...]]] = field(default_factory=list)
    """Of each state but the first: the instant, its write (None where it was undone), and what that did not see."""
    _undone: set[str] = field(default_factory=set)
    """Keys of writes."""
    _begun_at: dict[str, int] = field(default_factory=dict)
    """By instant, how many states there were."""
    _written_at: dict[int, int] = field(default_factory=dict)
    """By key, the same."""
    _commits: dict[str, str] = field(default_factory=dict)
    _begun_by: dict[str, Process] = field(default_factory=dict)

    @property
    def rows(self) -> Rows:
        return self.states[-1]

    @property
    def committed(self) -> frozenset[str]:
        """Instants of writes, but for those that were undone."""
        return frozenset(self._commits)

    def is_committed(self, key: str) -> bool:
        return key in self._commits.values()

    def is_done(self, key: str) -> bool:
        """Committed, and perhaps undone by a restore since."""
        return self.is_committed(key) or key in self._undone

    def observe(self, path: str, data: bytes | None, by: Process | None) -> None:
        """A process put a file there, or removed it (None)."""
        if "/.hoodie/metadata/" in path:
            return
        named = _REQUESTED.search(path)
        if named is not None and not (data == b"" and by in self.undoers):  # of what they undo they make empty ones
            self._note_instant(named[1], by, is_removed=data is None)
        if (named := _BEGUN.search(path)) is not None and by is not None:
            self._note_writer(named[1], by, is_removed=data is None)
        if (named := _BEAT.search(path)) is not None and data is None and self._begun_by.get(named[1]) is by:
            self._begun_by.pop(named[1], None)  # it gave up, and says so
        if (named := _COMMIT.search(path)) is not None and data:
            self._note_commit(named[1], data)
        if (named := _COMMIT.search(path)) is not None and data is None and by in self.undoers:
            self._note_undone(named[1])

    def states_as_of(self, instant: str, first: int) -> list[Rows]:
        """The rows as of a moment, by the commits that there were at each look of a reader who began when there were
        ``first`` states: one with an earlier instant may come late.
        """
        return [self._folded(count, instant) for count in range(first - 1, len(self.states))]

    def states_since(self, instant: str, first: int) -> list[Rows]:
        """Of the rows, those that were written after a moment."""
        after = {key for time, key in self._commits.items() if time > instant}
        return [{one: key for one, key in rows.items() if key in after} for rows in self.states[first - 1 :]]

    def why_not_read(self, found: Iterable[tuple[int, str]], allowed: Iterable[Rows]) -> str:
        """Why a reader may not see rows; empty where they are those of a state that it may see."""
        rows = sorted(found)
        states = [sorted(one.items()) for one in allowed]
        if rows in states:
            return ""
        wanted = states[-1]
        more = [one for one in rows if one not in wanted or rows.count(one) > 1]
        less = [one for one in wanted if one not in rows]
        return f"{len(rows)} rows where {len(wanted)} are due: {more[:4]} too many, {less[:4]} missing"

    def _folded(self, count: int, instant: str = "~") -> Rows:
        """The rows by the first of the history, up to a moment."""
        rows, some = self.states[0], self._history[:count]
        gone = {time for time, write, _ in some if write is None}
        for time, write, unseen in some:
            if write is not None and time <= instant and time not in gone:
                rows = write.on(rows, unseen)
        return rows

    def _note_undone(self, instant: str) -> None:
        """The rows are those of the commits that are left."""
        key = self._commits.pop(instant, None)
        if key is not None:
            self._undone.add(key)
            self._history.append((instant, None, ()))
            self.states.append(self._folded(len(self._history)))

    def _note_writer(self, instant: str, by: Process, *, is_removed: bool) -> None:
        writer = self._begun_by.get(instant)
        if not is_removed:
            self._begun_by[instant] = by
        elif writer is not None and writer is not by and not writer.was_silent:
            self.wrong.append(f"{by.role} rolled back {instant}, whose writer is alive and was never suspended")

    def _note_instant(self, instant: str, by: Process | None, *, is_removed: bool) -> None:
        """Of those that are on the timeline: a withdrawn one leaves its time to others. Hudi draws its own without the
        lock.
        """
        if is_removed:
            self._instants.discard(instant)
            return
        is_foreign = by is not None and by.is_foreign
        if instant in (self._instants if is_foreign else self.foreign):
            self.is_void = True
        if not is_foreign:
            if instant <= (last := max(self._instants, default="")):
                self.wrong.append(f"instant {instant} began when {last} was there")
            self._instants.add(instant)
        self._begun_at[instant] = len(self.states)

    def _note_commit(self, instant: str, data: bytes) -> None:
        self._begun_by.pop(instant, None)
        foreign = self.foreign.get(instant)
        key = (json.loads(data).get("extraMetadata") or {}).get(IDEMPOTENCY_KEY) if foreign is None else foreign.key
        if key is None or self._commits.get(instant) == key:
            return
        if self.is_committed(key):
            self.wrong.append(f"write {key} was committed twice, the second time by {instant}")
        self._commits[instant] = key
        write, begun_at = foreign or self.writes[key], self._begun_at.get(instant, 0)
        unseen = [one for one in write.ids if self._written_at.get(one, -1) >= begun_at]
        if write.kind != "delete":
            self._written_at.update(dict.fromkeys(write.ids, len(self.states)))
        self._history.append((instant, write, tuple(unseen)))
        self.states.append(write.on(self.rows, unseen))
