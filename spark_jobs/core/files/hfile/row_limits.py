"""Where record keys become rows of HFiles, whose length HBase keeps in a signed short."""

from __future__ import annotations

from spark_jobs.core.config.keys.logfile import LOG_BLOCK_FORMAT
from spark_jobs.core.config.keys.metadata import RECORD_INDEX
from spark_jobs.core.files.hfile.format import MAX_ROW_BYTES
from spark_jobs.core.keygen.key_limit import KeyLimit

RECORD_INDEX_LIMIT = KeyLimit(
    most=MAX_ROW_BYTES,
    place=f"the record index ({RECORD_INDEX.name})",
    todo=f"make the key shorter, or write with {RECORD_INDEX.name}=false",
)
LOG_BLOCK_LIMIT = KeyLimit(
    most=MAX_ROW_BYTES,
    place=f"an HFile log block ({LOG_BLOCK_FORMAT.name})",
    todo=f"make the key shorter, or write with {LOG_BLOCK_FORMAT.name}=avro",
)
