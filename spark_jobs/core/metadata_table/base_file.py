"""Base files of the metadata table: HFiles, keys as rows, records as values (Hudi: HoodieAvroHFileWriter)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.hfile.writer import write_hfile
from spark_jobs.core.format.file_names import BaseFileName
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.schema import STORED_TEXT
from spark_jobs.core.storage import join, resolve

R = TypeVar("R")


def base_file_path(folder: str, partition: str, name: BaseFileName) -> str:
    """
    :param folder: the base path of the metadata table.
    :param partition: the directory.
    """
    return resolve(folder, join(partition, str(name)))


def encode_base_file(cells: Cells) -> bytes:
    """The content of a base file.

    :param cells: in the order of their keys.
    """
    info = {b"schema": STORED_TEXT.encode()}
    if len(cells.keys):
        info.update({b"minRecordKey": cells.keys[0].as_py(), b"maxRecordKey": cells.keys[-1].as_py()})
    return write_hfile(cells, file_info=info)


def cells_of(records: Mapping[str, R], codec: Codec[R], file_name: str) -> Cells:
    """Records by key as the cells of a base file."""
    return PartitionChanges.of({key: codec.encode(key, one, file_name) for key, one in records.items()}).cells()
