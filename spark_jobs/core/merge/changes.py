"""The changes of one file group: at most one record or delete for each key (Hudi: preCombine)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.merge.fold import I64, fold
from spark_jobs.core.merge.key_table import are_distinct
from spark_jobs.core.merge.pairs import with_signed_bytes
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.merge.protocol import Mask, Payload
from spark_jobs.core.schema.meta_fields import RECORD_KEY


@dataclass(frozen=True, slots=True)
class Changes:
    """``rows`` are records unique by key; where ``deleted`` is true the row stands for the removal of its key.

    Where ``unasked`` is true it does so whatever the payload says: its record went to another partition.
    """

    rows: pa.Table
    deleted: Mask
    unasked: Mask | None = None

    @property
    def keys(self) -> pa.ChunkedArray:
        return self.rows.column(RECORD_KEY)

    def upserts(self) -> pa.Table:
        return self.rows if not self.deleted.any() else self.rows.filter(pa.array(~self.deleted))

    def deletes(self) -> pa.Table:
        return self.rows.filter(pa.array(self.deleted))


def deleted_mask(rows: pa.Table, payload: Payload = OVERWRITE, *, all_deleted: bool = False) -> Mask:
    """Which rows are deletes: all of a delete operation, else those that the payload takes for one."""
    return np.ones(rows.num_rows, bool) if all_deleted else payload.is_delete(rows)


def precombine(rows: pa.Table, ordering: str | None, payload: Payload = OVERWRITE) -> Changes:
    """One record or delete for each record key, by the payload: mostly the one of the greatest ordering value, of equal
    ones the last.

    :raises BadRecordError: a null ordering value.
    """
    keys = rows.column(RECORD_KEY)
    if ordering is not None and rows.column(ordering).null_count:
        raise BadRecordError(
            f"{rows.column(ordering).null_count} records have no value in the precombine field {ordering}",
            todo="fill it in the source or choose another field",
            column=ordering,
        )
    if are_distinct(keys):
        return Changes(rows, payload.is_delete(rows))
    ranks = np.zeros(rows.num_rows, np.int64) if ordering is None else dense_ranks(rows.column(ordering))
    if payload.deletes_are_records:
        kept, _ = fold(rows, np.zeros(rows.num_rows, bool), key_codes(keys), ranks, payload)
        return Changes(kept, payload.is_delete(kept))
    order = np.argsort(ranks, kind="stable")
    rows = rows.take(pa.array(order))
    return Changes(*fold(rows, payload.is_delete(rows), key_codes(rows.column(RECORD_KEY)), ranks[order], payload))


def key_codes(keys: pa.ChunkedArray) -> I64:
    """A number for each key, in the order in which they come first."""
    return np.asarray(keys.combine_chunks().dictionary_encode().indices).astype(np.int64)


def dense_ranks(column: pa.ChunkedArray) -> I64:
    """A dense rank of the values from 1 on, ascending: equal values share one."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_binary(column.type):
        column = with_signed_bytes(column)
    return np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
