"""Which rows of a source the table can't take: no key, no folder, no ordering value, a value of another type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.fit import ColumnFit, Fit, column_fits
from spark_jobs.core.schema.reconcile import SchemaRules
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.error_rows import PROBLEM, CheckedRows, ErrorReason, problem, row_as_json
from spark_jobs.write.keys import ambiguity, key_parts, limit_refusal, no_key, partition_problem, require_columns
from spark_jobs.write.schema import source_schema

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_REALS = (FloatType, DoubleType)
_NUMBERS = (*_INTEGERS, *_REALS, DecimalType)
_FROM_TEXT = (*_NUMBERS, BooleanType, DateType, TimestampType, TimestampNTZType)
_WIDEST = DecimalType(38, 18)


def check_rows(source: DataFrame, config: WriteConfig, table: HudiTable | None, *, retype: bool) -> CheckedRows:
    """Every row with what is wrong with it, of several things the first.

    :param retype: whether columns of another type than the table's get that type, value by value, where it can be
        decided for each value whether it has one.
    :raises ConfigError: the source lacks a column by which records go.
    """
    spec = config.key_spec
    if config.operation is not Operation.DELETE_PARTITION:
        require_columns(source, spec.record_key_fields, "record key field")
    require_columns(source, spec.partition_fields, "partition path field")
    row, place = row_as_json(source.columns), F.lit(None)
    found = []

    def add(is_bad: Column, reason: ErrorReason, column: str, message: Column | str) -> None:
        found.append(F.when(is_bad, problem(reason, column, message, row, place)))

    if config.operation is not Operation.DELETE_PARTITION:
        fields = spec.record_key_fields
        missing, key = key_parts(source, spec, virtual=not config.populate_meta_fields)
        add(missing, ErrorReason.RECORD_CREATION, ",".join(fields), no_key(fields))
        if spec.refuses_ambiguous:
            why = ambiguity(source, spec)
            add(why.isNotNull(), ErrorReason.RECORD_CREATION, ",".join(fields), why)
        if spec.limit is not None:
            why = limit_refusal(key, spec.limit)
            add(why.isNotNull(), ErrorReason.RECORD_CREATION, ",".join(fields), why)
    for part in spec.parts:
        why = partition_problem(source, part, spec)
        add(why.isNotNull(), ErrorReason.RECORD_CREATION, part.field, why)
    ordering = config.precombine_field
    if ordering and config.combine and config.operation is not Operation.DELETE and ordering in source.columns:
        message = f"a record has no value in the precombine field {ordering}: fill it in the source or choose another"
        add(F.col(f"`{ordering}`").isNull(), ErrorReason.RECORD_CREATION, ordering, message)
    casts = dict(_casts(source, config, table))
    for name, (_, is_lost, kind) in casts.items():
        message = f"a value of column {name} is no {kind}, which the table has there: convert it in the source"
        add(is_lost, ErrorReason.INVALID_RECORD_SCHEMA, name, message)
    checked = source.withColumn(PROBLEM, F.coalesce(*found))
    if retype and casts:
        checked = checked.withColumns({name: cast for name, (cast, _, _) in casts.items()})
    return CheckedRows(rows=checked)


def _casts(
    source: DataFrame, config: WriteConfig, table: HudiTable | None
) -> Iterator[tuple[str, tuple[Column, Column, str]]]:
    """By column: its values in the table's type, whether a value is lost by that, and the type's name."""
    known = table.known_avro_schema() if table else None
    if known is None or config.operation in (Operation.DELETE, Operation.DELETE_PARTITION):
        return
    stored = {field.name: from_arrow_type(field.type) for field in arrow_schema_of(known)}
    given = {field.name: field.dataType for field in source.schema.fields}
    for name in columns_to_convert(known, avro_schema_of(source_schema(source), config.name), config.properties):
        pair = given[name], stored[name]
        if _can_tell(*pair):
            column = F.col(f"`{name}`")
            cast = column.try_cast(pair[1])
            yield name, (cast, column.isNotNull() & _is_lost(column, cast, *pair), pair[1].simpleString())


def columns_to_convert(
    table: Mapping[str, Any], source: Mapping[str, Any], properties: Mapping[str, str]
) -> tuple[str, ...]:
    """Columns whose values fit the table's type one by one at best: the types are refused, or text stands for another
    type, which the table's column would else become.
    """

    def is_text_for(one: ColumnFit) -> bool:
        return one.source == "string" and one.table not in (None, "string", "binary")

    fits = column_fits(table, source, SchemaRules.of(properties))
    return tuple(one.name for one in fits if "." not in one.name and (one.fit is Fit.OTHER_TYPE or is_text_for(one)))


def _can_tell(given: DataType, stored: DataType) -> bool:
    if isinstance(given, StringType):
        return isinstance(stored, _FROM_TEXT)
    return isinstance(given, _NUMBERS) and isinstance(stored, _NUMBERS)


def _is_lost(column: Column, cast: Column, given: DataType, stored: DataType) -> Column:
    """Whether the value has no counterpart in the type, or a different value in it."""
    is_lost = cast.isNull()
    if isinstance(given, StringType):
        if isinstance(stored, DecimalType):
            return is_lost | ~column.try_cast(_WIDEST).eqNullSafe(cast.cast(_WIDEST))
        if isinstance(stored, DateType):  # Spark takes the date of a longer text
            return is_lost | (F.length(F.trim(column)) > 10)
        return is_lost
    if isinstance(stored, _REALS) and isinstance(given, FloatType | DoubleType):
        return is_lost | ~cast.cast(given).eqNullSafe(column)
    return is_lost | ~cast.try_cast(given).eqNullSafe(column)
