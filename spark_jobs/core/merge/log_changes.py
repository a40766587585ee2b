"""The blocks of a slice's logs, folded into one change for each key (Hudi: HoodieMergedLogRecordScanner)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.files.log_reader import LogData, LogDeletes, LogScan
from spark_jobs.core.merge.changes import Changes, last_of_each
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY


def fold_log(scan: LogScan, schema: pa.Schema, ordering: str | None) -> Changes:
    """What the logs say of each key, newest word last.

    A record yields only to a record or delete of equal or greater ordering value; a delete without one (the integer 0),
    or with one of another type, always wins over what came before; any record wins over an earlier delete.
    """
    if not scan.entries:
        return Changes(schema.empty_table(), np.zeros(0, bool))
    rows = pa.concat_tables(
        [conform(one.table, schema) if isinstance(one, LogData) else _delete_rows(one, schema) for one in scan.entries]
    )
    deleted = np.concatenate([np.full(_count(one), isinstance(one, LogDeletes)) for one in scan.entries])
    encoded = rows.column(RECORD_KEY).combine_chunks().dictionary_encode()
    if len(encoded.dictionary) == rows.num_rows:
        return Changes(rows, deleted)
    codes = np.asarray(encoded.indices).astype(np.int64)
    if ordering is None:
        winners = last_of_each(codes, np.zeros(len(codes), np.int64))
    else:
        kind = schema.field(ordering).type
        values = [_delete_orderings(one, kind) for one in scan.entries]
        winners = _winners(rows.column(ordering), codes, deleted, [value for part in values for value in part])
    order = np.sort(winners)
    return Changes(rows.take(pa.array(order)), deleted[order])


def _count(entry: LogData | LogDeletes) -> int:
    return entry.table.num_rows if isinstance(entry, LogData) else len(entry.keys)


def _delete_orderings(entry: LogData | LogDeletes, kind: pa.DataType) -> list[Any]:
    """For each delete its ordering value as the column has it, or None where it wins over any value of a record."""
    if isinstance(entry, LogData):
        return [None] * entry.table.num_rows
    stored = entry.orderings
    if pa.types.is_timestamp(kind) and pa.types.is_int64(stored.type):
        stored = stored.cast(kind)  # Hudi keeps timestamps as the long that Avro has
    if pa.types.is_decimal(kind) and pa.types.is_decimal(stored.type):
        return list(stored.to_pylist())
    if not stored.type.equals(kind):
        return [None] * len(stored)
    values = stored.to_pylist()
    return [None if pa.types.is_int32(kind) and value == 0 else value for value in values]


def _delete_rows(event: LogDeletes, schema: pa.Schema) -> pa.Table:
    count = len(event.keys)
    known = {RECORD_KEY: event.keys, PARTITION_PATH: event.partitions}
    columns = [known.get(field.name) for field in schema]
    return pa.Table.from_arrays(
        [
            pa.nulls(count, field.type) if column is None else column
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )


def _winners(
    ordering: pa.ChunkedArray,
    codes: npt.NDArray[np.int64],
    deleted: npt.NDArray[np.bool_],
    delete_orderings: list[Any],
) -> npt.NDArray[np.int64]:
    """Positions of the events that stay, one for each key."""
    ranks = np.asarray(pc.rank(ordering, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    ranks[np.asarray(pc.is_null(ordering))] = 0  # below every value, whose ranks begin at 1
    winners = last_of_each(codes, ranks)
    # of keys with a delete among several events the whole story is told, one event after the other
    mixed = np.unique(codes[deleted])
    if not len(mixed):
        return winners
    story = np.flatnonzero(np.isin(codes, mixed))
    values = ordering.take(pa.array(story)).to_pylist()
    state: dict[int, tuple[int, Any]] = {}
    for position, value in zip(story.tolist(), values, strict=True):
        code = int(codes[position])
        before = state.get(code)
        if before is not None and not deleted[before[0]]:
            own = delete_orderings[position]
            if deleted[position]:
                stays = own is not None and before[1] is not None and before[1] > own
            else:
                stays = ranks[before[0]] > ranks[position]
            if stays:
                continue
        state[code] = (position, value)
    untouched = winners[~np.isin(codes[winners], mixed)]
    told = np.array([position for position, _ in state.values()], np.int64)
    return np.concatenate([untouched, told])
