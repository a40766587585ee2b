"""Keys of base files (Hudi: HoodieStorageConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer


class Codec(StrEnum):
    ZSTD = "zstd"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    UNCOMPRESSED = "uncompressed"


CODEC = Key(
    name="hoodie.parquet.compression.codec",
    parse=choice(Codec),
    default=Codec.ZSTD,
    doc="Codec of base files (Hudi's own default is gzip).",
)
ZSTD_LEVEL = Key(
    name="parquet.compression.codec.zstd.level",
    parse=integer(1, 22),
    default=3,
    doc="Level of zstd, by the name that Parquet's Java writer has for it.",
)
MAX_FILE_SIZE = Key(
    name="hoodie.parquet.max.file.size",
    parse=integer(1),
    default=125829120,
    doc="Bytes that a base file should not pass.",
)
SMALL_FILE_LIMIT = Key(
    name="hoodie.parquet.small.file.limit",
    parse=integer(),
    default=104857600,
    doc="Base files below so many bytes take inserts; 0 turns it off.",
)
ROW_GROUP_BYTES = Key(
    name="hoodie.parquet.block.size",
    parse=integer(1),
    default=33554432,
    doc="A row group of a base file ends with the batch that brings its values, as they are in memory, to so many "
    "bytes. Hudi's default is 125829120; a task holds this much of each file that it writes.",
)
DICTIONARY = Key(
    name="hoodie.parquet.dictionary.enabled", parse=boolean, default=True, doc="Dictionary encoding in base files."
)
BLOOM_ENABLED = Key(
    name="hoodie.parquet.bloom.filter.enabled", parse=boolean, default=True, doc="Base files carry a bloom filter."
)
