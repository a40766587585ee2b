"""What Hudi's ``create table`` leaves in ``hoodie.properties``.

Source: ``HoodieCatalogTable.initHoodieTable``, ``HoodieOptionConfig`` and ``HoodieTableMetaClient.PropertyBuilder`` of
Hudi 0.15; tests compare with files that it left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.key import Key
from spark_jobs.core.config.keys import archive as archive_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.keys.keygen import PERSISTED
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.known import NEW_TABLES
from spark_jobs.core.keygen.new_tables import refuse_unknown_zones, refuse_unusable_keys
from spark_jobs.core.keygen.spec import infer_class
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.ddl.statement import CreateTable

DEFAULT_DATABASE = "default"
"""The database that Spark takes where a statement names none."""

_SHORT_NAMES: Mapping[str, tuple[Key[Any], str]] = {
    "primaryKey": (table_keys.RECORD_KEY_FIELDS, "hoodie.datasource.write.recordkey.field"),
    "type": (table_keys.TYPE, "hoodie.datasource.write.table.type"),
    "preCombineField": (table_keys.PRECOMBINE_FIELD, "hoodie.datasource.write.precombine.field"),
    "payloadClass": (compact_keys.PAYLOAD_CLASS, "hoodie.datasource.write.payload.class"),
    "recordMergerStrategy": (compact_keys.MERGER_STRATEGY, "hoodie.datasource.write.record.merger.strategy"),
}
"""SQL's name of an option: the key of the table, and the writer's key that may stand for it."""
_SHORT_TYPES = {"cow": table_keys.TableType.COPY_ON_WRITE.value, "mor": table_keys.TableType.MERGE_ON_READ.value}


def table_properties(statement: CreateTable, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties of the table that the statement makes, but for the checksum.

    :param defaults: ``hoodie.*`` values that hold where the statement says nothing.
    :raises ConfigError: an option that is none, or names a column that is none, or a key generator that no write could
        use.
    """
    given = {**stored_keys(defaults or {}), **stored_keys(statement.options)}
    refuse_unknown_zones(given)
    table_type = table_keys.TYPE.of(given)
    record_key = table_keys.RECORD_KEY_FIELDS.of(given)
    precombine = table_keys.PRECOMBINE_FIELD.of(given)
    if record_key:
        named = [_column_of(statement.schema, field, "primaryKey") for field in record_key]
        given[table_keys.RECORD_KEY_FIELDS.name] = ",".join(named)
    if precombine:
        given[table_keys.PRECOMBINE_FIELD.name] = _column_of(statement.schema, precombine.strip(), "preCombineField")
    properties = {
        datasource_keys.HIVE_STYLE.name: "true",
        datasource_keys.URL_ENCODE.name: "false",
        datasource_keys.DROP_PARTITION_COLUMNS.name: "false",
        archive_keys.ARCHIVE_FOLDER.name: archive_keys.ARCHIVE_FOLDER.default,
        table_keys.KEY_GENERATOR_CLASS.name: _key_generator(record_key, statement.partition_fields),
        **given,
        table_keys.NAME.name: statement.name,
        table_keys.DATABASE.name: statement.database or DEFAULT_DATABASE,
        table_keys.TYPE.name: table_type.value,
        table_keys.VERSION.name: str(NEW_TABLES.version),
        table_keys.LAYOUT_VERSION.name: NEW_TABLES.timeline_layout,
        table_keys.CREATE_SCHEMA.name: create_schema(statement.schema, statement.name),
    }
    if statement.partition_fields:
        properties[table_keys.PARTITION_FIELDS.name] = ",".join(statement.partition_fields)
    for key in (compact_keys.PAYLOAD_CLASS, compact_keys.MERGER_STRATEGY):
        if table_type is table_keys.TableType.MERGE_ON_READ:
            properties.setdefault(key.name, key.default)
        else:
            properties.pop(key.name, None)
    refuse_unusable_keys(
        table_keys.KEY_GENERATOR_CLASS.of(properties),
        record_key,
        statement.partition_fields,
        populate_meta_fields=table_keys.POPULATE_META_FIELDS.of(properties),
        merge_on_read=table_type is table_keys.TableType.MERGE_ON_READ,
    )
    return properties


def _key_generator(record_key: tuple[str, ...], partition_fields: tuple[str, ...]) -> str:
    """Hudi's choice; keys that it makes itself, where none are named, count as one field."""
    return infer_class(record_key or ("made by Hudi",), partition_fields)


def create_schema(schema: pa.Schema, table: str) -> str:
    """The Avro record schema of the columns as Spark's converter writes it: null is the second branch of a union, and
    no field has a default.
    """
    return json.dumps(_null_last(avro_schema_of(schema, table)), separators=(",", ":"), ensure_ascii=False)


_STORED: tuple[Key[Any], ...] = (
    table_keys.TYPE,
    table_keys.RECORD_KEY_FIELDS,
    table_keys.PRECOMBINE_FIELD,
    compact_keys.PAYLOAD_CLASS,
    compact_keys.MERGER_STRATEGY,
    archive_keys.ARCHIVE_FOLDER,
    table_keys.BASE_FILE_FORMAT,
    table_keys.CDC_ENABLED,
    table_keys.POPULATE_META_FIELDS,
    table_keys.KEY_GENERATOR_CLASS,
    datasource_keys.HIVE_STYLE,
    datasource_keys.URL_ENCODE,
    table_keys.METAFILE_BASE_FORMAT,
    datasource_keys.DROP_PARTITION_COLUMNS,
    *PERSISTED,
)


def stored_keys(options: Mapping[str, str]) -> dict[str, str]:
    """The options that a table keeps, under the names of ``hoodie.properties``; others have no effect on it."""
    _refuse_misspelt(options)
    named = dict(options)
    for short, (key, writer_key) in _SHORT_NAMES.items():
        value = options.get(short) or options.get(key.name) or options.get(writer_key)
        if value:
            named[key.name] = _SHORT_TYPES.get(value.lower(), value) if key is table_keys.TYPE else value
    found: dict[str, str] = {}
    for key in _STORED:
        for name in (key.name, *key.aliases):
            if named.get(name) and key.name not in found:
                found[key.name] = _text(key, named[name])
    return found


def without_effect(options: Mapping[str, str]) -> list[str]:
    """One line for each option that says nothing about the table itself (Spark's catalog would keep some of them)."""
    writer_keys = {writer_key for _, writer_key in _SHORT_NAMES.values()}
    kept = {name for key in _STORED for name in (key.name, *key.aliases)} | set(_SHORT_NAMES) | writer_keys
    return [f"the option {name} is not kept with the table and has no effect" for name in options if name not in kept]


def _text(key: Key[Any], text: str) -> str:
    """The text as Hudi stores it; checked by the key's type."""
    value = key.of({key.name: text})
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value) if hasattr(value, "value") else text


def _refuse_misspelt(options: Mapping[str, str]) -> None:
    by_lower = {name.lower(): name for name in _SHORT_NAMES}
    for name in options:
        known = by_lower.get(name.lower(), name)
        if name != known:
            raise ConfigError(f"the option {name} is not known", todo=f"write {known}", key=name)


def _column_of(schema: pa.Schema, field: str, option: str) -> str:
    """The field as its column is spelled. Hudi's DDL looks for it without regard to case and keeps it as written; what
    makes keys of records looks for that very name.
    """
    root, dot, inner = field.partition(".")
    for name in schema.names:
        if name.lower() == root.lower():
            return f"{name}{dot}{inner}"
    raise ConfigError(
        f"{option} names {field}, which is no column of the table",
        todo="its columns are " + ", ".join(schema.names),
        column=field,
    )


def _null_last(avro: Any) -> Any:
    if isinstance(avro, list):
        return [*[_null_last(branch) for branch in avro if branch != "null"], *["null"][: avro.count("null")]]
    if not isinstance(avro, dict):
        return avro
    return {
        name: [{"name": field["name"], "type": _null_last(field["type"])} for field in value]
        if name == "fields"
        else _null_last(value)
        if name in ("type", "items", "values")
        else value
        for name, value in avro.items()
    }
