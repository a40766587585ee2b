"""Record key and partition path as Spark columns, by the rules of Hudi's key generators.

What Spark's own functions can say stays in the JVM; times are formatted by ``core.keygen`` in Arrow batches.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.core.keygen.java_text import java_text
from spark_jobs.core.keygen.key_limit import KeyLimit
from spark_jobs.core.keygen.keys import ambiguous_key, partition_level, separators
from spark_jobs.core.keygen.path_names import (
    ENCODE_TODO,
    ESCAPED,
    LONG,
    LONG_TODO,
    MOST_BYTES,
    REFUSED_CHARS,
    REFUSED_PARTS,
    RESERVED,
    RESERVED_PATH,
    RESERVED_TODO,
    UNWRITABLE,
)
from spark_jobs.core.keygen.spec import (
    DEFAULT_PARTITION,
    EMPTY_PLACEHOLDER,
    NULL_PLACEHOLDER,
    KeySpec,
    PartitionPart,
)
from spark_jobs.engine.spark_api import texts_by_arrow
from spark_jobs.write.bad_record import bad_record

_NO_EXPONENT = 6
"""Up to so many places BigDecimal.toString has no exponent, and Spark's cast is the same; it never writes one."""


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


def record_key(source: DataFrame, spec: KeySpec, *, virtual: bool = False) -> Column:
    """The record key; a row whose key is null or empty fails the job when it is computed.

    :param virtual: keys are computed again by ``core.keygen``, to which they have to be equal letter by letter: so
        floating-point numbers, of which some Java releases write more digits than others, are not left to Java.
    """
    missing, key = key_parts(source, spec, virtual=virtual)
    checked = F.when(missing, bad_record(no_key(spec.record_key_fields), "string"))
    if spec.refuses_ambiguous:
        why = ambiguity(source, spec)
        checked = checked.when(why.isNotNull(), bad_record(why, "string"))
    return checked.otherwise(key)


def key_parts(source: DataFrame, spec: KeySpec, *, virtual: bool = False) -> tuple[Column, Column]:
    """Whether a row has no value in its key, and the key of one that has."""
    fields = spec.record_key_fields
    texts = {name: _text(source, name, spec, virtual=virtual) for name in fields}
    empty = {name: F.coalesce(text, F.lit("")) == "" for name, text in texts.items()}
    if not spec.composite_key:
        return empty[fields[0]], texts[fields[0]]
    parts = [
        F.concat(
            F.lit(f"{name}:"),
            F.coalesce(
                F.when(texts[name] == "", F.lit(EMPTY_PLACEHOLDER)).otherwise(texts[name]), F.lit(NULL_PLACEHOLDER)
            ),
        )
        for name in fields
    ]
    return reduce(lambda left, right: left & right, empty.values()), F.concat_ws(",", *parts)


def ambiguity(source: DataFrame, spec: KeySpec) -> Column:
    """What is said of a row whose key other values may give, too; null where there are none."""
    fields = spec.record_key_fields
    found = []
    for name in fields if len(fields) > 1 else ():
        text = _text(source, name, spec)
        holds = [F.contains(text, F.lit(separator)) for separator in separators(fields)]
        is_ambiguous = reduce(lambda left, right: left | right, holds, text.isin(NULL_PLACEHOLDER, EMPTY_PLACEHOLDER))
        found.append(F.when(is_ambiguous, F.lit(ambiguous_key(name, fields))))
    return F.coalesce(*found) if found else F.lit(None).cast("string")


def no_key(fields: tuple[str, ...]) -> str:
    """What is said of a row without a key."""
    return f"a record has no value in its key ({', '.join(fields)}): fill it in the source"


def within_limit(key: Column, limit: KeyLimit | None) -> Column:
    """Record keys as they are; one that is longer than its limit fails the job when it is computed."""
    if limit is None:
        return key
    said = limit_refusal(key, limit)
    return F.when(said.isNotNull(), bad_record(said, "string")).otherwise(key)


def limit_refusal(key: Column, limit: KeyLimit) -> Column:
    """What is said of a record key that is too long; null where it is not."""
    before, behind = limit.words()
    size = F.octet_length(key)
    said = F.concat(F.lit(before), size.cast("string"), F.lit(f"{behind}: {limit.todo}"))
    return F.when(size > limit.most, said)


def partition_path(source: DataFrame, spec: KeySpec) -> Column:
    """The partition path relative to the base path; ``""`` without partition columns."""
    parts = [_partition_part(source, part, spec) for part in spec.parts]
    return F.concat_ws("/", *parts) if parts else F.lit("")


def partition_problem(source: DataFrame, part: PartitionPart, spec: KeySpec) -> Column:
    """Why the value of a partition column can't be a folder's name; null where it can."""
    if part.is_time:
        return _time_problem(_column(source, part.field), _type_of(source, part.field), part, spec)
    return _refusal(part.field, _folder(source, part.field, spec), spec)


def _partition_part(source: DataFrame, part: PartitionPart, spec: KeySpec) -> Column:
    if part.is_time:
        return _time_part(_column(source, part.field), _type_of(source, part.field), part, spec)
    folder = _folder(source, part.field, spec)
    refusal = _refusal(part.field, folder, spec)
    return F.when(refusal.isNotNull(), bad_record(refusal, "string")).otherwise(folder)


def _folder(source: DataFrame, name: str, spec: KeySpec) -> Column:
    value = F.coalesce(_text(source, name, spec), F.lit(""))
    escaped = _escape(value) if spec.url_encode else value
    filled = F.when(value == "", F.lit(DEFAULT_PARTITION)).otherwise(escaped)
    return F.concat(F.lit(f"{name}="), filled) if spec.hive_style else filled


def _refusal(name: str, folder: Column, spec: KeySpec) -> Column:
    def why(reason: Column, todo: str) -> Column:
        return F.concat(F.lit(f"a value of partition column {name} "), reason, F.lit(f": {todo}"))

    parts = F.split(folder, "/")
    refused = F.lit("")
    for bad, reason in REFUSED_PARTS.items():
        refused = F.when(F.array_contains(parts, bad), F.lit(reason)).otherwise(refused)
    is_bad = F.arrays_overlap(parts, F.array(*map(F.lit, REFUSED_PARTS)))
    found = F.when(is_bad, why(refused, RESERVED_TODO if spec.url_encode else ENCODE_TODO))
    if not spec.url_encode:
        codes = "".join(f"\\x{ord(char):02x}" for char in REFUSED_CHARS)
        found = found.when(folder.rlike(f"[{codes}]"), why(F.lit(UNWRITABLE), ENCODE_TODO))
    is_long = (F.octet_length(folder) > MOST_BYTES) & F.exists(parts, lambda one: F.octet_length(one) > MOST_BYTES)
    found = found.when(is_long, why(F.lit(LONG), LONG_TODO))
    if len(spec.parts) == 1:
        found = found.when(folder == RESERVED_PATH, why(F.lit(RESERVED), RESERVED_TODO))
    return found


def _time_part(column: Column, kind: DataType | None, part: PartitionPart, spec: KeySpec) -> Column:
    def level(values: pa.Array) -> pa.Array:
        return partition_level(values, part, spec)

    return texts_by_arrow(level, column, kind)


def _time_problem(column: Column, kind: DataType | None, part: PartitionPart, spec: KeySpec) -> Column:
    def problems(values: pa.Array) -> pa.Array:
        try:
            partition_level(values, part, spec)
        except HudiError:
            return pa.array([_time_refusal(values.slice(place, 1)) for place in range(len(values))], pa.string())
        return pa.nulls(len(values), pa.string())

    def _time_refusal(value: pa.Array) -> str | None:
        try:
            partition_level(value, part, spec)
        except HudiError as error:
            return str(error)
        return None

    return texts_by_arrow(problems, column, kind)


def _arrow_text(column: Column, kind: DataType | None, name: str) -> Column:
    def text(values: pa.Array) -> pa.Array:
        return java_text(values, name, consistent_timestamps=True)

    return texts_by_arrow(text, column, kind)


def _escape(value: Column) -> Column:
    for char in ["%", *sorted(ESCAPED - {"%"})]:
        value = F.replace(value, F.lit(char), F.lit(f"%{ord(char):02X}"))
    return value


def _text(source: DataFrame, name: str, spec: KeySpec, *, virtual: bool = False) -> Column:
    """A value as Java's toString shows it after Avro's logical conversion: timestamps stay raw microseconds, unless
    they are to be text.
    """
    kind, column = _type_of(source, name), _column(source, name)
    if isinstance(kind, TimestampType | TimestampNTZType) and spec.consistent_timestamps:
        return _arrow_text(column, kind, name)
    if virtual and isinstance(kind, FloatType | DoubleType):
        return _arrow_text(column, kind, name)
    if isinstance(kind, TimestampType):
        return F.unix_micros(column).cast("string")
    if isinstance(kind, TimestampNTZType):
        return F.unix_micros(F.to_utc_timestamp(column, F.current_timezone())).cast("string")
    if isinstance(kind, BinaryType | ArrayType | MapType | StructType):
        raise ConfigError(
            f"column {name} is {kind.typeName()} and can't be a key or partition column",
            todo="choose another",
            column=name,
        )
    if isinstance(kind, DecimalType) and kind.scale > _NO_EXPONENT:
        return _arrow_text(column, kind, name)
    return column.cast("string")


def _column(source: DataFrame, name: str) -> Column:
    return F.col(f"`{name}`" if name in source.columns else name)


def _type_of(source: DataFrame, name: str) -> DataType | None:
    """The type of a column, or by ``a.b`` of a struct's field; None where there is none."""
    kind: DataType | None = source.schema
    for part in (name,) if name in source.columns else name.split("."):
        fields = kind.fields if isinstance(kind, StructType) else []
        kind = next((field.dataType for field in fields if field.name == part), None)
    return kind
