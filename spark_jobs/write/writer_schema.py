"""The writer's schema by what the table has, and its version in the schema history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import schema as schema_keys
from spark_jobs.core.schema.avro import avro_schema_of, with_meta_fields
from spark_jobs.core.schema.evolution import schema_version
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.core.schema.reconcile import SchemaRules, WriterSchema, deduce_writer_schema


def writer_schema(
    table_schema: dict[str, Any] | None,
    source: pa.Schema,
    table: str,
    rules: SchemaRules,
    history: InternalSchema | None = None,
) -> WriterSchema:
    """The schema of a write into ``table`` (its name), by :func:`deduce_writer_schema`.

    :raises ConfigError: the source lacks a column of the table, or has one of a type that would lose values.
    """
    return deduce_writer_schema(table_schema, avro_schema_of(source, table), rules, history)


def schema_with_ids(schema: WriterSchema, properties: Mapping[str, str], time: str) -> InternalSchema | None:
    """What the write ``time`` adds to the schema history: nothing where there is none and the options start none."""
    internal = schema.internal
    if (
        internal is None
        and schema_keys.SCHEMA_ON_READ.of(properties)
        and datasource_keys.RECONCILE_SCHEMA.of(properties)
    ):
        internal = internal_of(with_meta_fields(schema.avro))
    return internal if internal is None or internal.version else internal.at(schema_version(time))
