"""From the messages of a topic to rows (Hudi: JsonKafkaSource, AvroKafkaSource)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, TypeVar, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.core.config.keys.streamer import KAFKA_APPEND_OFFSETS, SOURCE_SCHEMA_FILE
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.spark_api import HAS_ARROW_UDF, is_utf8
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.error_rows import PROBLEM, CheckedRows, ErrorReason, problem
from spark_jobs.write.json_text import is_one_value
from spark_jobs.write.source_schema import declared_schema
from spark_jobs.write.sources.avro_values import decode_values
from spark_jobs.write.transformers import steps_of

E = TypeVar("E", bound=StrEnum)

PREFIX = "value."
_CORRUPT = "_pyhudi_corrupt"
_PLACES = {
    "_hoodie_kafka_source_offset": "offset",
    "_hoodie_kafka_source_partition": "partition",
    "_hoodie_kafka_source_timestamp": "unix_millis(timestamp)",
    "_hoodie_kafka_source_key": "cast(key as string)",
}
"""Column that Hudi adds -> what of the message it holds."""


class ValueFormat(StrEnum):
    """What the value of a message is; of ``string`` the rows are the messages themselves."""

    JSON = "json"
    AVRO = "avro"
    STRING = "string"


class Tombstones(StrEnum):
    """What becomes of messages without a value, which Kafka takes for deletions."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageValues:
    """How messages become rows.

    ``schema`` is that of the values, ``avro`` the same as JSON text, needed for Avro alone; ``options`` are those of
    Spark's ``from_json``. With ``with_place`` the rows say where they came from, in Hudi's columns.
    """

    format: ValueFormat
    tombstones: Tombstones
    schema: StructType
    avro: str
    options: Mapping[str, str]
    with_place: bool

    @staticmethod
    def of(options: IngestOptions, table: HudiTable | None, lake: Lake) -> MessageValues:
        """
        :param options: effective ones; of the source's, ``value.format`` (json), ``value.tombstones`` (fail), and other
            ``value.*`` for Spark.
        :raises ConfigError: an unknown format, or no schema.
        """
        source_options = dict(options.source_options)
        given = {key.removeprefix(PREFIX): text for key, text in source_options.items() if key.startswith(PREFIX)}
        form = _one_of(ValueFormat, "format", given.pop("format", ValueFormat.JSON.value))
        tombstones = _one_of(Tombstones, "tombstones", given.pop("tombstones", Tombstones.FAIL.value))
        schema, avro = StructType(), ""
        file = _avro_file(options) if form is ValueFormat.AVRO else ""
        if form is not ValueFormat.STRING:
            declared = declared_schema(options, lake)
            if declared is None and steps_of(options):
                raise ConfigError(
                    "the values of a topic need a schema: what a transformer makes of them is the table's",
                    todo="give --source-schema with the columns before the transformer",
                )
            known = None if declared is not None or table is None else table.known_avro_schema()
            if known is not None:
                declared = from_arrow_schema(arrow_schema_of(known), prefer_timestamp_ntz=True)
            if declared is None:
                raise ConfigError(
                    "the values of a topic need a schema, and the table has none yet",
                    todo=f"give --hoodie-conf {SOURCE_SCHEMA_FILE.name}=FILE with an Avro schema, or --source-schema",
                    key=SOURCE_SCHEMA_FILE.name,
                )
            schema = declared
        if file:
            place = lake.place(file)
            avro = place.storage.read(place.path).decode()
        return MessageValues(
            format=form,
            tombstones=tombstones,
            schema=StructType([StructField(field.name, field.dataType, True) for field in schema.fields]),
            avro=avro,
            options=given,
            with_place=KAFKA_APPEND_OFFSETS.of(options.hoodie_properties()),
        )

    def rows(self, messages: DataFrame) -> DataFrame | CheckedRows:
        """The rows of messages as Spark's Kafka source gives them; those that can't be read carry their problem."""
        places = [F.expr(what).alias(name) for name, what in _PLACES.items()] if self.with_place else []
        if self.format is ValueFormat.STRING:
            texts = [F.col(name).cast("string").alias(name) for name in ("key", "value")]
            return messages.select(*texts, "topic", "partition", "offset", "timestamp", *places)
        if self.tombstones is Tombstones.SKIP:
            messages = messages.where(F.col("value").isNotNull())
        parsed = messages.select("*", self._parsed().alias("_pyhudi_value"))
        own = [name for name in self.schema.names if not (self.with_place and name in _PLACES)]
        fields = [F.col(f"_pyhudi_value.`{name}`").alias(name) for name in own]
        return CheckedRows(rows=parsed.select(*fields, *places, self._problem().alias(PROBLEM)))

    def _parsed(self) -> Column:
        if self.format is ValueFormat.JSON:
            schema = StructType([*self.schema.fields]).add(_CORRUPT, StringType())
            options = {**self.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
            return F.from_json(F.col("value").cast("string"), schema, options)
        avro = json.loads(self.avro)
        schema, mark = arrow_schema_of(avro), _CORRUPT

        def decode(values: pa.Array) -> pa.Array:
            return decode_values(values, avro, schema, mark)

        if not HAS_ARROW_UDF:
            raise ConfigError(
                "values in Avro are read from Spark 4.1 on", todo="run this job there, or write the topic in JSON"
            )
        by_arrow: Any = import_module("pyspark.sql.pandas.functions").arrow_udf
        return cast(Column, by_arrow(decode, StructType([*self.schema.fields]).add(mark, StringType()))(F.col("value")))

    def _problem(self) -> Column:
        """Null for a good message."""
        value = F.col("_pyhudi_value")
        shown = F.hex(F.col("value"))
        unread = value.isNull() | value[_CORRUPT].isNotNull()
        if self.format is ValueFormat.JSON:
            text = F.col("value").cast("string")
            unread = unread | ~is_utf8(text) | ~is_one_value(text, self.options)
            shown = F.when(is_utf8(text), text).otherwise(shown)
        place = F.concat(
            *(F.lit("topic "), F.col("topic"), F.lit(", partition "), F.col("partition").cast("string")),
            *(F.lit(", offset "), F.col("offset").cast("string")),
        )
        what = F.when(F.col("value").isNull(), F.lit(" has no value (a tombstone)")).otherwise(
            F.lit(f" is no {self.format.value.upper()} of the schema")
        )
        message = F.concat(F.lit("the message at "), place, what, F.lit(": correct it, or give --error-table."))
        found = problem(ErrorReason.CORRUPT_RECORD, None, message, shown, place)
        return F.when(F.col("value").isNull() | unread, found)


def _one_of(kind: type[E], name: str, text: str) -> E:
    for member in kind:
        if member.value == text.strip().lower():
            return member
    shown = ", ".join(member.value for member in kind)
    raise ConfigError(f"--source-option {PREFIX}{name}={text} is not valid", todo=f"give one of {shown}")


def _avro_file(options: IngestOptions) -> str:
    """The file with the schema by which values are decoded.

    :raises ConfigError: none is given. Neither Spark's DDL nor the table's schema, whose columns may all be null, says
        how Avro wrote a value.
    """
    file = SOURCE_SCHEMA_FILE.of(options.hoodie_properties())
    if options.source_schema or not file:
        instead = " in place of --source-schema" if options.source_schema else ""
        raise ConfigError(
            "values in Avro need the Avro schema that they were written by",
            todo=f"give --hoodie-conf {SOURCE_SCHEMA_FILE.name}=FILE{instead}",
            key=SOURCE_SCHEMA_FILE.name,
        )
    return file
