"""What the metastore should hold for a Hudi table: one table for each way of reading it (Hudi: HiveSyncTool)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.config.keys.hive_sync import TableStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.extractors import extractor_named, infer_extractor, unescape
from spark_jobs.hive.facts import SyncedUntil, TableFacts
from spark_jobs.hive.formats import HUDI_INPUT_FORMATS, formats_of
from spark_jobs.hive.state import Column, MetastorePartition, MetastoreTable
from spark_jobs.hive.types import columns_of, fields_of, spark_schema_json

LAST_INSTANT = "last_commit_time_sync"
LAST_COMPLETION = "last_commit_completion_time_sync"
PROVIDER = "spark.sql.sources.provider"
PATH = "path"
READ_OPTIMIZED = "hoodie.query.as.ro.table"
_SCHEMA = "spark.sql.sources.schema."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A table to register: read with log files (``realtime``), or base files of MERGE_ON_READ (``read_optimized``)."""

    name: str
    realtime: bool
    read_optimized: bool


def readings_of(facts: TableFacts, config: SyncConfig) -> tuple[Reading, ...]:
    """The tables of a Hudi table, each name once.

    As in Hudi, the plain name of a MERGE_ON_READ table is the real-time one even if ``skip_ro_suffix`` gave that name
    to the read-optimized one, unless ``hoodie.meta.sync.sync_snapshot_with_table_name`` is off.
    """
    name = (config.table or facts.name).lower()
    if not facts.merge_on_read:
        return (Reading(name=name, realtime=False, read_optimized=False),)
    if config.strategy is TableStrategy.RO:
        return (Reading(name=name, realtime=False, read_optimized=True),)
    if config.strategy is TableStrategy.RT:
        return (Reading(name=name, realtime=True, read_optimized=False),)
    suffix = "" if config.skip_ro_suffix else "_ro"
    readings = [
        Reading(name=name + suffix, realtime=False, read_optimized=True),
        Reading(name=name + "_rt", realtime=True, read_optimized=False),
    ]
    if config.snapshot_with_table_name:
        readings.append(Reading(name=name, realtime=True, read_optimized=False))
    return tuple({reading.name: reading for reading in readings}.values())


def is_hudi_table(table: MetastoreTable) -> bool:
    """True if Hudi's sync, or Spark SQL for Hudi, made the table."""
    return (
        table.input_format in HUDI_INPUT_FORMATS
        or table.parameters.get(PROVIDER, "").lower() == "hudi"
        or LAST_INSTANT in table.parameters
    )


def partition_fields_of(facts: TableFacts, config: SyncConfig) -> tuple[str, ...]:
    """Names of the partition keys as the table's schema spells them."""
    return config.partition_fields or facts.partition_fields


def table_of(facts: TableFacts, config: SyncConfig, reading: Reading, owner: str) -> MetastoreTable:
    """The table as sync creates it, without the time of the last sync.

    :raises ConfigError: a column's type or the base files have no Hive form.
    """
    partition_fields = partition_fields_of(facts, config)
    fields = fields_of(facts.avro_schema, meta_fields=not config.omit_meta_fields)
    all_columns = columns_of(fields, support_timestamp=config.support_timestamp, comments=config.sync_comment)
    by_name = {column.name: column for column in all_columns}
    keys = {name.lower() for name in partition_fields}
    formats = formats_of(
        config.base_file_format or facts.base_file_format,
        realtime=reading.realtime,
        pre_apache=config.pre_apache_input_format,
    )
    return MetastoreTable(
        name=reading.name,
        location=_qualified(facts.base_path),
        columns=tuple(column for column in all_columns if column.name not in keys),
        partition_keys=tuple(
            Column(name=name.lower(), type=by_name[name.lower()].type if name.lower() in by_name else "string")
            for name in partition_fields
        ),
        input_format=formats[0],
        output_format=formats[1],
        serde=formats[2],
        serde_parameters=_serde_parameters(facts, config, reading),
        parameters={
            **({} if config.managed else {"EXTERNAL": "TRUE"}),
            **_parameters(config, fields, partition_fields),
        },
        owner=owner,
        managed=config.managed,
    )


def partition_of(facts: TableFacts, config: SyncConfig, path: str) -> MetastorePartition:
    """The partition of a relative path.

    :raises ConfigError: the path does not give one value for each partition key.
    """
    fields = partition_fields_of(facts, config)
    extract = extractor_named(config.extractor) if config.extractor else infer_extractor(fields, facts.hive_style)
    values = extract(path)
    if len(values) != len(fields):
        raise ConfigError(
            f"partition {path!r} gives {len(values)} values for the {len(fields)} partition keys {', '.join(fields)}",
            todo="set hoodie.datasource.hive_sync.partition_extractor_class",
            path=path,
        )
    if config.decode_partition:
        values = tuple(unescape(value) for value in values)
    return MetastorePartition(values=values, location=f"{_qualified(facts.base_path).rstrip('/')}/{path}")


def sync_times(facts: TableFacts) -> dict[str, str]:
    """The parameters that say up to which instant a table is synced."""
    return {LAST_INSTANT: facts.last_instant, LAST_COMPLETION: facts.last_transition_time or facts.last_instant}


def synced_until(table: MetastoreTable) -> SyncedUntil | None:
    """What :func:`sync_times` noted at a table; None where it was never synced to its end."""
    instant = table.parameters.get(LAST_INSTANT, "")
    return SyncedUntil(instant=instant, completed=table.parameters.get(LAST_COMPLETION, "")) if instant else None


def _qualified(path: str) -> str:
    """A path without a scheme is one of a local disk, whatever file system the metastore would take it for."""
    return f"file:{path}" if path.startswith("/") else path


def _serde_parameters(facts: TableFacts, config: SyncConfig, reading: Reading) -> dict[str, str]:
    spark = {PATH: facts.base_path, READ_OPTIMIZED: str(reading.read_optimized).lower()}
    # The update of the commit time sets the path, with Spark's parameters or without.
    return {
        **config.serde_properties,
        "serialization.format": "1",
        **(spark if config.sync_as_datasource else {PATH: facts.base_path}),
    }


def _parameters(
    config: SyncConfig, fields: list[Mapping[str, Any]], partition_fields: tuple[str, ...]
) -> dict[str, str]:
    parameters = dict(config.table_properties)
    if not config.sync_as_datasource:
        return parameters
    schema = spark_schema_json(fields, partition_fields)
    size = config.schema_part_length
    parts = [schema[start : start + size] for start in range(0, len(schema), size)]
    parameters[PROVIDER] = "hudi"
    if config.spark_version:
        parameters["spark.sql.create.version"] = config.spark_version
    parameters[_SCHEMA + "numParts"] = str(len(parts))
    parameters |= {f"{_SCHEMA}part.{number}": part for number, part in enumerate(parts)}
    if partition_fields:
        parameters[_SCHEMA + "numPartCols"] = str(len(partition_fields))
        parameters |= {f"{_SCHEMA}partCol.{number}": name for number, name in enumerate(partition_fields)}
    return parameters
