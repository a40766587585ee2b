"""Changes laid over the rows of a base file, batch by batch (Hudi: combineAndGetUpdateValue, HoodieMergeHandle)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.files.base_file import ROWS_PER_BATCH
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.fold import I64
from spark_jobs.core.merge.key_table import KeyTable
from spark_jobs.core.merge.protocol import Mask, Payload, Verdict
from spark_jobs.core.schema.meta_fields import RECORD_KEY

FEW = 32 * 1024
JOINED_BYTES = 16 << 20
"""So much is copied into one chunk, of which rows are taken faster."""
_FEW_OF = 4
"""One changed row of so many: then it costs less to compare texts than to gather them."""


@dataclass(frozen=True, slots=True)
class MergedBatch:
    """``rows`` in the order of the base file; how many of them changed, and how many base rows went."""

    rows: pa.RecordBatch
    updated: int
    deleted: int


Complete = Callable[[pa.Table], pa.Table]
"""Gives changes the columns of the base file that they lack."""


class BaseMerge:
    """Merges one base file's batches with its changes, then hands out what was new.

    Beside the changes it holds a few batches: what they need to stand in the file is made for those that are laid over
    a batch.

    :param event_time_deletes: whether deletes are for the payload to judge (those of an upsert into a base file), or go
        through unasked (of a delete block, of the operation delete).
    :param complete: asked for changes that are to be stored; those that have all columns need it not.
    """

    def __init__(
        self,
        changes: Changes,
        payload: Payload,
        ordering: str | None,
        *,
        event_time_deletes: bool = True,
        complete: Complete | None = None,
    ) -> None:
        self._rows = changes.rows.combine_chunks() if changes.rows.nbytes <= JOINED_BYTES else changes.rows
        self._deleted = changes.deleted
        self._payload = payload
        self._ordering = ordering
        self._complete = complete
        everywhere = np.full(len(changes.deleted), not event_time_deletes)
        self._deletes_win = everywhere if changes.unasked is None else everywhere | changes.unasked
        self._seen = np.zeros(len(changes.deleted), bool)
        few = changes.rows.num_rows <= FEW
        self._keys: pa.Array = changes.keys.combine_chunks() if few else None
        self._table = None if few else KeyTable(changes.keys)

    def merge(self, batch: pa.RecordBatch) -> MergedBatch:
        """``batch`` in the schema of the file."""
        position = self._places(batch.column(RECORD_KEY))
        hit = position >= 0
        if not hit.any():
            return MergedBatch(batch, 0, 0)
        self._seen[position[hit]] = True
        drop = hit & self._deleted[position] & self._deletes_win[position]
        pairs = np.flatnonzero(hit & ~drop)
        verdict = self._combine(batch, pairs, position[pairs])
        drop[pairs[verdict.accepted & verdict.deleted]] = True
        stays = verdict.accepted & ~verdict.deleted
        change = np.zeros(len(hit), bool)
        change[pairs[stays]] = True
        updated, dropped = int(change.sum()), int(drop.sum())
        rows = _replace(batch, change, self._fresh(verdict, stays, position[change])) if updated else batch
        if dropped:
            rows = rows.filter(pa.array(~drop))
        return MergedBatch(rows, updated, dropped)

    def unseen(self) -> Iterator[pa.RecordBatch]:
        """Records whose keys no base row had, inserts, some at a time."""
        new = np.flatnonzero(~self._seen & ~self._deleted)
        for first in range(0, len(new), ROWS_PER_BATCH):
            rows = self._rows.take(pa.array(new[first : first + ROWS_PER_BATCH]))
            yield self._completed(rows).combine_chunks().to_batches()[0]

    def _places(self, keys: pa.Array) -> npt.NDArray[np.int32]:
        """Of each key the place of its change, or -1."""
        if self._table is not None:
            return self._table.find(keys)
        # for few changes Arrow's hash table is faster, though it is made anew for each batch
        return np.asarray(pc.fill_null(pc.index_in(keys, value_set=self._keys), -1))

    def _combine(self, batch: pa.RecordBatch, pairs: I64, position: npt.NDArray[np.int32]) -> Verdict:
        """What the payload says of the rows at ``pairs`` and the changes at ``position``."""
        if self._payload.replaces_whole_records:
            return Verdict(accepted=np.ones(len(pairs), bool), deleted=self._deleted[position])
        names = batch.schema.names
        changed = self._rows
        if not self._payload.makes_records:
            own = self._payload.columns(names)
            names = [name for name in names if name == self._ordering or name in own]
            changed = changed.select(names)
        changed = changed.take(pa.array(position))
        return self._payload.combine(
            pa.Table.from_batches([batch.select(names)]).take(pa.array(pairs)),
            self._completed(changed) if self._payload.makes_records else changed,
            self._deleted[position],
            self._ordering,
        )

    def _fresh(self, verdict: Verdict, stays: Mask, position: npt.NDArray[np.int32]) -> pa.Table:
        """The records of the changes at ``position`` that stay, as the payload made them or as they are."""
        if verdict.rows is not None:
            return verdict.rows if stays.all() else verdict.rows.filter(pa.array(stays))
        return self._completed(self._rows.take(pa.array(position)))

    def _completed(self, rows: pa.Table) -> pa.Table:
        return rows if self._complete is None else self._complete(rows)


def _replace(batch: pa.RecordBatch, change: Mask, fresh: pa.Table) -> pa.RecordBatch:
    """``batch`` with the rows of ``fresh``, of the same columns, in the places of ``change``."""
    mask = pa.array(change)
    index = np.arange(batch.num_rows)
    changed = pa.array(index[change])
    index[change] = batch.num_rows + np.arange(fresh.num_rows)
    gathered = pa.array(index)
    few = fresh.num_rows * _FEW_OF <= batch.num_rows
    arrays = []
    for stored, column in zip(batch.columns, fresh.combine_chunks().columns, strict=True):
        new = column.chunk(0)
        if pa.types.is_primitive(stored.type) or pa.types.is_fixed_size_binary(stored.type):
            arrays.append(pc.replace_with_mask(stored, mask, new))
        elif few and pa.types.is_string(stored.type) and stored.take(changed).equals(new):
            arrays.append(stored)  # keys, and whatever else an update leaves as it is
        else:  # for these a gather is both possible and quicker
            arrays.append(pa.concat_arrays([stored, new]).take(gathered))
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
