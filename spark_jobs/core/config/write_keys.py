"""The keys of writers and table services, with Hudi's names and meanings; ``file_keys`` has those of files.

docs/configuration.md tells which defaults differ.
"""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, integer, names, text


class MarkersType(StrEnum):
    DIRECT = "DIRECT"
    TIMELINE_SERVER_BASED = "TIMELINE_SERVER_BASED"


class CleaningPolicy(StrEnum):
    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"
    KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS"


COMBINE_BEFORE_UPSERT = Key(
    name="hoodie.combine.before.upsert",
    parse=boolean,
    default=True,
    doc="One record for each key of an upsert's input.",
)
COMBINE_BEFORE_INSERT = Key(
    name="hoodie.combine.before.insert",
    parse=boolean,
    default=False,
    doc="One record for each key of an insert's input.",
)
COMBINE_BEFORE_DELETE = Key(
    name="hoodie.combine.before.delete", parse=boolean, default=True, doc="One record for each key of a delete's input."
)
PAYLOAD_CLASS = Key(
    name="hoodie.datasource.write.payload.class",
    parse=text,
    default="",
    doc="Merge semantics, by Hudi's class name.",
    aliases=("hoodie.compaction.payload.class",),
)
KEY_GENERATOR_CLASS = Key(
    name="hoodie.datasource.write.keygenerator.class",
    parse=text,
    default="",
    doc="Key generator, by Hudi's class name.",
)
RECORD_KEY_FIELD = Key(
    name="hoodie.datasource.write.recordkey.field",
    parse=names,
    default=NO_NAMES,
    doc="Columns whose values make the record key.",
)
PARTITION_PATH_FIELD = Key(
    name="hoodie.datasource.write.partitionpath.field", parse=names, default=NO_NAMES, doc="Partition columns."
)
PRECOMBINE_FIELD = Key(
    name="hoodie.datasource.write.precombine.field",
    parse=text,
    default="",
    doc="Column that decides between records of one key.",
)
OPERATION = Key(name="hoodie.datasource.write.operation", parse=text, default="", doc="What a write does.")
WRITE_TABLE_TYPE = Key(
    name="hoodie.datasource.write.table.type",
    parse=text,
    default="",
    doc="COPY_ON_WRITE or MERGE_ON_READ.",
    aliases=("hoodie.datasource.write.storage.type",),
)
SENSITIVE_KEYS = Key(
    name="hoodie.sensitive.config.keys",
    parse=names,
    default=NO_NAMES,
    doc="Parts of names of further keys whose values are hidden in logs and results, as those of passwords always are.",
)
UPSERT_PARALLELISM = Key(
    name="hoodie.upsert.shuffle.parallelism", parse=integer(), default=0, doc="Tasks of an upsert; 0: by the input."
)
INSERT_PARALLELISM = Key(
    name="hoodie.insert.shuffle.parallelism", parse=integer(), default=0, doc="Tasks of an insert; 0: by the input."
)
BULK_INSERT_PARALLELISM = Key(
    name="hoodie.bulkinsert.shuffle.parallelism",
    parse=integer(),
    default=0,
    doc="Tasks of a bulk insert; 0: by the input.",
)
DELETE_PARALLELISM = Key(
    name="hoodie.delete.shuffle.parallelism", parse=integer(), default=0, doc="Tasks of a delete; 0: by the input."
)
HEARTBEAT_INTERVAL = Key(
    name="hoodie.client.heartbeat.interval_in_ms",
    parse=integer(1),
    default=60000,
    doc="Milliseconds between heartbeats.",
)
HEARTBEAT_MISSES = Key(
    name="hoodie.client.heartbeat.tolerable.misses",
    parse=integer(),
    default=2,
    doc="Missed heartbeats until a writer counts as gone.",
)
MARKERS_TYPE = Key(
    name="hoodie.write.markers.type",
    parse=choice(MarkersType),
    default=MarkersType.DIRECT,
    doc="A file for each marker, or batches of them by a service of the driver (Hudi's own default is the latter).",
)
MARKERS_BATCH_THREADS = Key(
    name="hoodie.markers.timeline_server_based.batch.num_threads",
    parse=integer(1),
    default=20,
    doc="Files that batches of markers are written to, and threads that write them.",
)
MARKERS_BATCH_INTERVAL = Key(
    name="hoodie.markers.timeline_server_based.batch.interval_ms",
    parse=integer(1),
    default=50,
    doc="Milliseconds that requests for markers gather for a batch.",
)
EMBEDDED_SERVER = Key(
    name="hoodie.embed.timeline.server",
    parse=boolean,
    default=True,
    doc="Whether the driver may serve its tasks; without it, markers are direct.",
)
COMPACT_MAX_DELTA_COMMITS = Key(
    name="hoodie.compact.inline.max.delta.commits",
    parse=integer(1),
    default=5,
    doc="Delta commits that make compaction due.",
)
COMPACT_TARGET_IO = Key(
    name="hoodie.compaction.target.io",
    parse=integer(1),
    default=512000,
    doc="Megabytes that one compaction may read and write.",
)
COMPACT_LOG_SIZE_THRESHOLD = Key(
    name="hoodie.compaction.logfile.size.threshold",
    parse=integer(),
    default=0,
    doc="Bytes of logs that make a slice worth compacting.",
)
CLUSTER_MAX_COMMITS = Key(
    name="hoodie.clustering.async.max.commits",
    parse=integer(1),
    default=4,
    doc="Commits that make clustering due.",
    aliases=("hoodie.clustering.inline.max.commits",),
)
CLUSTER_SORT_COLUMNS = Key(
    name="hoodie.clustering.plan.strategy.sort.columns",
    parse=names,
    default=NO_NAMES,
    doc="Columns that clustered files are sorted by.",
)
CLUSTER_SMALL_FILE_LIMIT = Key(
    name="hoodie.clustering.plan.strategy.small.file.limit",
    parse=integer(1),
    default=314572800,
    doc="Base files below so many bytes are clustered.",
)
CLUSTER_TARGET_FILE = Key(
    name="hoodie.clustering.plan.strategy.target.file.max.bytes",
    parse=integer(1),
    default=1073741824,
    doc="Bytes of a clustered file.",
)
CLUSTER_GROUP_BYTES = Key(
    name="hoodie.clustering.plan.strategy.max.bytes.per.group",
    parse=integer(1),
    default=2147483648,
    doc="Bytes read by one group; what is more than 256 MiB in memory is sorted by way of the folder TMPDIR.",
)
CLUSTER_MAX_GROUPS = Key(
    name="hoodie.clustering.plan.strategy.max.num.groups", parse=integer(1), default=30, doc="Groups of one plan."
)
CLUSTER_SINGLE_GROUP = Key(
    name="hoodie.clustering.plan.strategy.single.group.clustering.enabled",
    parse=boolean,
    default=True,
    doc="A group of one file is clustered too.",
)
CLEAN_POLICY = Key(
    name="hoodie.cleaner.policy",
    parse=choice(CleaningPolicy),
    default=CleaningPolicy.KEEP_LATEST_COMMITS,
    doc="Which file slices are kept.",
    aliases=("hoodie.clean.policy",),
)
CLEAN_COMMITS_RETAINED = Key(
    name="hoodie.cleaner.commits.retained",
    parse=integer(1),
    default=10,
    doc="Commits whose file slices are kept.",
    aliases=("hoodie.clean.commits.retained",),
)
CLEAN_FILE_VERSIONS_RETAINED = Key(
    name="hoodie.cleaner.fileversions.retained",
    parse=integer(1),
    default=3,
    doc="File slices kept of each file group.",
    aliases=("hoodie.clean.fileversions.retained",),
)
CLEAN_MAX_COMMITS = Key(
    name="hoodie.clean.max.commits",
    parse=integer(1),
    default=1,
    doc="Commits since the last clean that make cleaning due.",
)
METADATA_ENABLED = Key(
    name="hoodie.metadata.enable",
    parse=boolean,
    default=True,
    doc="Keep a listing of the table's files in a metadata table; false takes it off.",
)
METADATA_COMPACT_AFTER = Key(
    name="hoodie.metadata.compact.max.delta.commits",
    parse=integer(1),
    default=10,
    doc="Delta commits of the metadata table that make its compaction due.",
)
METADATA_COLUMN_STATS = Key(
    name="hoodie.metadata.index.column.stats.enable",
    parse=boolean,
    default=False,
    doc="Keep statistics of columns in the metadata table, by which queries leave files out; false takes them off.",
)
METADATA_COLUMN_STATS_COLUMNS = Key(
    name="hoodie.metadata.index.column.stats.column.list",
    parse=names,
    default=NO_NAMES,
    doc="Columns to keep statistics of; none: all at the top of the schema.",
)
METADATA_COLUMN_STATS_GROUPS = Key(
    name="hoodie.metadata.index.column.stats.file.group.count",
    parse=integer(1),
    default=2,
    doc="File groups of column statistics, decided when they are made.",
)
METADATA_BLOOM_FILTERS = Key(
    name="hoodie.metadata.index.bloom.filter.enable",
    parse=boolean,
    default=False,
    doc="Keep the bloom filters of base files in the metadata table, for Hudi's bloom index; false takes them off.",
)
METADATA_BLOOM_FILTER_GROUPS = Key(
    name="hoodie.metadata.index.bloom.filter.file.group.count",
    parse=integer(1),
    default=4,
    doc="File groups of bloom filters, decided when they are made.",
)
