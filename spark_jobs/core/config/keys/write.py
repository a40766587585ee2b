"""Keys of a writer that have no module of their own (Hudi: HoodieWriteConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, integer, names


class MarkersType(StrEnum):
    DIRECT = "DIRECT"
    TIMELINE_SERVER_BASED = "TIMELINE_SERVER_BASED"


SMALL_FILE_CANDIDATES = Key(
    name="hoodie.merge.small.file.group.candidates.limit",
    parse=integer(),
    default=1,
    doc="Small slices of a MERGE_ON_READ partition that one batch may fill.",
)
CONFLICT_RETRIES = Key(
    name="hoodie.write.num.retries.on.conflict.failures",
    parse=integer(),
    default=0,
    doc="How often a job writes again, from its source on and as a new instant, where another writer was faster.",
)
DURABLE = Key(
    name="pyhudi.durable",
    parse=boolean,
    default=True,
    doc="On local disks: data files are forced to the disk before their commit, so that a loss of power loses none.",
)
LOCAL_BYTES = Key(
    name="pyhudi.ingest.local.max.bytes",
    parse=integer(),
    default=1 << 30,
    doc="What `ingest.py --engine auto` reads at most in its own process, without Spark: bytes of the source's values "
    "in memory, and of the table's files in the partitions that it writes to.",
)
DRIVER_ROWS = Key(
    name="pyhudi.ingest.driver.max.rows",
    parse=integer(at_least=1),
    default=2_000_000,
    doc="Rows of a batch whose keys the driver holds at once, some 100 bytes each, to find their places; the keys of a "
    "larger one go to tasks, through Spark's shuffle or files of the machine's temporary folder. Of an insert that "
    "looks no keys up eight times as many rows.",
)
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
ALLOW_DUPLICATES_ON_INSERT = Key(
    name="hoodie.merge.allow.duplicate.on.inserts",
    parse=boolean,
    default=True,
    doc="An insert puts its records beside those of a file that it fills up; with false, equal keys of that file are "
    "updated.",
)
STATIC_OVERWRITE_PARTITIONS = Key(
    name="hoodie.static.overwrite.partition.paths",
    parse=names,
    default=NO_NAMES,
    doc="Partition paths that an insert_overwrite replaces, whichever its records are of.",
)
SET_NULL_FOR_MISSING = Key(
    name="hoodie.write.set.null.for.missing.columns",
    parse=boolean,
    default=False,
    doc="Columns that the source lacks become null; else they are an error.",
)
ROLLBACK_BY_MARKERS = Key(
    name="hoodie.rollback.using.markers",
    parse=boolean,
    default=True,
    doc="Find what a pending write made by its markers; false: by listing the table.",
)
COMPLEX_NEW_ENCODING: Key[bool | None] = Key(
    name="hoodie.write.complex.keygen.new.encoding",
    parse=boolean,
    default=None,
    doc="Of ComplexKeyGenerator with one column: true for keys that are its value alone, as Hudi 0.15 makes them, "
    "false for `column:value`, as Hudi 0.14.0 did; without it as the keys in the table are.",
)
