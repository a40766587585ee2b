"""Keys of log files and their blocks (Hudi: HoodieStorageConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, boolean, choice, integer


class LogBlockFormat(StrEnum):
    AVRO = "avro"
    PARQUET = "parquet"
    HFILE = "hfile"


class HFileCodec(StrEnum):
    GZ = "GZ"
    NONE = "NONE"
    SNAPPY = "SNAPPY"
    LZ4 = "LZ4"
    BZIP2 = "BZIP2"
    ZSTD = "ZSTD"


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
