"""The schema that a write stores, from a DataFrame and what the table has."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from spark_jobs.core.config.keys import streamer as streamer_keys
from spark_jobs.core.schema.avro import sanitize_name
from spark_jobs.core.schema.meta_fields import without_meta_fields
from spark_jobs.engine.spark_api import arrow_schema
from spark_jobs.write.stored_schema import refuse_own_name

_OF_SOURCES = ("_pyhudi_corrupt", "_pyhudi_problem")
"""Those that reading a source adds itself, for rows that don't fit."""


def with_valid_names(source: DataFrame, properties: Mapping[str, str]) -> DataFrame:
    """The source with columns renamed, inner ones too, whose names Avro does not have, where the options ask for it.

    Source: ``org.apache.hudi.utilities.sources.helpers.SanitizationUtils``.
    """
    if not streamer_keys.SANITIZE_NAMES.of(properties):
        return source
    mask = streamer_keys.SANITIZE_MASK.of(properties)
    columns = []
    for field in source.schema.fields:
        renamed = _renamed(field, mask)
        quoted = field.name.replace("`", "``")
        columns.append(F.col(f"`{quoted}`").cast(renamed.dataType).alias(renamed.name))
    return source.select(columns)


def _renamed(field: StructField, mask: str) -> StructField:
    return StructField(sanitize_name(field.name, mask), _with_renamed_fields(field.dataType, mask), field.nullable)


def _with_renamed_fields(kind: DataType, mask: str) -> DataType:
    if isinstance(kind, StructType):
        return StructType([_renamed(field, mask) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_with_renamed_fields(kind.elementType, mask), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _with_renamed_fields(kind.valueType, mask), kind.valueContainsNull)
    return kind


def source_schema(source: DataFrame) -> pa.Schema:
    """Arrow schema of the source, timestamps in UTC, every column nullable, meta columns left out.

    :raises ConfigError: a column has a name that writing needs for one of its own.
    """
    for name in source.columns:
        if not name.startswith(_OF_SOURCES):
            refuse_own_name(name)
    found = arrow_schema(source.schema)
    return without_meta_fields(pa.schema([field.with_nullable(True) for field in found]))
