"""The blocks of a slice's logs, folded into one change for each key (Hudi: HoodieMergedLogRecordScanner)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.log_reader import LogData, LogDeletes
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.keygen.virtual import with_keys
from spark_jobs.core.merge.changes import Changes, dense_ranks
from spark_jobs.core.merge.fold import I64, fold
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.merge.protocol import Payload
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.fixed import nulls_of
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY

_FOLD_ROWS = 1 << 18
"""So many events are held, or as many as there are keys, before they are folded."""


def fold_log(
    entries: Iterable[LogData | LogDeletes],
    schema: pa.Schema,
    ordering: str | None,
    virtual_keys: KeySpec | None = None,
    payload: Payload = OVERWRITE,
) -> Changes:
    """What the logs say of each key, newest word last; the keys are computed where there are ``virtual_keys``.

    Records are combined by the payload: mostly one yields only to a record of equal or greater ordering value. A delete
    without an ordering value (the integer 0), or with one of another class in Java than the record's, always wins over
    what came before, others if the record's is not greater; any record wins over an earlier delete. Records that the
    payload takes for deletes are deletes in the end.

    A few blocks and one event for each key are in memory at a time: an earlier fold is as good as the events that it
    was made of, because of a deleted key only that it is deleted matters.

    :raises CorruptTableError: a record or a delete without a key.
    """
    folded = Changes(schema.empty_table(), np.zeros(0, bool))
    held: list[LogData | LogDeletes] = []
    count = 0
    for entry in _keyed(entries, schema, virtual_keys):
        held.append(entry)
        count += _count(entry)
        if count >= max(_FOLD_ROWS, len(folded.deleted)):
            folded, held, count = _fold(folded, held, schema, ordering, payload), [], 0
    if held:
        folded = _fold(folded, held, schema, ordering, payload)
    return Changes(folded.rows, folded.deleted | payload.is_delete(folded.rows)) if folded.rows.num_rows else folded


def _keyed(
    entries: Iterable[LogData | LogDeletes], schema: pa.Schema, virtual_keys: KeySpec | None
) -> Iterable[LogData | LogDeletes]:
    if virtual_keys is None:
        return entries
    return (
        replace(one, table=with_keys(conform(one.table, schema), virtual_keys)) if isinstance(one, LogData) else one
        for one in entries
    )


def _fold(
    before: Changes,
    entries: list[LogData | LogDeletes],
    schema: pa.Schema,
    ordering: str | None,
    payload: Payload,
) -> Changes:
    rows = pa.concat_tables(
        [
            before.rows,
            *(conform(one.table, schema) if isinstance(one, LogData) else _delete_rows(one, schema) for one in entries),
        ]
    )
    deleted = np.concatenate([before.deleted, *(np.full(_count(one), isinstance(one, LogDeletes)) for one in entries)])
    encoded = rows.column(RECORD_KEY).combine_chunks().dictionary_encode()
    if encoded.null_count:
        raise CorruptTableError(f"{encoded.null_count} records or deletes in a slice's logs have no record key")
    if len(encoded.dictionary) == rows.num_rows:
        return Changes(rows, deleted)
    codes = np.asarray(encoded.indices).astype(np.int64)
    if ordering is None:
        ranks = np.zeros(len(codes), np.int64)
    else:
        kind = schema.field(ordering).type
        values = [before.rows.column(ordering), *(_orderings(one, schema, ordering, kind) for one in entries)]
        ranks = _ranks(values, kind)
    return Changes(*fold(rows, deleted, codes, ranks, payload, wins=deleted & (ranks == 0)))


def _count(entry: LogData | LogDeletes) -> int:
    return entry.table.num_rows if isinstance(entry, LogData) else len(entry.keys)


def _orderings(entry: LogData | LogDeletes, schema: pa.Schema, ordering: str, kind: pa.DataType) -> Any:
    """The ordering values of a block as the column has them; of deletes null where one wins over every record."""
    if isinstance(entry, LogData):
        return conform(entry.table.select([ordering]), pa.schema([schema.field(ordering)])).column(0)
    stored: Any = entry.orderings
    if stored.type != _class_in_records(kind):
        return pa.nulls(len(stored), kind)
    values = stored.cast(kind)
    return pc.if_else(pc.equal(stored, 0), pa.scalar(None, kind), values) if pa.types.is_int32(stored.type) else values


def _class_in_records(kind: pa.DataType) -> pa.DataType | None:
    """The type that ``DeleteRecords`` tells of ordering values of the class that records of such a column have in Java;
    None where deletes never have that class.

    Hudi compares values of one class alone (ReflectionUtils.isSameClass). It takes those of records as Avro holds them:
    a date is an Integer, a text a Utf8, a decimal a Fixed. In a delete these are a LocalDate, a String, a BigDecimal.
    """
    if pa.types.is_date32(kind) or pa.types.is_time32(kind) or (pa.types.is_integer(kind) and kind.bit_width < 64):
        return pa.int32()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return pa.int64()
    if pa.types.is_string(kind):
        return pa.large_string()
    return None if pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind) else kind


def _ranks(values: list[Any], kind: pa.DataType) -> I64:
    """A rank of all ordering values from 1 on; 0 where there is none.

    Of decimals the negative ones are the greatest: of the bytes that Avro has for them Hudi compares each without a
    sign (GenericData.Fixed).
    """
    chunks = [chunk for each in values for chunk in (each.chunks if isinstance(each, pa.ChunkedArray) else [each])]
    column = pa.chunked_array(chunks, kind)
    ranks = dense_ranks(column)
    if pa.types.is_decimal(kind):
        negative = pc.fill_null(pc.less(column, pa.scalar(Decimal(0), kind)), False)
        ranks[np.asarray(negative)] += len(ranks)
    ranks[np.asarray(pc.is_null(column))] = 0
    return ranks


def _delete_rows(event: LogDeletes, schema: pa.Schema) -> pa.Table:
    count = len(event.keys)
    known = {RECORD_KEY: event.keys, PARTITION_PATH: event.partitions}
    columns = [known.get(field.name) for field in schema]
    return pa.Table.from_arrays(
        [
            nulls_of(count, field.type) if column is None else column
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )
