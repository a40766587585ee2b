"""Keys of archival: when commits leave the active timeline, and for which folder (Hudi: HoodieArchivalConfig)."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, integer, text
from spark_jobs.core.format.folders import ARCHIVE_NAME

ARCHIVE_FOLDER = Key(
    name="hoodie.archivelog.folder", parse=text, default=ARCHIVE_NAME, doc="Folder of the archived timeline."
)
ARCHIVE_LOST_BEFORE = Key(
    name="pyhudi.archive.lost.before",
    parse=text,
    default="",
    doc="For a table whose archive was trimmed or removed: instants before this one of which nothing is on record "
    "count as completed.",
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
