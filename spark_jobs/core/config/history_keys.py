"""The keys of the services that keep a table's history: cleaning, archival, rollback, savepoints.

Their defaults are Hudi's, but for what a write does on its own: see docs/configuration.md.
"""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer


class CleaningTrigger(StrEnum):
    NUM_COMMITS = "NUM_COMMITS"


class FailedWrites(StrEnum):
    EAGER = "EAGER"
    LAZY = "LAZY"
    NEVER = "NEVER"


CLEAN_AUTOMATIC = Key(
    name="hoodie.clean.automatic",
    parse=boolean,
    default=False,
    doc="Clean after each commit, in the process that committed (Hudi's own default is true).",
)
CLEAN_ASYNC = Key(
    name="hoodie.clean.async",
    parse=boolean,
    default=False,
    doc="Leave cleaning to clean.py, also where `hoodie.clean.automatic` is on.",
    aliases=("hoodie.clean.async.enabled",),
)
CLEAN_TRIGGER = Key(
    name="hoodie.clean.trigger.strategy",
    parse=choice(CleaningTrigger),
    default=CleaningTrigger.NUM_COMMITS,
    doc="What makes cleaning due: commits since the last clean.",
)
CLEAN_HOURS_RETAINED = Key(
    name="hoodie.cleaner.hours.retained",
    parse=integer(1),
    default=24,
    doc="Hours whose commits keep their file slices, by the policy KEEP_LATEST_BY_HOURS.",
    aliases=("hoodie.clean.hours.retained",),
)
CLEAN_INCREMENTAL = Key(
    name="hoodie.cleaner.incremental.mode",
    parse=boolean,
    default=True,
    doc="Look only at partitions that changed since the last clean.",
    aliases=("hoodie.clean.incremental.enabled",),
)
FAILED_WRITES_POLICY = Key(
    name="hoodie.cleaner.policy.failed.writes",
    parse=choice(FailedWrites),
    default=FailedWrites.EAGER,
    doc="EAGER and LAZY: writes and clean.py undo what writers left whose heartbeat lapsed; NEVER: clean.py does not.",
    aliases=("hoodie.clean.failed.writes.policy",),
)
ARCHIVE_AUTOMATIC = Key(
    name="hoodie.archive.automatic",
    parse=boolean,
    default=False,
    doc="Archive after each commit, in the process that committed (Hudi's own default is true).",
)
KEEP_MIN_COMMITS = Key(
    name="hoodie.keep.min.commits",
    parse=integer(1),
    default=20,
    doc="Commits that an archival leaves on the active timeline.",
)
KEEP_MAX_COMMITS = Key(
    name="hoodie.keep.max.commits",
    parse=integer(2),
    default=30,
    doc="More commits than these on the active timeline make an archival due.",
)
ARCHIVE_BATCH = Key(
    name="hoodie.commits.archival.batch",
    parse=integer(1),
    default=10,
    doc="States of instants in one block of an archive file.",
)
ARCHIVE_BEYOND_SAVEPOINT = Key(
    name="hoodie.archive.beyond.savepoint",
    parse=boolean,
    default=False,
    doc="Archive commits that are later than the first savepoint, but for those that are saved.",
)
ARCHIVE_MERGE = Key(
    name="hoodie.archive.merge.enable",
    parse=boolean,
    default=False,
    doc="Make one archive file of many small ones.",
)
ARCHIVE_MERGE_FILES = Key(
    name="hoodie.archive.merge.files.batch.size",
    parse=integer(2),
    default=10,
    doc="Small archive files that make a merge of them worth while.",
)
ARCHIVE_MERGE_BYTES = Key(
    name="hoodie.archive.merge.small.file.limit.bytes",
    parse=integer(1),
    default=20 << 20,
    doc="Archive files of no more bytes are small.",
)
ROLLBACK_BY_MARKERS = Key(
    name="hoodie.rollback.using.markers",
    parse=boolean,
    default=True,
    doc="Find what a pending write made by its markers; false: by listing the table.",
)
