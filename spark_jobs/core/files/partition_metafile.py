"""``.hoodie_partition_metadata``: what makes a directory a partition (Hudi: HoodiePartitionMetadata)."""

from __future__ import annotations

from spark_jobs.core.config.java_properties import format_properties
from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.files.names import PARTITION_METAFILE, join
from spark_jobs.core.storage import FileStatus, Storage

METAFILES = (PARTITION_METAFILE, f"{PARTITION_METAFILE}.parquet", f"{PARTITION_METAFILE}.orc")


def ensure_partition_metafile(storage: Storage, base_path: str, partition: str, instant: str) -> None:
    """Write the metafile of a partition unless it has one; the depth counts path components below the base path."""
    path = f"{base_path}/{join(partition, PARTITION_METAFILE)}"
    if storage.stat(path) is not None:
        return
    depth = len(partition.split("/")) if partition else 0
    text = format_properties({"commitTime": instant, "partitionDepth": str(depth)}, ("partition metadata",))
    try:
        storage.create(path, text)
    except AlreadyExistsError:
        return  # another task of the same write was first; both wrote the same


def list_partitions(storage: Storage, base_path: str) -> list[str]:
    """Partition paths found by their metafiles, sorted; ``""`` where the base path itself is the partition."""
    found: list[str] = []
    _visit(storage, base_path, "", found)
    return sorted(found)


def _visit(storage: Storage, base_path: str, relative: str, found: list[str]) -> None:
    entries: list[FileStatus] = storage.list(f"{base_path}/{relative}" if relative else base_path)
    if any(entry.name in METAFILES for entry in entries):
        found.append(relative)
        return
    for entry in entries:
        if entry.is_directory and entry.name != ".hoodie":
            _visit(storage, base_path, join(relative, entry.name), found)
