"""How a table is synced: the ``hoodie.datasource.hive_sync.*`` and ``hoodie.meta.sync.*`` keys as one value.

Two defaults differ from Hudi's: an unset mode means ``hms`` (Hudi: ``jdbc``), the only one that is served; and what
Hudi takes from the write's configuration (name, partition fields, style) comes from the table itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from spark_jobs.core.config.key import Key, boolean, choice, integer, names, text
from spark_jobs.core.errors import ConfigError

_HIVE = "hoodie.datasource.hive_sync."
_META = "hoodie.meta.sync."


class TableStrategy(StrEnum):
    """Which tables a MERGE_ON_READ table gets (Hudi: HoodieSyncTableStrategy)."""

    ALL = "ALL"
    RO = "RO"
    RT = "RT"


class SyncMode(StrEnum):
    """Ways to a metastore that Hudi knows; only ``hms`` is served."""

    HMS = "hms"
    JDBC = "jdbc"
    HIVEQL = "hiveql"
    GLUE = "glue"


def _flag(name: str, default: bool, doc: str) -> Key[bool]:
    return Key(name=name, parse=boolean, default=default, doc=doc)


def _text(name: str, default: str, doc: str, aliases: tuple[str, ...] = ()) -> Key[str]:
    return Key(name=name, parse=text, default=default, doc=doc, aliases=aliases)


ENABLE = _flag(_HIVE + "enable", False, "Sync after each write.")
METASTORE_URIS = _text(
    _HIVE + "metastore.uris",
    "thrift://localhost:9083",
    "Thrift addresses, comma-separated; the first that answers is taken.",
)
MODE: Key[SyncMode] = Key(
    name=_HIVE + "mode", parse=choice(SyncMode), default=SyncMode.HMS, doc="Way to the metastore."
)
DATABASE = _text(_HIVE + "database", "default", "Database of the metastore.")
TABLE = _text(
    _HIVE + "table",
    "",
    "Table of the metastore; the Hudi table's own name if not given.",
    aliases=("hoodie.datasource.write.table.name", "hoodie.table.name"),
)
PARTITION_FIELDS: Key[tuple[str, ...]] = Key(
    name=_HIVE + "partition_fields",
    parse=names,
    default=(),
    doc="Partition keys; the table's own partition fields if not given.",
)
EXTRACTOR = _text(
    _HIVE + "partition_extractor_class", "", "Class that tells partition values from a path; inferred if not given."
)
BASE_FILE_FORMAT = _text(_HIVE + "base_file_format", "", "PARQUET, HFILE or ORC; the table's own if not given.")
AUTO_CREATE_DATABASE = _flag(_HIVE + "auto_create_database", True, "Make the database where it is missing.")
IGNORE_EXCEPTIONS = _flag(_HIVE + "ignore_exceptions", False, "A failed sync is a warning.")
SKIP_RO_SUFFIX = _flag(_HIVE + "skip_ro_suffix", False, "Name the read-optimized table without _ro.")
SUPPORT_TIMESTAMP = _flag(_HIVE + "support_timestamp", False, "Timestamps as timestamp, not as bigint.")
TABLE_PROPERTIES = _text(_HIVE + "table_properties", "", "More parameters of the table, one k=v a line.")
SERDE_PROPERTIES = _text(_HIVE + "serde_properties", "", "More parameters of the SerDe, one k=v a line.")
SYNC_AS_DATASOURCE = _flag(_HIVE + "sync_as_datasource", True, "Make it Spark's data source table, too.")
SCHEMA_PART_LENGTH: Key[int] = Key(
    name=_HIVE + "schema_string_length_thresh",
    parse=integer(1),
    default=4000,
    doc="Characters of one piece of Spark's schema.",
)
MANAGED = _flag(_HIVE + "create_managed_table", False, "A managed table: dropping it deletes the files.")
OMIT_META_FIELDS = _flag(_HIVE + "omit_metadata_fields", False, "Leave the five meta fields out.")
BATCH: Key[int] = Key(name=_HIVE + "batch_num", parse=integer(1), default=1000, doc="Partitions in one call.")
SYNC_COMMENT = _flag(_HIVE + "sync_comment", False, "Avro's doc as comment of the column.")
STRATEGY: Key[TableStrategy] = Key(
    name=_HIVE + "table.strategy",
    parse=choice(TableStrategy),
    default=TableStrategy.ALL,
    doc="Tables of a MERGE_ON_READ table.",
)
PRE_APACHE = _flag(_HIVE + "use_pre_apache_input_format", False, "The input formats of com.uber.hoodie.")
DECODE_PARTITION = _flag(_META + "decode_partition", False, "Undo the URL encoding of partition values.")
SNAPSHOT_WITH_TABLE_NAME = _flag(
    _META + "sync_snapshot_with_table_name", True, "With ALL: the table's plain name as real-time table, too."
)
INCREMENTAL = _flag(
    _META + "incremental", True, "Look only at partitions of commits after the last sync, where these are known."
)
CONDITIONAL = _flag(
    "hoodie.datasource.meta_sync.condition.sync", False, "Note the new commit time only if something else changed."
)
SPARK_VERSION = _text("hoodie.meta_sync.spark.version", "", "Spark version to note at the table.")

_JDBC = (_HIVE + "use_jdbc", _HIVE + "jdbcurl")
"""By which Hudi syncs by JDBC where no mode is given."""
_IGNORED = (
    "hoodie.datasource.meta.sync.enable",
    "hoodie.datasource.meta.sync.base.path",
    "hoodie.meta.sync.client.tool.class",
    "hoodie.meta.sync.metadata_file_listing",
    *_JDBC,
    _HIVE + "username",
    _HIVE + "password",
    _HIVE + "assume_date_partitioning",
    _HIVE + "bucket_sync",
    _HIVE + "bucket_sync_spec",
    _HIVE + "filter_pushdown_enabled",
    _HIVE + "filter_pushdown_max_size",
)
"""Keys that pass without a warning: Hudi's ``hms`` mode does nothing with them either, or the table says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """The keys above, parsed; empty texts and tuples mean "as the table has it"."""

    metastore_uris: str = METASTORE_URIS.default
    database: str = DATABASE.default
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
    schema_part_length: int = SCHEMA_PART_LENGTH.default
    managed: bool = False
    omit_meta_fields: bool = False
    batch: int = BATCH.default
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

        :raises ConfigError: a value is not valid, or a mode other than ``hms`` is asked for or is what the values mean.
        """
        mode = MODE.of(properties)
        for name in _JDBC:
            if not properties.get(MODE.name) and properties.get(name, "").lower() not in ("", "false"):
                raise ConfigError(
                    f"{name} is given and {MODE.name} is not: that is a sync by JDBC, which is not served",
                    todo=f"give {MODE.name}=hms, and the metastore's Thrift address as {METASTORE_URIS.name}",
                )
        if mode is not SyncMode.HMS:
            raise ConfigError(
                f"{MODE.name}={mode.value} is not served",
                todo=f"give hms, and the metastore's Thrift address as {METASTORE_URIS.name}",
            )
        return cls(
            metastore_uris=METASTORE_URIS.of(properties),
            database=DATABASE.of(properties),
            table=TABLE.of(properties),
            partition_fields=PARTITION_FIELDS.of(properties),
            extractor=EXTRACTOR.of(properties),
            base_file_format=BASE_FILE_FORMAT.of(properties).upper(),
            auto_create_database=AUTO_CREATE_DATABASE.of(properties),
            ignore_exceptions=IGNORE_EXCEPTIONS.of(properties),
            skip_ro_suffix=SKIP_RO_SUFFIX.of(properties),
            support_timestamp=SUPPORT_TIMESTAMP.of(properties),
            table_properties=_lines(TABLE_PROPERTIES, properties),
            serde_properties=_lines(SERDE_PROPERTIES, properties),
            sync_as_datasource=SYNC_AS_DATASOURCE.of(properties),
            schema_part_length=SCHEMA_PART_LENGTH.of(properties),
            managed=MANAGED.of(properties),
            omit_meta_fields=OMIT_META_FIELDS.of(properties),
            batch=BATCH.of(properties),
            sync_comment=SYNC_COMMENT.of(properties),
            strategy=STRATEGY.of(properties),
            pre_apache_input_format=PRE_APACHE.of(properties),
            decode_partition=DECODE_PARTITION.of(properties),
            snapshot_with_table_name=SNAPSHOT_WITH_TABLE_NAME.of(properties),
            incremental=INCREMENTAL.of(properties),
            conditional=CONDITIONAL.of(properties),
            spark_version=SPARK_VERSION.of(properties),
        )


def unknown_sync_key_warnings(keys: Iterable[str]) -> list[str]:
    """One line for each key of Hive sync that nothing reads, with the nearest one that something does."""
    known = {value.name for value in globals().values() if isinstance(value, Key)} | set(_IGNORED)
    lines = []
    for name in sorted(keys):
        if name in known or not name.startswith((_HIVE, _META, "hoodie.meta_sync.", "hoodie.datasource.meta_sync.")):
            continue
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        lines.append(
            f"{name} is not known to this release and has no effect"
            + (f"; did you mean {nearest[0]}?" if nearest else "")
        )
    return lines


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
