"""Avro schemas as Spark and Hudi name them, to and from Arrow's.

Source: ``org.apache.spark.sql.avro.SchemaConverters`` and ``org.apache.hudi.avro.HoodieAvroUtils``. An Avro schema is
its parsed JSON here: dicts, lists and names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import ConfigError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.schema.avro_names import AvroType, resolve_names, split_nullable
from spark_jobs.core.schema.kinds import kind_of_arrow, kind_of_avro
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.schema.meta_fields import OPERATION as OPERATION_FIELD

_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def avro_schema_of(schema: pa.Schema, table: str) -> dict[str, Any]:
    """The record schema of a table without meta fields, as Spark's writer names it; ``table`` is the table's name.

    Columns are stored as ``docs/types.md`` tells; Spark's timestamps are microseconds, its decimals fixed.

    :raises ConfigError: a column has a name or a type that Avro does not have.
    """
    name = sanitize_name(table)
    return _record(list(schema), f"{name}_record", f"hoodie.{name}")


def arrow_schema_of(avro: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of a record schema: strings as ``string``, timestamp-micros as ``timestamp[us, tz=UTC]``.

    A field is nullable where its union has a null.

    :raises UnsupportedTableError: a union of several types, a duration, a reference to the record itself.
    :raises CorruptTableError: it is no record schema, or one that is nested too deeply.
    """
    record = resolve_names(avro)
    if not isinstance(record, dict) or record["type"] != "record":
        raise CorruptTableError("an Avro schema that is no record stands where one should")
    try:
        return pa.schema(_fields(record))
    except RecursionError as error:
        raise CorruptTableError("an Avro schema is nested too deeply") from error


def with_meta_fields(avro: Mapping[str, Any]) -> dict[str, Any]:
    """The same record with the five meta fields in front, also where it had some of them already."""
    bare = without_meta_fields(avro)
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS]
    return {**bare, "fields": meta + bare["fields"]}


def without_meta_fields(avro: Mapping[str, Any]) -> dict[str, Any]:
    """The same record without the meta fields and the operation field."""
    hidden = {*META_FIELDS, OPERATION_FIELD}
    return {**avro, "fields": [field for field in avro["fields"] if field["name"] not in hidden]}


def full_name_of(avro: Mapping[str, Any]) -> str:
    """A record's name with its namespace."""
    name, namespace = str(avro["name"]), avro.get("namespace")
    return name if "." in name or not namespace else f"{namespace}.{name}"


def arrow_type_of(avro: AvroType) -> pa.DataType:
    """The Arrow type of a resolved type that is no union."""
    if isinstance(avro, str):
        avro = {"type": avro}
    kind, logical = avro["type"], avro.get("logicalType")
    if not isinstance(kind, str):
        return arrow_type_of(kind)
    if logical == "decimal" and kind in ("fixed", "bytes"):
        precision, scale = avro["precision"], avro.get("scale", 0)
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    if kind == "null":
        return pa.null()
    known = kind_of_avro(kind, logical)
    if known is not None:
        return known.read_as
    if kind == "enum":
        return pa.string()
    if kind == "fixed" and logical is None:
        size: int = avro["size"]
        return pa.binary(size)
    if kind == "array":
        element: pa.DataType = pa.list_(_field("element", avro["items"]))
        return element
    if kind == "map":
        item: Any = _field("value", avro["values"])
        mapping: pa.DataType = pa.map_(pa.string(), item)
        return mapping
    if kind == "record":
        return pa.struct(_fields(avro))
    raise UnsupportedTableError(f"the Avro type {kind!r} (logical type {logical!r}) has no Arrow type")


def _field(name: str, avro: AvroType) -> pa.Field[Any]:
    kind, null_at = split_nullable(avro)
    arrow = arrow_type_of(kind)
    return pa.field(name, arrow, nullable=null_at is not None or pa.types.is_null(arrow))


def _fields(record: Mapping[str, Any]) -> list[pa.Field[Any]]:
    return [_field(field["name"], field["type"]) for field in record["fields"]]


def _record(fields: list[pa.Field[Any]], name: str, namespace: str) -> dict[str, Any]:
    full = f"{namespace}.{name}"
    return {
        "type": "record",
        "name": name,
        "namespace": namespace,
        "fields": [_avro_field(each, full) for each in fields],
    }


def _avro_field(field: pa.Field[Any], parent: str) -> dict[str, Any]:
    if not _FIELD_NAME.fullmatch(field.name):
        raise ConfigError(
            f"the column name {field.name!r} is none in Avro", todo="rename it to letters, digits and underscores"
        )
    kind = _avro_type(field.type, field.name, parent)
    if not field.nullable:
        return {"name": field.name, "type": kind}
    return {"name": field.name, "type": ["null", kind], "default": None}


def _avro_type(kind: pa.DataType, name: str, namespace: str) -> AvroType:
    """``name`` is the nearest column's, ``namespace`` the full name of the record that it is in."""
    known = kind_of_arrow(kind)
    if known is not None:
        return known.avro_type
    if isinstance(kind, pa.DictionaryType):
        return _avro_type(kind.value_type, name, namespace)
    if isinstance(kind, pa.Decimal128Type):
        return {
            "type": "fixed",
            "name": "fixed",
            "namespace": f"{namespace}.{name}",
            "size": bytes_of_precision(kind.precision),
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    if isinstance(kind, pa.StructType) and kind.num_fields:
        return _record([kind.field(at) for at in range(kind.num_fields)], name, namespace)
    if isinstance(kind, pa.MapType):
        if not (pa.types.is_string(kind.key_type) or pa.types.is_large_string(kind.key_type)):
            raise ConfigError(f"the map {name!r} has keys of type {kind.key_type}", todo="Avro knows string keys only")
        return {"type": "map", "values": _element(kind.item_field, name, namespace)}
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return {"type": "array", "items": _element(kind.value_field, name, namespace)}
    raise ConfigError(
        f"the column {name!r} has type {kind}, which Hudi tables don't have", todo="cast it in the source"
    )


def _element(field: pa.Field[Any], name: str, namespace: str) -> AvroType:
    kind = _avro_type(field.type, name, namespace)
    return ["null", kind] if field.nullable else kind


def bytes_of_precision(precision: int) -> int:
    """The smallest number of bytes whose two's complement holds all decimals of that many digits."""
    return (int(10**precision - 1).bit_length() + 8) // 8


def sanitize_name(name: str, mask: str = "__") -> str:
    """``name`` with ``mask`` in place of each character that Avro's names don't have (HoodieAvroUtils.sanitizeName)."""
    if re.match(r"[^A-Za-z_]", name):
        name = mask + name[1:]
    return re.sub(r"[^A-Za-z0-9_]", mask, name)
