"""A source's schema as the user gives it: Spark's DDL, or a file of Avro's JSON (Hudi: FilebasedSchemaProvider)."""

from __future__ import annotations

import json

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_jobs.core.config.keys.streamer import SOURCE_SCHEMA_FILE
from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.ingest import IngestOptions


def declared_schema(options: IngestOptions, lake: Lake) -> StructType | None:
    """None where Spark is to find it.

    :raises ConfigError: the text, or the file, is no schema.
    """
    if options.source_schema:
        try:
            found = StructType.fromDDL(options.source_schema)
        except (PySparkException, Py4JError) as error:
            why = failure_of(error).message.partition(" SQLSTATE")[0]
            raise ConfigError(
                f"--source-schema {options.source_schema} is not valid ({why})",
                todo="give for instance: id bigint, name string",
            ) from error
        return found if isinstance(found, StructType) else StructType().add("value", found)
    path = SOURCE_SCHEMA_FILE.of(options.hoodie_properties())
    if not path:
        return None
    try:
        place = lake.place(path)
        return from_arrow_schema(arrow_schema_of(json.loads(place.storage.read(place.path))))
    except (HudiError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{SOURCE_SCHEMA_FILE.name}={path} holds no schema ({error})",
            todo="give the path or URL of a record in Avro's JSON",
        ) from error
