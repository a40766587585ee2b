"""The schema that a write stores: what its source and the table come to, whoever reads the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.read.table_schema import schema_metadata
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.reconcile import SchemaRules, WriterSchema
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.key_settings import refuse_other_key_types
from spark_jobs.write.writer_schema import schema_with_ids, writer_schema

_OWN_COLUMNS = "_pyhudi_"
"""How the columns begin that the steps of a write add to the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSchema:
    """``schema`` is the writer's, ``evolution`` the history that the table has of its own."""

    config: WriteConfig
    schema: WriterSchema
    evolution: SchemaEvolution | None

    @property
    def avro_schema(self) -> dict[str, Any]:
        return self.schema.avro

    @property
    def arrow_schema(self) -> pa.Schema:
        return arrow_schema_of(self.schema.avro)

    @property
    def evolution_of_old_files(self) -> SchemaEvolution | None:
        """Where the columns of this write are in the files of others, on a table with a schema history."""
        if self.evolution is None or self.schema.internal is None:
            return None
        return replace(self.evolution, wanted=self.schema.internal)

    def schema_metadata(self, instant: str) -> tuple[dict[str, str | None], InternalSchema | None]:
        """What the commit says of the schema, and the version that it adds to the schema history, if any."""
        internal = schema_with_ids(self.schema, self.config.properties, instant)
        return schema_metadata(self.avro_schema, internal), internal


def refuse_own_name(name: str) -> None:
    """
    :raises ConfigError: a column of the source has a name that writing needs for one of its own.
    """
    if name.lower().startswith(_OWN_COLUMNS):
        raise ConfigError(
            f"the source has a column {name}, and writing has one of that name for its own use",
            todo="rename it in the source",
            column=name,
        )


def needs_keys_alone(config: WriteConfig) -> bool:
    """Whether records are named by keys or partition paths, and none of their columns is stored."""
    return config.operation in (Operation.DELETE, Operation.DELETE_PARTITION)


def settle_schema(
    columns: Callable[[], pa.Schema] | None, config: WriteConfig, table: HudiTable | None
) -> StoredSchema:
    """
    :param columns: gives those of the source, all nullable, without meta columns; None where there is no source.
    :raises ConfigError: a column is of a type that the table's can't take, or nothing says what the columns are.
    """
    known = table.known_avro_schema() if table else None
    evolution = table.evolution_at() if table else None
    history = evolution.wanted if evolution else None
    if known is not None and needs_keys_alone(config):
        schema = WriterSchema(avro=known, internal=history)
    else:
        if columns is None:
            raise ConfigError(
                f"table {config.name} has no schema yet, and no source is given", todo="write to it first"
            )
        schema = writer_schema(known, columns(), config.name, SchemaRules.of(config.properties), history)
    if columns is not None:
        virtual = config.virtual_keys is not None and config.operation is not Operation.DELETE_PARTITION
        refuse_other_key_types(columns(), arrow_schema_of(known or schema.avro), config.key_spec, virtual=virtual)
    return StoredSchema(config=config, schema=schema, evolution=evolution)
