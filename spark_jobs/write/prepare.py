"""The source in the schema that the write stores, each row with its key and partition path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.read.table_schema import schema_metadata
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.schema.reconcile import SchemaRules, WriterSchema
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.key_limit import within
from spark_jobs.write.key_settings import refuse_other_key_types
from spark_jobs.write.keys import partition_path, record_key, require_columns
from spark_jobs.write.schema import schema_with_ids, source_schema, writer_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRows:
    """``source`` is what was read, ``None`` for a write that needs no rows; ``schema`` the writer's."""

    source: DataFrame | None
    config: WriteConfig
    schema: WriterSchema
    evolution: SchemaEvolution | None

    @property
    def keyed(self) -> DataFrame:
        """Key and partition path first, then those columns of the schema that the source has."""
        source = self._source
        names = [field["name"] for field in self.schema.avro["fields"]]
        spec, virtual = self.config.key_spec, not self.config.populate_meta_fields
        return source.select(
            within(record_key(source, spec, virtual=virtual), spec.limit).alias(RECORD_KEY),
            partition_path(source, spec).alias(PARTITION_PATH),
            *(F.col(f"`{name}`") for name in names if name in source.columns),
        )

    @property
    def partition_paths(self) -> DataFrame:
        """The distinct partition paths of the source, one column."""
        path = partition_path(self._source, self.config.key_spec)
        return self._source.select(path.alias(PARTITION_PATH)).distinct()

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

    @property
    def _source(self) -> DataFrame:
        if self.source is None:
            raise ConfigError("no source is given", todo="give --source")
        return self.source


def prepare(source: DataFrame | None, config: WriteConfig, table: HudiTable | None) -> PreparedRows:
    """Check the source's columns against the table and settle the schema; nothing is read yet.

    :raises ConfigError: a column is missing, or of a type that the table's can't take.
    """
    spec = config.key_spec
    takes_paths_alone = config.operation is Operation.DELETE_PARTITION
    if source is not None:
        if not takes_paths_alone:
            require_columns(source, spec.record_key_fields, "record key field")
        require_columns(source, spec.partition_fields, "partition path field")
    known = table.known_avro_schema() if table else None
    evolution = table.evolution_at() if table else None
    history = evolution.wanted if evolution else None
    if known is not None and (takes_paths_alone or config.operation is Operation.DELETE):
        schema = WriterSchema(avro=known, internal=history)  # keys or paths are all that is needed
    else:
        if source is None:
            raise ConfigError(
                f"table {config.name} has no schema yet, and no source is given", todo="write to it first"
            )
        if config.precombine_field and config.operation is not Operation.DELETE and not takes_paths_alone:
            require_columns(source, (config.precombine_field,), "precombine field")
            _require_order(source, config.precombine_field)
        rules = SchemaRules.of(config.properties)
        schema = writer_schema(known, source_schema(source), config.name, rules, history)
    if config.virtual_keys is not None and source is not None and not takes_paths_alone:
        refuse_other_key_types(source_schema(source), arrow_schema_of(schema.avro), spec)
    return PreparedRows(source=source, config=config, schema=schema, evolution=evolution)


def _require_order(source: DataFrame, precombine_field: str) -> None:
    """
    :raises ConfigError: the values of the column have no order, or it is within another.
    """
    if precombine_field not in source.columns:
        raise ConfigError(
            f"the precombine field {precombine_field} is a field of a struct, by which this release does not write",
            todo="name a column (a transformer can copy the field to one); to a table that has it, write with Hudi",
            column=precombine_field,
        )
    kind = next((field.dataType for field in source.schema.fields if field.name == precombine_field), None)
    if isinstance(kind, (ArrayType, MapType, StructType)):
        raise ConfigError(
            f"the precombine field {precombine_field} is of type {kind.simpleString()}, which has no order",
            todo="give --precombine-field a column of numbers, times or text",
            column=precombine_field,
        )
