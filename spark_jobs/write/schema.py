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
    added = [field for field in source if field.name not in known.names]
    if not added:
        return table_schema, known
    merged = pa.schema([*known, *added])
    extra = {field["name"]: field for field in avro_schema_of(merged, table)["fields"]}
    fields = [*table_schema["fields"], *[extra[field.name] for field in added]]
    return {**table_schema, "fields": fields}, merged
