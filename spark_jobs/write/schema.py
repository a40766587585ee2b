"""The schema that a write stores: the table's, with what the source adds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.avro_schema import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.meta_fields import without_meta_fields


def source_schema(source: DataFrame) -> pa.Schema:
    """Arrow schema of the source, timestamps in UTC, every column nullable, meta columns left out."""
    found = to_arrow_schema(source.schema, timezone="UTC", error_on_duplicated_field_names_in_struct=True)
    return without_meta_fields(pa.schema([field.with_nullable(True) for field in found]))


def writer_schema(
    table_schema: dict[str, Any] | None, source: pa.Schema, table: str
) -> tuple[dict[str, Any], pa.Schema]:
    """Avro and Arrow schema of a write, both without meta columns.

    Columns of the table come first, in its order; new ones of the source follow.

    :raises ConfigError: the source lacks a column of the table.
    """
    if table_schema is None:
        return avro_schema_of(source, table), source
    known = arrow_schema_of(table_schema)
    missing = [name for name in known.names if name not in source.names]
    if missing:
        raise ConfigError(
            f"the source has no column {missing[0]}, which the table has",
            todo="add it (null where there is nothing to say); its columns are " + ", ".join(source.names),
            column=missing[0],
        )
    for field in known:
        _refuse_loss(field, source.field(field.name).type, table)
    added = [field for field in source if field.name not in known.names]
    if not added:
        return table_schema, known
    merged = pa.schema([*known, *added])
    extra = {field["name"]: field for field in avro_schema_of(merged, table)["fields"]}
    fields = [*table_schema["fields"], *[extra[field.name] for field in added]]
    return {**table_schema, "fields": fields}, merged


def _refuse_loss(stored: pa.Field, given: pa.DataType, table: str) -> None:
    """
    :raises ConfigError: values of the source's type would lose something in the table's column, without a word.
    """
    nested = pa.types.is_nested(stored.type) and not _same_shape(stored.type, given)
    narrowed = pa.types.is_float32(stored.type) and pa.types.is_float64(given)
    if nested or narrowed:
        raise ConfigError(
            f"column {stored.name} is {given} in the source and {stored.type} in table {table}",
            todo="convert it in the source",
            column=stored.name,
        )


def _same_shape(stored: pa.DataType, given: pa.DataType) -> bool:
    """Equal but for the names of list items and nullability."""
    if pa.types.is_struct(stored) and pa.types.is_struct(given):
        theirs = {field.name: field.type for field in given}
        return {field.name for field in stored} == set(theirs) and all(
            _same_shape(field.type, theirs[field.name]) for field in stored
        )
    if pa.types.is_map(stored) and pa.types.is_map(given):
        return _same_shape(stored.key_type, given.key_type) and _same_shape(stored.item_type, given.item_type)
    if pa.types.is_list(stored) and pa.types.is_list(given):
        return _same_shape(stored.value_type, given.value_type)
    return not pa.types.is_nested(given) and bool(stored.equals(given))
