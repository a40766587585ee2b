"""What a commit tells the metadata table before it completes."""

from __future__ import annotations

from typing import Protocol

from spark_jobs.core.clock import Clock
from spark_jobs.core.config import table_keys as keys
from spark_jobs.core.config.table_config import read_table_config, update_table_config
from spark_jobs.core.storage import Storage


class MetadataWriter(Protocol):
    """Called under the table lock, before the completed file of any action is written."""

    def before_publish(self, storage: Storage, base_path: str, clock: Clock) -> None: ...


class TakeOffMetadataWriter:
    """Takes a listed metadata table off, so that no reader looks for the new files in it and misses them.

    The names leave ``hoodie.properties`` first: from then on nobody trusts the directory, which goes next. Hudi builds
    the table anew from a listing at its next write.
    """

    def before_publish(self, storage: Storage, base_path: str, clock: Clock) -> None:
        config = read_table_config(storage, base_path, clock)
        listed = (keys.METADATA_PARTITIONS, keys.METADATA_PARTITIONS_INFLIGHT)
        if any(key.of(config.properties) for key in listed):
            update_table_config(storage, base_path, {key.name: "" for key in listed}, clock)
        storage.delete_tree(f"{base_path}/.hoodie/metadata")
