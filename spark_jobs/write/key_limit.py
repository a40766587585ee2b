"""How long the record keys of one write may be, by where it puts them."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.config.keys.index import INDEX_TYPE
from spark_jobs.core.config.keys.logfile import LOG_BLOCK_FORMAT, LogBlockFormat
from spark_jobs.core.config.keys.metadata import METADATA_ENABLED, RECORD_INDEX
from spark_jobs.core.files.hfile.row_limits import LOG_BLOCK_LIMIT, RECORD_INDEX_LIMIT
from spark_jobs.core.keygen.key_limit import KeyLimit
from spark_jobs.options.choices import Operation


def key_limit(properties: Mapping[str, str], operation: Operation, *, merge_on_read: bool) -> KeyLimit | None:
    """None for any length. A delete stores no key but in delete blocks, which take any.

    Of operations that may write data blocks to logs: new records go there by the bucket index alone, but nobody knows
    before the look at the table which are new.
    """
    if operation in (Operation.DELETE, Operation.DELETE_PARTITION):
        return None
    if METADATA_ENABLED.of(properties) and RECORD_INDEX.of(properties):
        return RECORD_INDEX_LIMIT
    by_hfile = merge_on_read and LOG_BLOCK_FORMAT.of(properties) is LogBlockFormat.HFILE
    appends = operation is Operation.UPSERT or INDEX_TYPE.of(properties).places_by_key
    return LOG_BLOCK_LIMIT if by_hfile and appends else None
