"""The keys that say which of two writers yields to the other, and when it is asked."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, class_of


class ConflictStrategy(StrEnum):
    """By the class names of Hudi's package ``org.apache.hudi.client.transaction``."""

    SIMPLE = "SimpleConcurrentFileWritesConflictResolutionStrategy"
    BUCKET = "BucketIndexConcurrentFileWritesConflictResolutionStrategy"
    PREFER_WRITER = "PreferWriterConflictResolutionStrategy"


def _strategy(value: str) -> ConflictStrategy | str:
    """A class of Hudi's, or ``module:function``."""
    return value.strip() if ":" in value else class_of(ConflictStrategy)(value)


CONFLICT_STRATEGY: Key[ConflictStrategy | str] = Key(
    name="hoodie.write.lock.conflict.resolution.strategy",
    parse=_strategy,
    default=ConflictStrategy.SIMPLE,
    doc="Which of two writers yields. By the first two of Hudi's, the one that publishes second, by file groups, or by "
    "buckets where that is the index; by PreferWriter a clustering yields to writes. A function of one's own, as "
    "module:function, refuses more.",
)
EARLY_DETECTION = Key(
    name="hoodie.write.concurrency.early.conflict.detection.enable",
    parse=boolean,
    default=False,
    doc="Before its first file, an upsert, insert or delete looks whether an earlier write that is under way has one "
    "of its file groups, and ends then.",
)
