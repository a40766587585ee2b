"""How a table is synced: the ``hoodie.datasource.hive_sync.*`` and ``hoodie.meta.sync.*`` keys as one value.

Two defaults differ from Hudi's: an unset mode means ``hms`` (Hudi: ``jdbc``), the only one that is served; and what
Hudi takes from the write's configuration (name, partition fields, style) comes from the table itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Self

from spark_jobs.core.config.key import Key
from spark_jobs.core.config.keys import hive_sync as keys
from spark_jobs.core.config.keys import meta_sync as meta_sync_keys
from spark_jobs.core.config.keys.hive_sync import SyncMode, TableStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.metastore import Metastore

CLIENTS: Mapping[SyncMode, str] = {SyncMode.HMS: "spark_jobs.hive.client:ThriftMetastore"}
"""For each way to a metastore that is served, ``module:class``; its ``of(config)`` gives a metastore for a ``with``.
Imported when it is asked for: no write without a sync needs the packages of a client.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """The keys, parsed; empty texts and tuples mean "as the table has it"."""

    mode: SyncMode = SyncMode.HMS
    metastore_uris: str = keys.METASTORE_URIS.default
    database: str = keys.DATABASE.default
    table: str = ""
    partition_fields: tuple[str, ...] = ()
    extractor: str = ""
    base_file_format: str = ""
    auto_create_database: bool = True
    ignore_exceptions: bool = False
    skip_ro_suffix: bool = False
    support_timestamp: bool = False
    table_properties: Mapping[str, str] = field(default_factory=dict)
    serde_properties: Mapping[str, str] = field(default_factory=dict)
    sync_as_datasource: bool = True
    schema_part_length: int = keys.SCHEMA_PART_LENGTH.default
    managed: bool = False
    omit_meta_fields: bool = False
    batch: int = keys.BATCH.default
    sync_comment: bool = False
    strategy: TableStrategy = TableStrategy.ALL
    pre_apache_input_format: bool = False
    decode_partition: bool = False
    snapshot_with_table_name: bool = True
    incremental: bool = True
    conditional: bool = False
    spark_version: str = ""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self:
        """Parse ``hoodie.*`` properties; keys of other concerns are passed over.

        :raises ConfigError: a value is not valid, or means a way to the metastore that is not served.
        """
        mode = keys.MODE.of(properties)
        for key in (keys.USE_JDBC, keys.JDBC_URL):
            if not properties.get(keys.MODE.name) and key.of(properties).lower() not in ("", "false"):
                raise ConfigError(
                    f"{key.name} is given and {keys.MODE.name} is not: that is a sync by JDBC, which is not served",
                    todo=f"give {keys.MODE.name}=hms, and the metastore's Thrift address as {keys.METASTORE_URIS.name}",
                )
        if mode not in CLIENTS:
            raise ConfigError(
                f"{keys.MODE.name}={mode.value} is not served",
                todo=f"give {' or '.join(CLIENTS)}, and the metastore's Thrift address as {keys.METASTORE_URIS.name}",
            )
        return cls(
            mode=mode,
            metastore_uris=keys.METASTORE_URIS.of(properties),
            database=keys.DATABASE.of(properties),
            table=keys.TABLE.of(properties),
            partition_fields=keys.PARTITION_FIELDS.of(properties),
            extractor=keys.EXTRACTOR.of(properties),
            base_file_format=keys.BASE_FILE_FORMAT.of(properties).upper(),
            auto_create_database=keys.AUTO_CREATE_DATABASE.of(properties),
            ignore_exceptions=keys.IGNORE_EXCEPTIONS.of(properties),
            skip_ro_suffix=keys.SKIP_RO_SUFFIX.of(properties),
            support_timestamp=keys.SUPPORT_TIMESTAMP.of(properties),
            table_properties=_lines(keys.TABLE_PROPERTIES, properties),
            serde_properties=_lines(keys.SERDE_PROPERTIES, properties),
            sync_as_datasource=keys.SYNC_AS_DATASOURCE.of(properties),
            schema_part_length=keys.SCHEMA_PART_LENGTH.of(properties),
            managed=keys.MANAGED.of(properties),
            omit_meta_fields=keys.OMIT_META_FIELDS.of(properties),
            batch=keys.BATCH.of(properties),
            sync_comment=keys.SYNC_COMMENT.of(properties),
            strategy=keys.STRATEGY.of(properties),
            pre_apache_input_format=keys.PRE_APACHE.of(properties),
            decode_partition=meta_sync_keys.DECODE_PARTITION.of(properties),
            snapshot_with_table_name=meta_sync_keys.SNAPSHOT_WITH_TABLE_NAME.of(properties),
            incremental=meta_sync_keys.INCREMENTAL.of(properties),
            conditional=meta_sync_keys.CONDITIONAL.of(properties),
            spark_version=meta_sync_keys.SPARK_VERSION.of(properties),
        )


def connect(config: SyncConfig) -> AbstractContextManager[Metastore]:
    """The metastore of a sync.

    :raises ConfigError: an address is not valid.
    :raises MetastoreUnreachableError: none answers.
    """
    module, _, name = CLIENTS[config.mode].partition(":")
    metastore: AbstractContextManager[Metastore] = getattr(import_module(module), name).of(config)
    return metastore


def _lines(key: Key[str], properties: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for line in key.of(properties).splitlines():
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{key.name} has the line {line!r}", todo="give one k=v a line")
        found[name.strip()] = value.strip()
    return found
