"""Changes laid over the rows of a base file, batch by batch (Hudi: combineAndGetUpdateValue, HoodieMergeHandle)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.payload import Payload
from spark_jobs.core.schema.meta_fields import RECORD_KEY


@dataclass(frozen=True, slots=True)
class MergedBatch:
    """``rows`` in the order of the base file; how many of them changed, and how many base rows went."""

    rows: pa.RecordBatch
    updated: int
    deleted: int


class BaseMerge:
    """Merges one base file's batches with its changes, then hands out what was new.

    :param event_time_deletes: whether a delete yields to a stored row of greater ordering value (an upsert into a base
        file does, a delete block does not).
    """

    def __init__(
        self, changes: Changes, payload: Payload, ordering: str | None, *, event_time_deletes: bool = True
    ) -> None:
        self._keys = changes.keys.combine_chunks()
        self._rows = changes.rows.combine_chunks()
        self._deleted = changes.deleted
        self._ordering = ordering if payload is Payload.EVENT_TIME else None
        self._event_time_deletes = event_time_deletes
        self._seen = np.zeros(len(changes.deleted), bool)
        self._columns = [
            column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in self._rows.columns
        ]

    def merge(self, batch: pa.RecordBatch) -> MergedBatch:
        """``batch`` in the schema of the changes."""
        found = pc.index_in(batch.column(RECORD_KEY), value_set=self._keys)
        if found.null_count == len(found):
            return MergedBatch(batch, 0, 0)
        hit = np.asarray(pc.is_valid(found))
        position = np.asarray(pc.fill_null(found, 0))
        self._seen[position[hit]] = True
        hit &= ~self._stored_is_newer(batch, hit, position)
        drop = hit & self._deleted[position]
        change = hit & ~drop
        updated, dropped = int(change.sum()), int(drop.sum())
        rows = self._replace(batch, change, position) if updated else batch
        if dropped:
            rows = rows.filter(pa.array(~drop))
        return MergedBatch(rows, updated, dropped)

    def unseen(self) -> pa.Table:
        """Records whose keys no base row had: inserts."""
        return self._rows.filter(pa.array(~self._seen & ~self._deleted))

    def _replace(
        self, batch: pa.RecordBatch, change: npt.NDArray[np.bool_], position: npt.NDArray[np.int32]
    ) -> pa.RecordBatch:
        mask, wanted = pa.array(change), pa.array(position[change])
        arrays = []
        for stored, incoming in zip(batch.columns, self._columns, strict=True):
            fresh = incoming.take(wanted)
            if pa.types.is_nested(stored.type) or pa.types.is_dictionary(stored.type):
                both = pa.concat_arrays([stored, fresh])
                index = np.arange(len(stored))
                index[change] = len(stored) + np.arange(len(fresh))
                arrays.append(both.take(pa.array(index)))
            else:
                arrays.append(pc.replace_with_mask(stored, mask, fresh))
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def _stored_is_newer(
        self, batch: pa.RecordBatch, hit: npt.NDArray[np.bool_], position: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        newer = np.zeros(len(hit), bool)
        if self._ordering is None:
            return newer
        index = batch.schema.get_field_index(self._ordering)
        stored = batch.column(index).filter(pa.array(hit))
        incoming = self._columns[index].take(pa.array(position[hit]))
        newer[hit] = np.asarray(pc.fill_null(pc.greater(stored, incoming), False))
        if not self._event_time_deletes:
            newer &= ~self._deleted[position]
        return newer
