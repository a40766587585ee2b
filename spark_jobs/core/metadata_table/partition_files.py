"""The files of a new partition of the metadata table (Hudi: HoodieBackedTableMetadataWriter.initializeFileGroups)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from spark_jobs.core.files.delete_records import encode_delete_records
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.log_block import BlockType, HeaderKey, encode_block
from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.format.file_names import BaseFileName, LogFileName
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.metadata_table.base_file import base_file_path, encode_base_file
from spark_jobs.core.metadata_table.encoding import encoded
from spark_jobs.core.metadata_table.layout import metadata_path
from spark_jobs.core.storage import Storage, join, resolve
from spark_jobs.core.timeline.write_stat import WriteStat

_TOKEN = "0-0-0"
_NONE: pa.Array[Any] = pa.array([], pa.string())


def write_partition(
    storage: Storage,
    base_path: str,
    format: TableFormat,
    time: str,
    partition: MetadataPartition,
    cells_of_group: Callable[[int, str], Cells],
    groups: int,
) -> list[WriteStat]:
    """Write all files of a partition anew; they count once the delta commit ``time`` is completed.

    :param cells_of_group: the cells of a file group's base file, by its number and the name of the file; called from
        several threads.
    :returns: one for each base file; groups without records have none.
    """
    folder, path = metadata_path(base_path), format.metadata.path(partition)
    storage.delete_tree(f"{folder}/{path}")
    ensure_partition_metafile(storage, folder, path, time)

    def name_of(group: int) -> BaseFileName:
        return format.base_file(format.metadata.file_id(partition, group), _TOKEN, time, ".hfile")

    def encode(group: int) -> tuple[int, bytes]:
        cells = cells_of_group(group, str(name_of(group)))
        return len(cells.keys), encode_base_file(cells) if len(cells.keys) else b""

    stats = []
    for group, (count, data) in encoded(range(groups), encode):
        # Hudi makes every file group by a log with a delete block of nothing
        log = join(path, str(_log_file(format, partition, group, time, 1)))
        storage.create(resolve(folder, log), _empty_delete_block(time))
        if not count:
            continue
        storage.create(base_file_path(folder, path, name_of(group)), data)
        stats.append(
            WriteStat(
                file_id=name_of(group).file_id,
                path=join(path, str(name_of(group))),
                partition_path=path,
                num_writes=count,
                num_inserts=count,
                total_write_bytes=len(data),
                file_size_in_bytes=len(data),
            )
        )
    return stats


def _log_file(format: TableFormat, partition: MetadataPartition, group: int, time: str, version: int) -> LogFileName:
    file_id = format.metadata.file_id(partition, group)
    return format.log_file(file_id, base_instant=time, instant=time, version=version, write_token=_TOKEN)


def append_to_new_group(
    storage: Storage,
    base_path: str,
    format: TableFormat,
    time: str,
    partition: MetadataPartition,
    group: int,
    blocks: bytes,
) -> WriteStat:
    """Write the second log file of a group that :func:`write_partition` made by the same ``time``."""
    name = _log_file(format, partition, group, time, 2)
    folder = format.metadata.path(partition)
    path = join(folder, str(name))
    storage.create(resolve(metadata_path(base_path), path), blocks)
    return WriteStat(
        file_id=name.file_id,
        path=path,
        partition_path=folder,
        prev_commit=time,
        total_write_bytes=len(blocks),
        file_size_in_bytes=len(blocks),
        log_version=name.version,
        log_files=(str(name),),
    )


def _empty_delete_block(time: str) -> bytes:
    return encode_block(BlockType.DELETE_BLOCK, {HeaderKey.INSTANT_TIME: time}, encode_delete_records(_NONE, "", None))
