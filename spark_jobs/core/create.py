"""The properties of a new table (Hudi: HoodieTableMetaClient.PropertyBuilder), as Hudi's Spark writer leaves them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

import pyarrow as pa

from spark_jobs.core.config.keys import archive as archive_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.known import declared
from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.core.format.known import NEW_TABLES
from spark_jobs.core.keygen.new_tables import refuse_unusable_keys
from spark_jobs.core.keygen.spec import infer_class
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.storage import RelativePath


class _Named(TypedDict):
    """What every new table is asked."""

    name: str
    record_key_fields: Sequence[str]


class NewTable(_Named, total=False):
    """What is asked of a new table; all but its name and key may be left out.

    ``table_type`` is COPY_ON_WRITE where it is not given; ``schema`` has the columns without meta columns, and without
    it the first write decides; ``properties`` are those of ``hoodie.properties`` that win over the others.
    """

    database: str
    table_type: str
    partition_fields: Sequence[str]
    precombine_field: str
    payload_class: str
    hive_style: bool
    url_encode: bool
    key_generator_class: str
    schema: pa.Schema | None
    properties: Mapping[str, str]


def new_table_properties(**asked: Unpack[NewTable]) -> dict[str, str]:
    """All properties but the checksum.

    :raises ConfigError: no name, no key, a field that the schema lacks, columns that no table can have, a property
        with a wrong value, or a key generator that no write could use.
    :raises TypeError: an argument that :class:`NewTable` does not have, or lacks.
    """
    wrong = sorted((asked.keys() - NewTable.__annotations__.keys()) | (_Named.__annotations__.keys() - asked.keys()))
    if wrong:
        raise TypeError(f"{wrong[0]} is missing, or no argument of a new table")
    name, record_key_fields = asked["name"], asked["record_key_fields"]
    partition_fields, precombine_field = asked.get("partition_fields", ()), asked.get("precombine_field", "")
    payload_class, schema = asked.get("payload_class", ""), asked.get("schema")
    if not name:
        raise ConfigError("a new table needs a name", todo="give --table-name or hoodie.table.name")
    if not record_key_fields:
        raise ConfigError("a new table needs record key fields", todo="give --record-key-fields")
    kind = table_keys.TYPE.of({table_keys.TYPE.name: asked.get("table_type") or table_keys.TYPE.default})
    values = {
        table_keys.NAME.name: name,
        table_keys.DATABASE.name: asked.get("database", ""),
        table_keys.TYPE.name: kind.value,
        table_keys.VERSION.name: str(NEW_TABLES.version),
        table_keys.LAYOUT_VERSION.name: NEW_TABLES.timeline_layout,
        table_keys.RECORD_KEY_FIELDS.name: ",".join(record_key_fields),
        table_keys.PARTITION_FIELDS.name: ",".join(partition_fields),
        table_keys.BASE_FILE_FORMAT.name: "PARQUET",
        archive_keys.ARCHIVE_FOLDER.name: archive_keys.ARCHIVE_FOLDER.default,
        table_keys.POPULATE_META_FIELDS.name: "true",
        table_keys.KEY_GENERATOR_CLASS.name: asked.get("key_generator_class")
        or infer_class(record_key_fields, partition_fields),
        table_keys.TIMEZONE.name: "LOCAL",
        table_keys.METAFILE_BASE_FORMAT.name: "false",
        datasource_keys.DROP_PARTITION_COLUMNS.name: "false",
        datasource_keys.HIVE_STYLE.name: str(asked.get("hive_style", False)).lower(),
        datasource_keys.URL_ENCODE.name: str(asked.get("url_encode", False)).lower(),
        table_keys.CDC_ENABLED.name: "false",
    }
    if "." in precombine_field:
        raise ConfigError(
            f"the precombine field {precombine_field} is a field of a struct, by which this release does not write",
            todo="name a column",
            column=precombine_field,
        )
    if precombine_field:
        values[table_keys.PRECOMBINE_FIELD.name] = precombine_field
    if kind is table_keys.TableType.MERGE_ON_READ:
        values[compact_keys.PAYLOAD_CLASS.name] = payload_class or compact_keys.OVERWRITE_WITH_LATEST
        values[compact_keys.MERGER_STRATEGY.name] = compact_keys.DEFAULT_MERGER_STRATEGY
    elif payload_class:
        values[compact_keys.PAYLOAD_CLASS.name] = payload_class
    if schema is not None:
        for option, fields in (
            ("record key", record_key_fields),
            ("partition", partition_fields),
            ("precombine", [precombine_field] if precombine_field else []),
        ):
            _require_columns(schema, fields, option)
        require_storable(pa.struct(list(schema)), "the schema")
        values[table_keys.CREATE_SCHEMA.name] = json.dumps(avro_schema_of(schema, name), separators=(",", ":"))
    values.update(asked.get("properties") or {})
    for key in declared():
        key.of(values)
    refuse_unusable_keys(
        table_keys.KEY_GENERATOR_CLASS.of(values),
        table_keys.RECORD_KEY_FIELDS.of(values),
        table_keys.PARTITION_FIELDS.of(values),
        populate_meta_fields=table_keys.POPULATE_META_FIELDS.of(values),
        merge_on_read=table_keys.TYPE.of(values) is table_keys.TableType.MERGE_ON_READ,
    )
    return values


def asked_of_new_table(given: Mapping[str, str]) -> dict[str, str]:
    """The properties of its own that a table keeps of the ``hoodie.*`` values of the write or bootstrap that makes it.

    :raises ConfigError: one that this release could not write to the table with.
    """
    if datasource_keys.DROP_PARTITION_COLUMNS.of(given):
        raise ConfigError(
            f"{datasource_keys.DROP_PARTITION_COLUMNS.name}=true makes a table that this release does not write to",
            todo="leave it out: partition columns are kept in the files",
            key=datasource_keys.DROP_PARTITION_COLUMNS.name,
        )
    folder = archive_keys.ARCHIVE_FOLDER.of(given).rstrip("/")
    try:
        RelativePath(folder, archive_keys.ARCHIVE_FOLDER.name)
    except HudiError as error:
        raise ConfigError(
            f"{archive_keys.ARCHIVE_FOLDER.name}={folder} is no folder below .hoodie",
            todo="give a name such as archived",
        ) from error
    kept = (table_keys.DATABASE, archive_keys.ARCHIVE_FOLDER)
    return {key.name: key.of(given) for key in kept if given.get(key.name)}


def require_storable(kind: pa.DataType, what: str, path: str = "") -> None:
    """Avro has no fields of one name, and no decimals of a negative scale.

    :param path: of the column in what is looked at; empty for all of it.
    :raises ConfigError: it has either.
    """
    where = path or what
    if pa.types.is_decimal(kind) and kind.scale < 0:
        raise ConfigError(f"{where} has the type {kind}", todo="give a scale of 0 or more")
    inner = [kind.field(number) for number in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    if pa.types.is_struct(kind):
        names = [field.name for field in inner]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"{where} has two columns {twice}", todo="give each a name of its own", column=twice)
    for field in inner:
        require_storable(field.type, what, f"{path}.{field.name}" if path else field.name)


def _require_columns(schema: pa.Schema, fields: Sequence[str], what: str) -> None:
    for field in fields:
        column = field.split(":", 1)[0].split(".", 1)[0]  # a member of a struct, or field:SIMPLE of a custom key
        if column not in schema.names:
            raise ConfigError(
                f"the {what} field {field} is no column of the schema",
                todo="its columns are " + ", ".join(schema.names),
                column=field,
            )
