"""The key generator of one write: the table's where there is one, else the one that was asked for.

Hudi: HoodieWriterUtils.validateTableConfig, BaseHoodieWriteClient.validateAgainstTableProperties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.keys import datasource as keys
from spark_jobs.core.config.keys import keygen as keygen_keys
from spark_jobs.core.config.keys import logfile as logfile_keys
from spark_jobs.core.config.keys.datasource import HIVE_STYLE, URL_ENCODE
from spark_jobs.core.config.keys.table import POPULATE_META_FIELDS
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.keys import type_at
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


def refuse_other_key_types(source: pa.Schema, stored: pa.Schema, spec: KeySpec, *, virtual: bool) -> None:
    """Keys and partition paths are texts of what is given: the value that is stored has to have the same.

    :param virtual: keys are computed from what is stored: its type has to be the one that was given.
    :raises ConfigError: a column of them has another type than the table's, and so maybe another text.
    """
    as_they_are = [part.field for part in spec.parts if not part.is_time]
    for name in dict.fromkeys((*spec.record_key_fields, *as_they_are)):
        given, own = type_at(source, name), type_at(stored, name)
        computed = virtual and name in spec.record_key_fields
        if given == own or _are_integers(given, own) or not (computed or _has_other_text(given, own, spec)):
            continue
        kind = "key" if name in spec.record_key_fields else "partition"
        raise ConfigError(
            f"{kind} column {name} is {given} in the source and {own} in the table"
            + (", which has virtual keys" if computed else ": the same value has another text"),
            todo="convert it in the source",
            column=name,
        )


def _has_other_text(given: pa.DataType, own: pa.DataType, spec: KeySpec) -> bool:
    """Whether a value of one type may give another key than the same value of the other."""
    kinds = pa.types
    if kinds.is_null(given) or kinds.is_null(own):
        return False
    if _is_text(own):
        return not (_is_text(given) or kinds.is_integer(given) or kinds.is_boolean(given))
    if kinds.is_timestamp(given) and kinds.is_timestamp(own):
        return bool(given.unit != own.unit) and not spec.consistent_timestamps
    if _are_numbers(given, own) and not kinds.is_floating(given) and not kinds.is_floating(own):
        return _scale(given) != _scale(own)
    return _are_numbers(given, own)  # other kinds are refused, whatever column they are in


def _are_integers(*both: pa.DataType) -> bool:
    return all(map(pa.types.is_integer, both))


def _are_numbers(*both: pa.DataType) -> bool:
    return all(pa.types.is_integer(one) or pa.types.is_floating(one) or pa.types.is_decimal(one) for one in both)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _scale(number: Any) -> int:
    return int(number.scale) if pa.types.is_decimal(number) else 0


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
