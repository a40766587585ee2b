"""A table as a dict: what it must hold after each operation, by operation, kind of table, index and payload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.spark.tables import Row

Place = tuple[str, Row]
Scoped = tuple[str, int] | int
"""What is unique: a key in its partition, or by a global index in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What decides.

    :param is_global: one record for each key of the table, wherever it is.
    :param moves: such a record goes to the partition that it comes with; else it stays where its key is.
    :param event_time: a stored record of greater ordering value stays.
    :param by_bucket: records go to their bucket's log unseen, so that no write can tell inserts from updates.
    """

    merge_on_read: bool
    partitioned: bool
    is_global: bool
    moves: bool
    event_time: bool
    by_bucket: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """What a write says that it did; None where that depends on what files still hold of removed keys."""

    inserts: int | None
    updates: int | None
    deletes: int | None


@dataclass(slots=True)
class TableModel:
    """``places`` are the records with the partitions that they are in.

    ``ghosts`` are keys whose removal is in logs: base files have them until they are compacted.
    """

    kind: Kind
    places: dict[Scoped, Place] = field(default_factory=dict)
    ghosts: set[Scoped] = field(default_factory=set)

    def place(self, one: Row) -> str:
        """The partition that a record comes with."""
        return str(one["p"]) if self.kind.partitioned else ""

    def scoped(self, one: Row) -> Scoped:
        key: int = one["id"]
        return key if self.kind.is_global else (self.place(one), key)

    def upsert(self, batch: Iterable[Row]) -> Counts:
        inserts = updates = deletes = lost = 0
        known = self._tells
        for one in self._combined(batch):
            key = self.scoped(one)
            stored = self.places.get(key)
            known &= key not in self.ghosts
            if stored is None:
                if not one["_hoodie_is_deleted"]:
                    self._put(key, self.place(one), one)
                    inserts += 1
                continue
            at, before = stored
            if self.kind.event_time and before["ts"] > one["ts"]:
                updates += self.kind.merge_on_read  # it is in the log all the same
                lost += 1
                known &= at == self.place(one)
            elif one["_hoodie_is_deleted"]:
                self._remove(key)
                deletes += 1
            else:
                known &= at == self.place(one)
                self._put(key, self.place(one) if self.kind.moves else at, one)
                updates += 1
        # a file that is rewritten to take inserts in has no log for what lost
        known &= not (self.kind.merge_on_read and lost and inserts)
        return Counts(inserts, updates, deletes) if known else Counts(None, None, None)

    def insert(self, batch: list[Row]) -> Counts:
        """Of keys that the table does not have."""
        for one in batch:
            assert self.scoped(one) not in self.places
            self._put(self.scoped(one), self.place(one), one)
        return Counts(len(batch), 0, 0) if self._tells else Counts(None, None, None)

    def delete(self, batch: Iterable[Row]) -> Counts:
        keys = {self.scoped(one) for one in batch}
        known = self._tells and not keys & self.ghosts
        gone = keys & self.places.keys()
        for key in gone:
            self._remove(key)
        return Counts(0, 0, len(gone)) if known else Counts(None, None, None)

    def overwrite(self, batch: list[Row], partitions: set[str]) -> Counts:
        """The batch takes the place of all that was in the partitions."""
        self.drop(partitions)
        return self.insert(batch)

    def drop(self, partitions: set[str]) -> None:
        for key in [key for key, (at, _) in self.places.items() if at in partitions]:
            del self.places[key]

    def compacted(self) -> None:
        self.ghosts.clear()

    def rows(self) -> list[Row]:
        """As :func:`tests.spark.write.test_model.stored` gives them, in any order."""
        return [
            {"at": at, **{name: value for name, value in one.items() if name != "_hoodie_is_deleted"}}
            for at, one in self.places.values()
        ]

    def partitions(self) -> set[str]:
        return {at for at, _ in self.places.values()}

    @property
    def _tells(self) -> bool:
        return not (self.kind.by_bucket and self.kind.merge_on_read)

    def _combined(self, batch: Iterable[Row]) -> list[Row]:
        """Of each key the record of the greatest ordering value, of equal ones the last."""
        newest: dict[Scoped, Row] = {}
        for one in batch:
            key = self.scoped(one)
            if key not in newest or one["ts"] >= newest[key]["ts"]:
                newest[key] = one
        return list(newest.values())

    def _put(self, key: Scoped, at: str, one: Row) -> None:
        self.places[key] = (at, one)

    def _remove(self, key: Scoped) -> None:
        del self.places[key]
        if self.kind.merge_on_read:
            self.ghosts.add(key)
