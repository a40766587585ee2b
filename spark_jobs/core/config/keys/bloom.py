"""Keys of bloom filters and of the index that goes by them (Hudi: HoodieIndexConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer, share, text

MOST_BLOOM_ENTRIES = 100_000_000
"""A filter for so many takes half a gigabyte at the default rate of false positives."""


class BloomType(StrEnum):
    SIMPLE = "SIMPLE"
    DYNAMIC_V0 = "DYNAMIC_V0"


PASSED_OVER = "Known from Hudi; has no effect here, where keys are looked up by arrays."
BLOOM_TYPE = Key(
    name="hoodie.bloom.index.filter.type",
    parse=choice(BloomType),
    default=BloomType.DYNAMIC_V0,
    doc="SIMPLE or DYNAMIC_V0.",
)
BLOOM_ENTRIES = Key(
    name="hoodie.index.bloom.num_entries",
    parse=integer(1, MOST_BLOOM_ENTRIES),
    default=60000,
    doc="Keys a bloom filter is sized for.",
)
BLOOM_FPP = Key(name="hoodie.index.bloom.fpp", parse=share, default=1e-9, doc="False positive rate of a bloom filter.")
BLOOM_MAX_ENTRIES = Key(
    name="hoodie.bloom.index.filter.dynamic.max.entries",
    parse=integer(1, MOST_BLOOM_ENTRIES),
    default=100000,
    doc="Keys a dynamic filter grows to.",
)
PRUNE_BY_RANGES = Key(
    name="hoodie.bloom.index.prune.by.ranges",
    parse=boolean,
    default=True,
    doc="The bloom indexes look only into files whose range of keys holds a key; turn it off for random keys.",
)
USE_METADATA = Key(
    name="hoodie.bloom.index.use.metadata",
    parse=boolean,
    default=False,
    doc="The bloom indexes take key ranges and filters from the metadata table, where it has them, not from footers; "
    "in batches of at most pyhudi.ingest.driver.max.rows rows.",
)
BLOOM_UPDATES_PARTITION = Key(
    name="hoodie.bloom.index.update.partition.path",
    parse=boolean,
    default=True,
    doc="GLOBAL_BLOOM: a record that comes with another partition moves there; else it stays where it is.",
)
BLOOM_PARALLELISM = Key(
    name="hoodie.bloom.index.parallelism",
    parse=integer(),
    default=0,
    doc="Tasks that look into files; 0: by the input.",
)
TREE_FILTER = Key(name="hoodie.bloom.index.use.treebased.filter", parse=boolean, default=True, doc=PASSED_OVER)
BUCKETIZED = Key(name="hoodie.bloom.index.bucketized.checking", parse=boolean, default=True, doc=PASSED_OVER)
KEYS_PER_BUCKET = Key(name="hoodie.bloom.index.keys.per.bucket", parse=integer(1), default=10000000, doc=PASSED_OVER)
BLOOM_CACHING = Key(name="hoodie.bloom.index.use.caching", parse=boolean, default=True, doc=PASSED_OVER)
BLOOM_STORAGE_LEVEL = Key(
    name="hoodie.bloom.index.input.storage.level", parse=text, default="MEMORY_AND_DISK_SER", doc=PASSED_OVER
)
