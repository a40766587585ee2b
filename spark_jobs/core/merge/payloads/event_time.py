"""The record of the greater ordering value (Hudi: DefaultHoodieRecordPayload, EventTimeAvroPayload)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.merge.pairs import greater, marked, none_of, ordering_values
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.merge.protocol import Mask, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime(OverwriteWithLatest):
    """A stored record of greater ordering value stays, also against a delete; of equal ones the incoming wins.

    :param ordering_field: ``hoodie.payload.ordering.field``, by which stored records are compared where it is given,
        a column or by ``a.b`` a field of a struct; the batch itself goes by the precombine column.
    :param delete_field: ``hoodie.payload.delete.field``: a record whose value there reads ``delete_marker`` is a
        delete; ``_hoodie_is_deleted`` then says nothing.
    """

    replaces_whole_records: ClassVar[bool] = False

    ordering_field: str | None = None
    delete_field: str | None = None
    delete_marker: str = ""

    def columns(self, names: Iterable[str]) -> list[str]:
        named = list(names)
        wanted = ((self.ordering_field or "").split(".")[0], self.delete_field)
        # dataclasses with slots have no __class__ cell for a bare super()
        return [*OverwriteWithLatest.columns(self, named), *[name for name in named if name in wanted]]

    def is_delete(self, rows: pa.Table) -> Mask:
        if self.delete_field is None:
            return marked(rows)
        if self.delete_field not in rows.schema.names:
            return np.zeros(rows.num_rows, bool)
        text = rows.column(self.delete_field).cast(pa.string())
        return np.asarray(pc.fill_null(pc.equal(text, self.delete_marker), False), bool)

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        accepted = ~self._stored_wins(stored, incoming, ordering)
        return Verdict(accepted=accepted, deleted=deleted & accepted)

    def _stored_wins(self, stored: pa.Table, incoming: pa.Table, ordering: str | None) -> Mask:
        theirs, ours = self._ordering_values(stored, ordering), self._ordering_values(incoming, ordering)
        return none_of(stored) if theirs is None or ours is None else greater(theirs, ours)

    def _ordering_values(self, rows: pa.Table, ordering: str | None) -> pa.ChunkedArray | None:
        return ordering_values(rows, self.ordering_field or ordering)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimeDeletesAlways(EventTime):
    """The same, but a delete (by ``_hoodie_is_deleted``) is never late (Hudi: EventTimeAvroPayload).

    What a delete field marks is a delete only of a key that is not stored in a base file: as Hudi has it.
    """

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        gone = marked(incoming)
        return Verdict(accepted=gone | ~self._stored_wins(stored, incoming, ordering), deleted=gone)
