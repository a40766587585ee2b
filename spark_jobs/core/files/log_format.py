"""How log files are written, from the ``hoodie.*`` values of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.config.keys import logfile as logfile_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.log_block import BlockType

_BLOCK_TYPES = {
    logfile_keys.LogBlockFormat.AVRO: BlockType.AVRO_DATA_BLOCK,
    logfile_keys.LogBlockFormat.PARQUET: BlockType.PARQUET_DATA_BLOCK,
    logfile_keys.LogBlockFormat.HFILE: BlockType.HFILE_DATA_BLOCK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """Sizes are bytes; ``codec``, ``codec_level`` (of zstd) and ``dictionary`` are for Parquet blocks.

    A data block stays within ``max_block_bytes`` unless it holds a single record; the log file whose size passes
    ``max_file_bytes`` is the last one that is written to.
    """

    data_block: BlockType = _BLOCK_TYPES[logfile_keys.LOG_BLOCK_FORMAT.default]
    max_block_bytes: int = logfile_keys.LOG_BLOCK_MAX_SIZE.default
    max_file_bytes: int = logfile_keys.LOG_FILE_MAX_SIZE.default
    codec: str = parquet_keys.CODEC.default.value
    codec_level: int = parquet_keys.ZSTD_LEVEL.default
    dictionary: bool = parquet_keys.DICTIONARY.default
    hfile_compression: Compression = Compression[logfile_keys.HFILE_COMPRESSION.default.name]


DEFAULT_LOG_FORMAT = LogFormat()


def log_format(properties: Mapping[str, str]) -> LogFormat:
    """The format of all log files of one write."""
    return LogFormat(
        data_block=_BLOCK_TYPES[logfile_keys.LOG_BLOCK_FORMAT.of(properties)],
        max_block_bytes=logfile_keys.LOG_BLOCK_MAX_SIZE.of(properties),
        max_file_bytes=logfile_keys.LOG_FILE_MAX_SIZE.of(properties),
        codec=parquet_keys.CODEC.of(properties).value,
        codec_level=parquet_keys.ZSTD_LEVEL.of(properties),
        dictionary=parquet_keys.DICTIONARY.of(properties),
        hfile_compression=Compression[logfile_keys.HFILE_COMPRESSION.of(properties).name],
    )
