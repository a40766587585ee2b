"""The key generator of one write: the table's where there is one, else the one that was asked for.

Hudi: HoodieWriterUtils.validateTableConfig, BaseHoodieWriteClient.validateAgainstTableProperties.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from spark_jobs.core.config.keys import datasource as keys
from spark_jobs.core.config.keys import keygen as keygen_keys
from spark_jobs.core.config.keys import logfile as logfile_keys
from spark_jobs.core.config.keys.datasource import HIVE_STYLE, URL_ENCODE
from spark_jobs.core.config.keys.table import POPULATE_META_FIELDS
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.new_tables import (
    asked_class,
    known_generator,
    refuse_unknown_zones,
    refuse_virtual_keys,
    refuse_virtual_keys_of_logs,
)
from spark_jobs.core.keygen.spec import Generator, KeySpec
from spark_jobs.options.ingest import IngestOptions


def resolve_keys(options: IngestOptions, given: Mapping[str, str], own: TableConfig | None) -> KeySpec:
    """
    :param options: effective ones.
    :param given: all ``hoodie.*`` values of the write; those of the table count below them.
    :raises ConfigError: a setting is missing, wrong, or at odds with the table.
    """
    asked = asked_class(given)
    if own is None:
        if asked:
            known_generator(asked)
        refuse_unknown_zones(given)
        return _spec(given, options.record_key_fields, options.partition_path_fields, asked)
    agree(keys.KEY_GENERATOR_CLASS.name, asked, own.key_generator_class or asked, own.name)
    for key in keygen_keys.PERSISTED:
        if _is_given(given, key.names) and _is_given(own.properties, key.names):
            agree(key.name, key.of(given), key.of(own.properties), own.name)
    properties = {**own.properties, **given}
    wanted = options.partition_path_fields
    names = tuple(field.partition(":")[0] for field in wanted)
    agree("--partition-path-fields", ",".join(names), ",".join(own.partition_fields), own.name)
    fields = wanted if any(":" in field for field in wanted) else own.partition_fields
    spec = _spec(properties, own.record_key_fields, fields, own.key_generator_class or asked)
    if spec.generator is not Generator.CUSTOM:
        agree("--partition-path-fields", ",".join(wanted), ",".join(own.partition_fields), own.name)
    return spec


def resolve_meta_fields(
    given: Mapping[str, str], own: TableConfig | None, spec: KeySpec, *, merge_on_read: bool = False
) -> bool:
    """Whether the meta columns are filled; with virtual keys they are not.

    :raises ConfigError: the table decided otherwise, or the key generator can't be had without them.
    """
    asked = POPULATE_META_FIELDS.of(given) if given.get(POPULATE_META_FIELDS.name) else None
    populate = own.populate_meta_fields if own else asked is not False
    if own is not None and asked is not None and asked != populate:
        raise ConfigError(
            f"{POPULATE_META_FIELDS.name}={str(asked).lower()} contradicts table {own.name}, which was made with "
            f"{str(populate).lower()}; meta columns can't be turned {'on again' if asked else 'off'}",
            todo="leave the option out or write to another path",
            key=POPULATE_META_FIELDS.name,
        )
    if not populate:
        refuse_virtual_keys(spec.class_name)
        if own is None and merge_on_read:
            refuse_virtual_keys_of_logs(spec.record_key_fields)
    if not populate and logfile_keys.LOG_BLOCK_FORMAT.of(given) is logfile_keys.LogBlockFormat.HFILE:
        raise ConfigError(
            f"{logfile_keys.LOG_BLOCK_FORMAT.name}=hfile can't be used with {POPULATE_META_FIELDS.name}=false: its "
            "blocks are ordered by the stored key",
            todo="give avro or parquet",
            key=logfile_keys.LOG_BLOCK_FORMAT.name,
        )
    return populate


def refuse_other_key_types(source: pa.Schema, stored: pa.Schema, spec: KeySpec) -> None:
    """Of a table with virtual keys, whose keys are computed from what is stored: it has to be what was given.

    :raises ConfigError: a key column of the source has another type than the table's, and so maybe another text.
    """
    for name in spec.record_key_fields:
        given, own = _leaf(source, name), _leaf(stored, name)
        if given == own or (pa.types.is_integer(given) and pa.types.is_integer(own)):
            continue
        raise ConfigError(
            f"key column {name} is {given} in the source and {own} in the table, which has virtual keys",
            todo="convert it in the source",
            column=name,
        )


def _leaf(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column, or by ``a.b`` of a struct's field; the null type where there is none."""
    kind: pa.DataType = pa.struct(list(schema))
    for part in (name,) if name in schema.names else name.split("."):
        index = kind.get_field_index(part) if pa.types.is_struct(kind) else -1
        if index < 0:
            return pa.null()
        kind = kind.field(index).type
    return kind


def agree(option: str, given: str | None, stored: str, table: str) -> None:
    """
    :raises ConfigError: an option was given that is not what the table has.
    """
    if given and given != stored:
        raise ConfigError(
            f"{option} {given} contradicts table {table}, which has {stored or 'none'}",
            todo="leave the option out or write to another path",
        )


def _spec(
    properties: Mapping[str, str], record_key: tuple[str, ...], partition: tuple[str, ...], class_name: str
) -> KeySpec:
    return KeySpec.of(
        record_key,
        partition,
        hive_style=HIVE_STYLE.of(properties),
        url_encode=URL_ENCODE.of(properties),
        class_name=class_name,
        properties=properties,
    )


def _is_given(given: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return any(given.get(name) for name in names)
