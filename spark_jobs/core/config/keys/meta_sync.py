"""Keys of syncs with any catalog (Hudi: HoodieSyncConfig)."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, names, text

_META = "hoodie.meta.sync."
HIVE_SYNC_TOOL = "org.apache.hudi.hive.HiveSyncTool"
DECODE_PARTITION = Key(
    name=_META + "decode_partition", parse=boolean, default=False, doc="Undo the URL encoding of partition values."
)
SNAPSHOT_WITH_TABLE_NAME = Key(
    name=_META + "sync_snapshot_with_table_name",
    parse=boolean,
    default=True,
    doc="With ALL: the table's plain name as real-time table, too.",
)
INCREMENTAL = Key(
    name=_META + "incremental",
    parse=boolean,
    default=True,
    doc="Look only at partitions of commits after the last sync, where these are known.",
)
CONDITIONAL = Key(
    name="hoodie.datasource.meta_sync.condition.sync",
    parse=boolean,
    default=False,
    doc="Note the new commit time only if something else changed.",
)
SPARK_VERSION = Key(
    name="hoodie.meta_sync.spark.version", parse=text, default="", doc="Spark version to note at the table."
)
META_SYNC_ENABLE = Key(
    name="hoodie.datasource.meta.sync.enable",
    parse=boolean,
    default=False,
    doc="Sync after each write, by the tools below.",
)
META_SYNC_TOOLS: Key[tuple[str, ...]] = Key(
    name=_META + "client.tool.class",
    parse=names,
    default=(HIVE_SYNC_TOOL,),
    doc="What syncs after a write, by Hudi's class name; only Hive sync is served, others are refused.",
)
