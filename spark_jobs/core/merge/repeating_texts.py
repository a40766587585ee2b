"""Texts that repeat kept as dictionaries on their way from one version of a base file to the next.

Parquet stores them so, and a merge that gathers their numbers spares making, hashing and comparing every text.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from spark_jobs.core.files.repeating import repeating_columns
from spark_jobs.core.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, FILE_NAME, PARTITION_PATH, RECORD_KEY

_ALWAYS = (COMMIT_TIME, PARTITION_PATH, FILE_NAME)
_NEVER = (RECORD_KEY, COMMIT_SEQNO)


def repeating_texts(changes: pa.Table, schema: pa.Schema) -> list[str]:
    """Text columns of a base file that a dictionary seems to pay for, by the changes that are laid over it."""
    own = [
        name
        for name in changes.schema.names
        if name not in _ALWAYS + _NEVER and pa.types.is_string(schema.field(name).type)
    ]
    return [*_ALWAYS, *repeating_columns(changes.select(own))]


def with_dictionaries_of(stored: pa.Schema, schema: pa.Schema) -> pa.Schema:
    """``schema`` with those texts as dictionaries that are dictionaries of texts in ``stored``."""
    fields = []
    for field in schema:
        index = stored.get_field_index(field.name)
        kind = stored.field(index).type if index >= 0 else None
        is_same = isinstance(kind, pa.DictionaryType) and kind.value_type.equals(field.type)
        fields.append(field.with_type(kind) if is_same else field)
    return pa.schema(fields)


def encoded(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns encoded that ``schema`` has as dictionaries."""
    columns = [
        column.dictionary_encode() if pa.types.is_dictionary(field.type) and pa.types.is_string(column.type) else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def joined(stored: Any, new: Any) -> Any:
    """A dictionary array with the values of another array, encoded or not, behind it."""
    chunks = [stored, new if pa.types.is_dictionary(new.type) else new.dictionary_encode()]
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
