"""Rows in one schema, made to fit another: columns by name, missing ones null, types widened."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError


def conform(batch: pa.RecordBatch | pa.Table, schema: pa.Schema) -> pa.RecordBatch | pa.Table:
    """The columns of ``schema`` in its order; columns of ``batch`` that it lacks are dropped.

    :raises BadRecordError: a value does not fit its column's type.
    """
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        columns.append(_cast(batch.column(index), field))
    return type(batch).from_arrays(columns, schema=schema)


def _cast(column: pa.Array | pa.ChunkedArray, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    if column.type.equals(field.type):
        return column
    try:
        return pc.cast(column, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadRecordError(
            f"column {field.name} holds {column.type}, the table has {field.type} ({str(error).splitlines()[0]})",
            todo="convert the column in the source",
            column=field.name,
        ) from error
