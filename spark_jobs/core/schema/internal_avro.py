"""Avro record schemas to schemas with ids and back (Hudi: AvroInternalSchemaConverter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.schema.avro import bytes_of_precision
from spark_jobs.core.schema.avro_names import AvroType, resolve_names, split_nullable
from spark_jobs.core.schema.conform import ELEMENT, VALUE, Origin, Origins, inner_origins
from spark_jobs.core.schema.internal import ArrayType, Column, InternalSchema, InternalType, MapType, RecordType

_LOGICAL = {
    ("int", "date"): "date",
    ("int", "time-millis"): "time",
    ("long", "time-micros"): "time",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("string", "uuid"): "uuid",
}
_OTHERS = {"bytes": "binary", "enum": "string"}
_TO_AVRO: Mapping[str, AvroType] = {
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "uuid": {"type": "string", "logicalType": "uuid"},
}


def internal_of(avro: Mapping[str, Any], version: int = 0) -> InternalSchema:
    """Ids are given level by level: a record's columns first, then, column by column, what is inside them."""
    record = _internal(resolve_names(avro), _Ids(0))
    if not isinstance(record, RecordType):
        raise CorruptTableError("an Avro schema that is no record stands for a table")
    return InternalSchema.of(record, version)


def internal_type_of(avro: AvroType) -> InternalType:
    """The type of a resolved Avro type without its null; ids begin at 0."""
    return _internal(avro, _Ids(0))


def avro_of(
    schema: InternalSchema, full_name: str, *like: Mapping[str, Any], origins: Origins | None = None
) -> dict[str, Any]:
    """The Avro record schema, columns null first.

    :param like: Avro schemas of the table: where a column of the same name has the same type in one of them, it is
        taken as it stands there, because types with ids don't tell milliseconds, local times and enums apart.
    :param origins: the names that columns have in ``like``, where they are others.
    """
    built = _avro(schema.record, full_name, [resolve_names(one) for one in like], origins or {})
    assert isinstance(built, dict)
    return built


class _Ids:
    def __init__(self, first: int) -> None:
        self._next = first

    def take(self, count: int) -> int:
        first = self._next
        self._next += count
        return first


def _internal(avro: AvroType, ids: _Ids) -> InternalType:
    kind, _ = split_nullable(avro)
    if isinstance(kind, str):
        return _OTHERS.get(kind, kind)
    name, logical = kind["type"], kind.get("logicalType")
    if logical == "decimal":
        return f"decimal({kind['precision']}, {kind.get('scale', 0)})"
    if (name, logical) in _LOGICAL:
        return _LOGICAL[name, logical]
    if name == "record":
        first = ids.take(len(kind["fields"]))
        return RecordType(
            tuple(
                Column(
                    id=first + place,
                    name=field["name"],
                    optional=split_nullable(field["type"])[1] is not None,
                    type=_internal(field["type"], ids),
                    doc=field.get("doc"),
                )
                for place, field in enumerate(kind["fields"])
            )
        )
    if name == "array":
        element_id = ids.take(1)
        optional = split_nullable(kind["items"])[1] is not None
        return ArrayType(element_id=element_id, optional=optional, element=_internal(kind["items"], ids))
    if name == "map":
        key_id = ids.take(2)
        optional = split_nullable(kind["values"])[1] is not None
        value = _internal(kind["values"], ids)
        return MapType(key_id=key_id, value_id=key_id + 1, optional=optional, value=value)
    if name == "fixed":
        return f"fixed[{kind['size']}]"
    return _OTHERS.get(name, str(name))


def _avro(kind: InternalType, name: str, like: Sequence[AvroType], origins: Origins) -> AvroType:
    """``name`` is the full name of the record that this is, or is in, with the names of the columns above it."""
    alike = [split_nullable(one)[0] for one in like]
    if isinstance(kind, RecordType):
        namespace, _, short = name.rpartition(".")
        head = {"type": "record", "name": short, "namespace": namespace}
        return {**head, "fields": [_avro_field(column, name, alike, origins) for column in kind.columns]}
    if isinstance(kind, ArrayType):
        items = _avro(kind.element, name, _parts(alike, "items"), inner_origins(origins, ELEMENT))
        return {"type": "array", "items": _nullable(items, kind.optional)}
    if isinstance(kind, MapType):
        values = _avro(kind.value, name, _parts(alike, "values"), inner_origins(origins, VALUE))
        return {"type": "map", "values": _nullable(values, kind.optional)}
    for same in alike:
        if internal_type_of(same) == kind:
            return same
    if kind.startswith("decimal"):
        precision, scale = (int(part) for part in kind[len("decimal(") : -1].split(","))
        fixed = {"type": "fixed", "name": "fixed", "namespace": name, "size": bytes_of_precision(precision)}
        return {**fixed, "logicalType": "decimal", "precision": precision, "scale": scale}
    if kind.startswith("fixed"):
        return {"type": "fixed", "name": "fixed", "namespace": name, "size": int(kind[len("fixed[") : -1])}
    found = _TO_AVRO.get(kind, kind)
    return dict(found) if isinstance(found, dict) else found


def _avro_field(column: Column, parent: str, like: Sequence[AvroType], origins: Origins) -> dict[str, Any]:
    origin = origins.get(column.name) or Origin(column.name)
    named = [one["type"] for fields in _parts(like, "fields") for one in fields if one["name"] == origin.name]
    kind = _avro(column.type, f"{parent}.{column.name}", named, origin.inner)
    field = {"name": column.name, "type": _nullable(kind, column.optional)}
    if column.doc is not None:
        field["doc"] = column.doc
    return {**field, "default": None} if column.optional else field


def _parts(like: Sequence[AvroType], key: str) -> list[AvroType]:
    return [one[key] for one in like if isinstance(one, dict) and key in one]


def _nullable(kind: AvroType, optional: bool) -> AvroType:
    return ["null", kind] if optional else kind
