"""Keys of compaction and log compaction, and the payload that they merge records by (Hudi: HoodieCompactionConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, class_of, integer, pattern, text

OVERWRITE_WITH_LATEST = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
DEFAULT_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
DEFAULT_MERGER_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"


class CompactionTrigger(StrEnum):
    """What makes a compaction due (Hudi: CompactionTriggerStrategy)."""

    NUM_COMMITS = "NUM_COMMITS"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
    TIME_ELAPSED = "TIME_ELAPSED"
    NUM_AND_TIME = "NUM_AND_TIME"
    NUM_OR_TIME = "NUM_OR_TIME"


class CompactionStrategy(StrEnum):
    """Which slices a compaction takes, by the class names of Hudi's package
    ``org.apache.hudi.table.action.compact.strategy``.
    """

    LOG_FILE_SIZE = "LogFileSizeBasedCompactionStrategy"
    LOG_FILE_NUMBER = "LogFileNumBasedCompactionStrategy"
    BOUNDED_IO = "BoundedIOCompactionStrategy"
    UNBOUNDED = "UnBoundedCompactionStrategy"
    DAY_BASED = "DayBasedCompactionStrategy"
    BOUNDED_PARTITIONS = "BoundedPartitionAwareCompactionStrategy"
    UNBOUNDED_PARTITIONS = "UnBoundedPartitionAwareCompactionStrategy"
    PARTITION_REGEX = "PartitionRegexBasedCompactionStrategy"


PAYLOAD_CLASS = Key(
    name="hoodie.compaction.payload.class",
    parse=text,
    default=OVERWRITE_WITH_LATEST,
    doc="Merge semantics, by Hudi's class name.",
)
MERGER_STRATEGY = Key(
    name="hoodie.compaction.record.merger.strategy",
    parse=text,
    default=DEFAULT_MERGER_STRATEGY,
    doc="Id of the record merger.",
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
COMPACT_INLINE = Key(
    name="hoodie.compact.inline",
    parse=boolean,
    default=False,
    doc="A write to a MERGE_ON_READ table compacts it afterwards, when that is due.",
)
COMPACT_SCHEDULE_INLINE = Key(
    name="hoodie.compact.schedule.inline",
    parse=boolean,
    default=False,
    doc="A write plans the compaction that is due, and leaves it to compact.py.",
)
COMPACT_TRIGGER = Key(
    name="hoodie.compact.inline.trigger.strategy",
    parse=choice(CompactionTrigger),
    default=CompactionTrigger.NUM_COMMITS,
    doc="What makes compaction due: commits, time, or both.",
)
COMPACT_MAX_DELTA_SECONDS = Key(
    name="hoodie.compact.inline.max.delta.seconds",
    parse=integer(),
    default=3600,
    doc="Seconds since the last compaction, or the first delta commit, that make compaction due.",
)
COMPACT_STRATEGY = Key(
    name="hoodie.compaction.strategy",
    parse=class_of(CompactionStrategy),
    default=CompactionStrategy.LOG_FILE_SIZE,
    doc="Which slices a compaction takes, by the name of Hudi's class, with or without its package.",
)
COMPACT_LOG_NUMBER_THRESHOLD = Key(
    name="hoodie.compaction.logfile.num.threshold",
    parse=integer(),
    default=0,
    doc="Log files that make a slice worth compacting (LogFileNumBasedCompactionStrategy).",
)
COMPACT_TARGET_PARTITIONS = Key(
    name="hoodie.compaction.daybased.target.partitions",
    parse=integer(1),
    default=10,
    doc="Newest day partitions that the day-based strategies take.",
)
COMPACT_PARTITION_REGEX = Key(
    name="hoodie.compaction.partition.path.regex",
    parse=pattern,
    default="",
    doc="Partitions that PartitionRegexBasedCompactionStrategy compacts: those in which it is found.",
)
LOG_COMPACT_BLOCKS = Key(
    name="hoodie.log.compaction.blocks.threshold",
    parse=integer(1),
    default=5,
    doc="Log blocks that make a slice worth a log compaction.",
)
LOG_COMPACT_INLINE = Key(
    name="hoodie.log.compaction.inline",
    parse=boolean,
    default=False,
    doc="A write runs the log compaction that is due afterwards.",
)
LOG_COMPACT_ENABLED = Key(
    name="hoodie.log.compaction.enable",
    parse=boolean,
    default=False,
    doc="Taken, and without effect on a table's own logs, as in Hudi: `hoodie.log.compaction.inline` runs one after a "
    "write, `compact.py --log-compaction` at any time.",
)
