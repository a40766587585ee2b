"""Record key and partition path as Spark columns, by the rules of Hudi's key generators."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, DecimalType, TimestampNTZType, TimestampType

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.spec import DEFAULT_PARTITION, EMPTY_PLACEHOLDER, ESCAPED, NULL_PLACEHOLDER, KeySpec


def require_columns(source: DataFrame, names: tuple[str, ...], what: str) -> None:
    """
    :raises ConfigError: the source lacks one of the columns.
    """
    missing = [name for name in names if _type_of(source, name) is None]
    if missing:
        raise ConfigError(
            f"the source has no column {missing[0]}, which is a {what}",
            todo="its columns are " + ", ".join(source.columns),
            column=missing[0],
        )


def record_key(source: DataFrame, spec: KeySpec) -> Column:
    """The record key; a row whose key is null or empty fails the job when it is computed."""
    fields = spec.record_key_fields
    texts = {name: _text(source, name) for name in fields}
    if len(fields) == 1:
        value = texts[fields[0]]
        return F.when(F.coalesce(value, F.lit("")) == "", _bad_key(fields)).otherwise(value)
    parts = [
        F.concat(
            F.lit(f"{name}:"),
            F.coalesce(
                F.when(texts[name] == "", F.lit(EMPTY_PLACEHOLDER)).otherwise(texts[name]), F.lit(NULL_PLACEHOLDER)
            ),
        )
        for name in fields
    ]
    nothing = reduce(lambda left, right: left & right, [F.coalesce(texts[name], F.lit("")) == "" for name in fields])
    return F.when(nothing, _bad_key(fields)).otherwise(F.concat_ws(",", *parts))


def partition_path(source: DataFrame, spec: KeySpec) -> Column:
    """The partition path relative to the base path; ``""`` without partition columns."""
    parts = [_partition_part(source, name, spec) for name in spec.partition_fields]
    return F.concat_ws("/", *parts) if parts else F.lit("")


def _bad_key(fields: tuple[str, ...]) -> Column:
    names = ", ".join(fields)
    return F.raise_error(
        F.lit(
            f"spark_jobs.core.errors.BadRecordError: a record has no value in its key ({names}): fill it in the source"
        )
    ).cast("string")


def _partition_part(source: DataFrame, name: str, spec: KeySpec) -> Column:
    value = F.coalesce(_text(source, name), F.lit(""))
    escaped = _escape(value) if spec.url_encode else value
    filled = F.when(value == "", F.lit(DEFAULT_PARTITION)).otherwise(escaped)
    part = F.concat(F.lit(f"{name}="), filled) if spec.hive_style else filled
    outside = F.array_contains(F.split(part, "/"), "..") | F.array_contains(F.split(part, "/"), ".")
    message = (
        f"spark_jobs.core.errors.BadRecordError: a value of partition column {name} leads out of the table "
        "(it has . or .. as a path part)"
    )
    return F.when(outside, F.raise_error(F.lit(message)).cast("string")).otherwise(part)


def _escape(value: Column) -> Column:
    for char in ["%", *sorted(ESCAPED - {"%"})]:
        value = F.replace(value, F.lit(char), F.lit(f"%{ord(char):02X}"))
    return value


def _text(source: DataFrame, name: str) -> Column:
    """A value as Java's toString shows it after Avro's logical conversion: timestamps stay raw microseconds."""
    kind, column = _type_of(source, name), F.col(name)
    if isinstance(kind, TimestampType):
        return F.unix_micros(column).cast("string")
    if isinstance(kind, TimestampNTZType):
        return F.unix_micros(F.to_utc_timestamp(column, F.current_timezone())).cast("string")
    if isinstance(kind, BinaryType):
        raise ConfigError(
            f"column {name} is binary and can't be a key or partition column", todo="choose another", column=name
        )
    if isinstance(kind, DecimalType):
        return column.try_cast(
            "string"
        )  # as BigDecimal.toString, with an exponent where it has one; ANSI casts write it out
    return column.cast("string")


def _type_of(source: DataFrame, name: str) -> DataType | None:
    matches = [field.dataType for field in source.schema.fields if field.name == name.split(".")[0]]
    return matches[0] if matches else None
