"""The changes of one file group: at most one record or delete for each key (Hudi: preCombine)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.meta_fields import IS_DELETED, RECORD_KEY


@dataclass(frozen=True, slots=True)
class Changes:
    """``rows`` are records unique by key; where ``deleted`` is true the row stands for the removal of its key."""

    rows: pa.Table
    deleted: npt.NDArray[np.bool_]

    @property
    def keys(self) -> pa.ChunkedArray:
        return self.rows.column(RECORD_KEY)

    def upserts(self) -> pa.Table:
        return self.rows if not self.deleted.any() else self.rows.filter(pa.array(~self.deleted))

    def deletes(self) -> pa.Table:
        return self.rows.filter(pa.array(self.deleted))


def deleted_mask(rows: pa.Table, *, all_deleted: bool = False) -> npt.NDArray[np.bool_]:
    """Which rows are deletes: all of a delete operation, else those whose ``_hoodie_is_deleted`` is true."""
    if all_deleted:
        return np.ones(rows.num_rows, bool)
    index = rows.schema.get_field_index(IS_DELETED)
    if index < 0 or not pa.types.is_boolean(rows.schema.field(index).type):
        return np.zeros(rows.num_rows, bool)
    return np.asarray(pc.fill_null(rows.column(index), False), bool)


def precombine(rows: pa.Table, ordering: str | None) -> pa.Table:
    """One row for each record key: the one of the greatest ordering value, of equal ones the last.

    :raises BadRecordError: a null ordering value.
    """
    keys = rows.column(RECORD_KEY)
    if ordering is not None and rows.column(ordering).null_count:
        raise BadRecordError(
            f"{rows.column(ordering).null_count} records have no value in the precombine field {ordering}",
            todo="fill it in the source or choose another field",
            column=ordering,
        )
    if pc.count_distinct(keys).as_py() == rows.num_rows:
        return rows
    codes = _codes(keys)
    rank = np.zeros(rows.num_rows, np.int64) if ordering is None else _rank(rows.column(ordering))
    return rows.take(pa.array(np.sort(last_of_each(codes, rank))))


def last_of_each(codes: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each code the position of its highest rank, of equal ranks the last position; in the order of the codes."""
    order = np.lexsort((np.arange(len(codes)), rank, codes))
    sorted_codes = codes[order]
    is_last = np.ones(len(codes), bool)
    is_last[:-1] = sorted_codes[1:] != sorted_codes[:-1]
    return order[is_last]


def _codes(keys: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    encoded = keys.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64)


def _rank(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A dense rank of the values, ascending: equal values share one."""
    return np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
