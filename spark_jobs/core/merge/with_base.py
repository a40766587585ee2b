"""Changes laid over the rows of a base file, batch by batch (Hudi: combineAndGetUpdateValue, HoodieMergeHandle)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.fold import I64
from spark_jobs.core.merge.protocol import Mask, Payload, Verdict
from spark_jobs.core.schema.meta_fields import RECORD_KEY


@dataclass(frozen=True, slots=True)
class MergedBatch:
    """``rows`` in the order of the base file; how many of them changed, and how many base rows went."""

    rows: pa.RecordBatch
    updated: int
    deleted: int


class BaseMerge:
    """Merges one base file's batches with its changes, then hands out what was new.

    :param event_time_deletes: whether deletes are for the payload to judge (those of an upsert into a base file), or go
        through unasked (of a delete block, of the operation delete).
    """

    def __init__(
        self, changes: Changes, payload: Payload, ordering: str | None, *, event_time_deletes: bool = True
    ) -> None:
        self._keys = changes.keys.combine_chunks()
        self._rows = changes.rows.combine_chunks()
        self._deleted = changes.deleted
        self._payload = payload
        self._ordering = ordering
        everywhere = np.full(len(changes.deleted), not event_time_deletes)
        self._deletes_win = everywhere if changes.unasked is None else everywhere | changes.unasked
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
        drop = hit & self._deleted[position] & self._deletes_win[position]
        pairs = np.flatnonzero(hit & ~drop)
        verdict = self._combine(batch, pairs, position[pairs])
        drop[pairs[verdict.heard & verdict.deleted]] = True
        stays = verdict.heard & ~verdict.deleted
        change = np.zeros(len(hit), bool)
        change[pairs[stays]] = True
        updated, dropped = int(change.sum()), int(drop.sum())
        rows = _replace(batch, change, self._fresh(verdict, stays, position[change])) if updated else batch
        if dropped:
            rows = rows.filter(pa.array(~drop))
        return MergedBatch(rows, updated, dropped)

    def unseen(self) -> pa.Table:
        """Records whose keys no base row had: inserts."""
        return self._rows.filter(pa.array(~self._seen & ~self._deleted))

    def _combine(self, batch: pa.RecordBatch, pairs: I64, position: npt.NDArray[np.int32]) -> Verdict:
        """What the payload says of the rows at ``pairs`` and the changes at ``position``."""
        if self._payload.replaces_whole_records:
            return Verdict(heard=np.ones(len(pairs), bool), deleted=self._deleted[position])
        names = batch.schema.names
        if not self._payload.makes_records:
            own = self._payload.columns(names)
            names = [name for name in names if name == self._ordering or name in own]
        return self._payload.combine(
            pa.Table.from_batches([batch.select(names)]).take(pa.array(pairs)),
            self._changed(names, position),
            self._deleted[position],
            self._ordering,
        )

    def _fresh(self, verdict: Verdict, stays: Mask, position: npt.NDArray[np.int32]) -> pa.Table:
        """The records of the changes at ``position`` that stay, as the payload made them or as they are."""
        if verdict.rows is not None:
            return verdict.rows if stays.all() else verdict.rows.filter(pa.array(stays))
        return self._changed(self._rows.schema.names, position)

    def _changed(self, names: list[str], position: npt.NDArray[np.int32]) -> pa.Table:
        wanted, schema = pa.array(position), self._rows.schema
        fields = [schema.field(name) for name in names]
        columns = [self._columns[schema.get_field_index(name)].take(wanted) for name in names]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _replace(batch: pa.RecordBatch, change: Mask, fresh: pa.Table) -> pa.RecordBatch:
    """``batch`` with the rows of ``fresh`` in the places of ``change``."""
    mask = pa.array(change)
    index = np.arange(batch.num_rows)
    index[change] = batch.num_rows + np.arange(fresh.num_rows)
    gathered = pa.array(index)
    arrays = []
    for stored, column in zip(batch.columns, fresh.combine_chunks().columns, strict=True):
        new = column.chunk(0)
        if pa.types.is_primitive(stored.type) or pa.types.is_fixed_size_binary(stored.type):
            arrays.append(pc.replace_with_mask(stored, mask, new))
        else:  # for these a gather is both possible and quicker
            arrays.append(pa.concat_arrays([stored, new]).take(gathered))
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
