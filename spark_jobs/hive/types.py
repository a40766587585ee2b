"""Avro schemas as Hive types and as the Spark schema JSON that Spark keeps in a table's parameters.

Hudi goes through Parquet's types (HiveSchemaUtil, Parquet2SparkSchemaUtils); what they make of a column is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.kinds import Kind, kind_of_avro
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.hive.facts import AvroSchema
from spark_jobs.hive.state import Column

_STORED_AS = {"enum": "string", "fixed": "bytes"}


def fields_of(schema: AvroSchema, *, meta_fields: bool) -> list[Mapping[str, Any]]:
    """The Avro fields of a record schema, after the five meta fields where these are wanted."""
    fields = [field for field in schema["fields"] if field["name"] not in META_FIELDS]
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS]
    return [*meta, *fields] if meta_fields else fields


def columns_of(
    fields: Iterable[Mapping[str, Any]], *, support_timestamp: bool, comments: bool = False
) -> tuple[Column, ...]:
    """Hive columns of Avro fields, in lower case as Hive keeps them; Avro's ``doc`` as comment if ``comments``."""
    resolver = _Names()
    return tuple(
        Column(
            name=field["name"].lower(),
            type=_hive(field["type"], support_timestamp, resolver),
            comment=str(field.get("doc") or "") if comments else "",
        )
        for field in fields
    )


def hive_type(avro_type: Any, *, support_timestamp: bool = False) -> str:
    """The Hive type of an Avro type (a name, a mapping, or a union with null), lower case, without blanks."""
    return _hive(avro_type, support_timestamp, _Names())


def spark_schema_json(fields: Sequence[Mapping[str, Any]], partition_fields: Sequence[str] = ()) -> str:
    """Spark's schema as JSON, data columns before partition columns (SparkDataSourceTableUtils).

    Partition columns that the schema lacks are strings. One difference on purpose: arrays may hold nulls if Avro says
    so; Hudi always says ``"containsNull":false``, which is wrong for files whose lists do hold nulls.
    """
    resolver = _Names()
    by_name = {field["name"]: field for field in fields}
    ordered = [field for field in fields if field["name"] not in partition_fields]
    ordered += [by_name.get(name, {"name": name, "type": "string"}) for name in partition_fields]
    return _spark_struct(ordered, resolver)


class _Names:
    """Named types that a schema defined so far: Avro spells a type out once and then gives its name."""

    def __init__(self) -> None:
        self._types: dict[str, Mapping[str, Any]] = {}

    def resolve(self, avro_type: Any) -> tuple[Any, bool]:
        """The type without its union with null, and whether it may be null."""
        nullable = False
        if isinstance(avro_type, list):
            branches = [branch for branch in avro_type if branch != "null"]
            nullable = len(branches) < len(avro_type)
            if len(branches) != 1:
                raise ConfigError(
                    f"an Avro union of {len(branches)} types has no Hive type", todo="leave the column out of the table"
                )
            avro_type = branches[0]
        if isinstance(avro_type, str):
            return self._types.get(avro_type, avro_type), nullable
        if "name" in avro_type:
            namespace = avro_type.get("namespace")
            self._types[avro_type["name"]] = avro_type
            if namespace:
                self._types[f"{namespace}.{avro_type['name']}"] = avro_type
        elif isinstance(avro_type.get("type"), (dict, list)):
            inner, inner_nullable = self.resolve(avro_type["type"])
            return inner, nullable or inner_nullable
        return avro_type, nullable


def _kind(avro_type: Any) -> tuple[str, str]:
    if isinstance(avro_type, str):
        return avro_type, ""
    return str(avro_type["type"]), str(avro_type.get("logicalType", ""))


def _hive(avro_type: Any, support_timestamp: bool, names: _Names) -> str:
    resolved, _ = names.resolve(avro_type)
    kind, logical = _kind(resolved)
    if logical == "decimal":
        return f"decimal({resolved['precision']},{resolved.get('scale', 0)})"
    if kind == "array":
        return f"array<{_hive(resolved['items'], support_timestamp, names)}>"
    if kind == "map":
        return f"map<string,{_hive(resolved['values'], support_timestamp, names)}>"
    if kind == "record":
        # Hive knows lower-case names only
        inner = (
            f"{field['name'].lower()}:{_hive(field['type'], support_timestamp, names)}" for field in resolved["fields"]
        )
        return f"struct<{','.join(inner)}>"
    known = _plain(kind, logical)
    return (support_timestamp and known.hive_timestamp) or known.hive


def _spark(avro_type: Any, names: _Names) -> str:
    resolved, _ = names.resolve(avro_type)
    kind, logical = _kind(resolved)
    if logical == "decimal":
        return f'"decimal({resolved["precision"]},{resolved.get("scale", 0)})"'
    if kind == "array":
        element, nullable = resolved["items"], names.resolve(resolved["items"])[1]
        return f'{{"type":"array", "elementType":{_spark(element, names)},"containsNull":{_json(nullable)}}}'
    if kind == "map":
        value, nullable = resolved["values"], names.resolve(resolved["values"])[1]
        inner = f'"keyType":"string","valueType":{_spark(value, names)},"valueContainsNull":{_json(nullable)}'
        return f'{{"type":"map", {inner}}}'
    if kind == "record":
        return _spark_struct(resolved["fields"], names)
    return f'"{_plain(kind, logical).spark}"'


def _spark_struct(fields: Iterable[Mapping[str, Any]], names: _Names) -> str:
    members = []
    for field in fields:
        _, nullable = names.resolve(field["type"])
        name, spark = _json(field["name"]), _spark(field["type"], names)
        members.append(f'{{"name":{name},"type":{spark},"nullable":{_json(nullable)},"metadata":{{}}}}')
    return f'{{"type":"struct","fields":[{",".join(members)}]}}'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(kind: str, logical: str) -> Kind:
    """Enums count as strings, fixed bytes as bytes."""
    known = kind_of_avro(_STORED_AS.get(kind, kind), logical)
    if known is None:
        raise ConfigError(
            f"the Avro type {kind} has no Hive type", todo="leave the column out of the table", avro_type=kind
        )
    return known
