"""Avro schemas as Spark and Hudi name them, to and from Arrow's.

Source: ``org.apache.spark.sql.avro.SchemaConverters`` and ``org.apache.hudi.avro.HoodieAvroUtils``. An Avro schema is
its parsed JSON here: dicts, lists and names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import ConfigError, CorruptTableError, UnsupportedTableError

META_FIELDS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""The five columns in front of every stored record, all nullable strings."""

OPERATION_FIELD = "_hoodie_operation"

AvroType = Any
"""A type in a schema: a name, a list (union) or a dict."""

_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PRIMITIVES: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}

_REQUIRED: Mapping[str, tuple[str, type]] = {
    "record": ("fields", list),
    "error": ("fields", list),
    "enum": ("symbols", list),
    "fixed": ("size", int),
}

_LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}

_TO_AVRO: tuple[tuple[Callable[[pa.DataType], bool], AvroType], ...] = (
    (pa.types.is_boolean, "boolean"),
    (lambda kind: pa.types.is_int64(kind) or pa.types.is_uint32(kind), "long"),
    (lambda kind: pa.types.is_integer(kind) and not pa.types.is_uint64(kind), "int"),
    (lambda kind: pa.types.is_float32(kind) or pa.types.is_float16(kind), "float"),
    (pa.types.is_float64, "double"),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "string"),
    (lambda kind: str(kind) == "string_view", "string"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "bytes"),
    (lambda kind: pa.types.is_fixed_size_binary(kind) or str(kind) == "binary_view", "bytes"),
    (pa.types.is_date, {"type": "int", "logicalType": "date"}),
)


def avro_schema_of(schema: pa.Schema, table: str) -> dict[str, Any]:
    """The record schema of a table without meta fields, as Spark's writer names it; ``table`` is the table's name.

    Timestamps become timestamp-micros (with a zone) or local-timestamp-micros (without), decimals fixed.

    :raises ConfigError: a column has a name or a type that Avro does not have.
    """
    name = _sanitized(table)
    return _record(list(schema), f"{name}_record", f"hoodie.{name}")


def arrow_schema_of(avro: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of a record schema: strings as ``string``, timestamp-micros as ``timestamp[us, tz=UTC]``.

    A field is nullable where its union has a null.

    :raises UnsupportedTableError: a union of several types, a duration, a reference to the record itself.
    """
    record = resolve_names(avro)
    if record["type"] != "record":
        raise CorruptTableError(f"an Avro schema of type {record['type']!r} stands where a record should")
    return pa.schema(_fields(record))


def with_meta_fields(avro: Mapping[str, Any]) -> dict[str, Any]:
    """The same record with the five meta fields in front, also where it had some of them already."""
    bare = without_meta_fields(avro)
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS]
    return {**bare, "fields": meta + bare["fields"]}


def without_meta_fields(avro: Mapping[str, Any]) -> dict[str, Any]:
    """The same record without the meta fields and the operation field."""
    hidden = {*META_FIELDS, OPERATION_FIELD}
    return {**avro, "fields": [field for field in avro["fields"] if field["name"] not in hidden]}


def split_nullable(avro: AvroType) -> tuple[AvroType, int | None]:
    """The type of a field without its null, and the null's place in the union (None where it is not nullable).

    :raises UnsupportedTableError: a union of several types.
    """
    if not isinstance(avro, list):
        return avro, None
    if avro == ["null"]:
        return "null", 0
    others = [branch for branch in avro if branch not in ("null", {"type": "null"})]
    if len(others) != 1 or len(avro) > 2:
        raise UnsupportedTableError(f"an Avro union of {_names_of(avro)} has no Arrow type")
    return others[0], (avro.index("null") if len(avro) == 2 else None)


def resolve_names(avro: AvroType) -> AvroType:
    """The same type with every reference to a named type replaced by its definition.

    :raises CorruptTableError: it is no Avro type.
    """
    try:
        return _resolved(avro, "", {}, ())
    except (KeyError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"an Avro schema is not one ({type(error).__name__}: {error})") from error


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
    if (kind, logical) in _LOGICAL:
        return _LOGICAL[kind, logical]
    if kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
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
    return pa.field(name, arrow_type_of(kind), nullable=null_at is not None)


def _fields(record: Mapping[str, Any]) -> list[pa.Field[Any]]:
    return [_field(field["name"], field["type"]) for field in record["fields"]]


def _resolved(avro: AvroType, namespace: str, known: dict[str, AvroType], open_names: tuple[str, ...]) -> AvroType:
    if isinstance(avro, list):
        return [_resolved(branch, namespace, known, open_names) for branch in avro]
    if isinstance(avro, str):
        if avro in _PRIMITIVES:
            return avro
        full = avro if "." in avro or not namespace else f"{namespace}.{avro}"
        full = full if full in known or full in open_names else avro
        if full in open_names:
            raise UnsupportedTableError(f"the Avro record {full} contains itself, which has no Arrow type")
        if full not in known:
            raise CorruptTableError(f"an Avro schema uses the type {avro!r} without defining it")
        return known[full]
    kind = avro["type"]
    if not isinstance(kind, str):
        return _resolved(kind, namespace, known, open_names)
    if kind == "array":
        return {**avro, "items": _resolved(avro["items"], namespace, known, open_names)}
    if kind == "map":
        return {**avro, "values": _resolved(avro["values"], namespace, known, open_names)}
    if avro.get("logicalType") == "decimal" and not isinstance(avro["precision"], int):
        raise TypeError("precision of a decimal")
    if kind not in _REQUIRED:
        return avro if kind in _PRIMITIVES else _resolved(kind, namespace, known, open_names)
    key, needed = _REQUIRED[kind]
    if not isinstance(avro[key], needed):
        raise TypeError(f"{key} of a {kind}")
    full = avro["name"]
    if "." not in full and avro.get("namespace", namespace):
        full = f"{avro.get('namespace', namespace)}.{full}"
    result = dict(avro)
    if kind in ("record", "error"):
        result["type"] = "record"
        inner = full.rpartition(".")[0]
        result["fields"] = [
            {**field, "name": field["name"], "type": _resolved(field["type"], inner, known, (*open_names, full))}
            for field in avro["fields"]
        ]
    known[full] = result
    return result


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
    for accepts, avro in _TO_AVRO:
        if accepts(kind):
            return dict(avro) if isinstance(avro, dict) else avro
    if isinstance(kind, pa.DictionaryType):
        return _avro_type(kind.value_type, name, namespace)
    if isinstance(kind, pa.TimestampType):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if isinstance(kind, pa.Decimal128Type):
        return {
            "type": "fixed",
            "name": "fixed",
            "namespace": f"{namespace}.{name}",
            "size": _bytes_of_precision(kind.precision),
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    if isinstance(kind, pa.StructType):
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


def _bytes_of_precision(precision: int) -> int:
    """The smallest number of bytes whose two's complement holds all decimals of that many digits."""
    return (int(10**precision - 1).bit_length() + 8) // 8


def _sanitized(name: str) -> str:
    """A table's name as a name in Avro (HoodieAvroUtils.sanitizeName)."""
    if re.match(r"[^A-Za-z_]", name):
        name = "__" + name[1:]
    return re.sub(r"[^A-Za-z0-9_]", "__", name)


def _names_of(union: list[AvroType]) -> str:
    return ", ".join(str(branch["type"]) if isinstance(branch, dict) else str(branch) for branch in union)
