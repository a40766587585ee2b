"""Keys of the sync of a table with Hive's metastore (Hudi: HiveSyncConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer, names, text

_HIVE = "hoodie.datasource.hive_sync."


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
USE_JDBC = _text(_HIVE + "use_jdbc", "", "By it Hudi syncs by JDBC where no mode is given; that is refused.")
JDBC_URL = _text(_HIVE + "jdbcurl", "", "Address of HiveServer2; refused as well where no mode is given.")
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
