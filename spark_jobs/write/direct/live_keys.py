"""Whether keys count as stored whose records the logs of their slices removed."""

from __future__ import annotations

from spark_jobs.core.config.keys.metadata import RECORD_INDEX
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig


def live_keys_alone(config: WriteConfig, table: HudiTable) -> bool:
    """Whether the keys of a slice are those of its rows alone, so that all logs are read for them.

    Else a key that a base file still has keeps its file group, as in Hudi. But an insert that leaves out what the table
    has would lose such a record, and a record index, which forgot the key, learns it from an insert alone.
    """
    if not table.config.is_merge_on_read:
        return False
    keeps_index = RECORD_INDEX.of(config.properties)
    has_index = table.config.lists(MetadataPartition.RECORD_INDEX)
    return config.operation is Operation.INSERT or keeps_index or has_index
