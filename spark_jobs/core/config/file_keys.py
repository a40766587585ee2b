"""The keys of what files look like: codecs, sizes, log blocks, bloom filters; with Hudi's names and meanings."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer, real, share

MOST_BLOOM_ENTRIES = 100_000_000
"""A filter for so many takes half a gigabyte at the default rate of false positives."""


class Codec(StrEnum):
    ZSTD = "zstd"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    UNCOMPRESSED = "uncompressed"


class LogBlockFormat(StrEnum):
    AVRO = "avro"
    PARQUET = "parquet"
    HFILE = "hfile"


class BloomType(StrEnum):
    SIMPLE = "SIMPLE"
    DYNAMIC_V0 = "DYNAMIC_V0"


class HFileCodec(StrEnum):
    GZ = "GZ"
    NONE = "NONE"
    SNAPPY = "SNAPPY"
    LZ4 = "LZ4"
    BZIP2 = "BZIP2"
    ZSTD = "ZSTD"


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
LOG_BLOCK_FORMAT = Key(
    name="hoodie.logfile.data.block.format",
    parse=choice(LogBlockFormat),
    default=LogBlockFormat.AVRO,
    doc="What the data blocks of log files hold: avro, parquet, hfile.",
)
LOG_BLOCK_MAX_SIZE = Key(
    name="hoodie.logfile.data.block.max.size",
    parse=integer(1),
    default=268435456,
    doc="Bytes that a data block of a log file does not pass, unless it holds one record.",
)
LOG_FILE_MAX_SIZE = Key(
    name="hoodie.logfile.max.size",
    parse=integer(1),
    default=1073741824,
    doc="A log file that passed so many bytes takes no more blocks.",
)
OPTIMIZED_LOG_SCAN = Key(
    name="hoodie.optimized.log.blocks.scan.enable",
    parse=boolean,
    default=False,
    doc="All blocks of an instant are read at the place of its first; always so where there are log compactions.",
    aliases=("hoodie.optimized.log.blocks.scan",),
)
HFILE_COMPRESSION = Key(
    name="hoodie.hfile.compression.algorithm",
    parse=choice(HFileCodec),
    default=HFileCodec.GZ,
    doc="Compression of HFile blocks in log files.",
)
RECORD_SIZE_ESTIMATE = Key(
    name="hoodie.copyonwrite.record.size.estimate",
    parse=integer(1),
    default=1024,
    doc="Bytes of a record, until commits tell.",
)
INSERT_SPLIT_SIZE = Key(
    name="hoodie.copyonwrite.insert.split.size",
    parse=integer(1),
    default=500000,
    doc="Records of a new file group without auto split.",
)
INSERT_AUTO_SPLIT = Key(
    name="hoodie.copyonwrite.insert.auto.split",
    parse=boolean,
    default=True,
    doc="Size new file groups by the average record.",
)
SIZE_ESTIMATION_THRESHOLD = Key(
    name="hoodie.record.size.estimation.threshold",
    parse=real,
    default=1.0,
    doc="A commit tells the record size when it wrote more than this part of the small-file limit.",
)
SMALL_FILE_CANDIDATES = Key(
    name="hoodie.merge.small.file.group.candidates.limit",
    parse=integer(),
    default=1,
    doc="Small slices of a MERGE_ON_READ partition that one batch may fill.",
)
BLOOM_ENABLED = Key(
    name="hoodie.parquet.bloom.filter.enabled", parse=boolean, default=True, doc="Base files carry a bloom filter."
)
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
DURABLE = Key(
    name="pyhudi.durable",
    parse=boolean,
    default=True,
    doc="On local disks: data files are forced to the disk before their commit, so that a loss of power loses none.",
)
