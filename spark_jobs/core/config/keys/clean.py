"""Keys of cleaning: which file slices are kept, and when the others go (Hudi: HoodieCleanConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer


class CleaningPolicy(StrEnum):
    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"
    KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS"


class CleaningTrigger(StrEnum):
    NUM_COMMITS = "NUM_COMMITS"


class FailedWrites(StrEnum):
    EAGER = "EAGER"
    LAZY = "LAZY"
    NEVER = "NEVER"


def _stays(value: str) -> bool:
    if boolean(value):
        raise ValueError(
            "leave it out: cleaning never deletes files of the source; delete them yourself when every file group has "
            "a base file with whole rows and the slices before were cleaned"
        )
    return False


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
    aliases=("hoodie.clean.trigger.max.commits",),
)
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
CLEAN_SOURCE = Key(
    name="hoodie.cleaner.delete.bootstrap.base.file",
    parse=_stays,
    default=False,
    doc="Whether cleaning deletes the source file along with its file of keys; it never does, true is refused.",
    aliases=("hoodie.clean.delete.bootstrap.base.file",),
)
