"""Base files of the metadata table: HFiles, keys as rows, records as values (Hudi: HoodieAvroHFileWriter)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from spark_jobs.core.files.hfile.writer import write_hfile
from spark_jobs.core.files.names import BaseFileName
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.layout import MetadataPartition
from spark_jobs.core.metadata_table.schema import STORED_TEXT
from spark_jobs.core.storage import Storage

R = TypeVar("R")


def write_base_file(
    storage: Storage,
    folder: str,
    partition: MetadataPartition,
    name: BaseFileName,
    records: Mapping[str, R],
    codec: Codec[R],
) -> int:
    """Publish a base file; its bytes.

    :param folder: the base path of the metadata table.
    :raises AlreadyExistsError: a file of the name stands there.
    """
    cells = sorted((key.encode("utf-8"), codec.encode(key, one, str(name))) for key, one in records.items())
    info = {b"schema": STORED_TEXT.encode()}
    if cells:
        info.update({b"minRecordKey": cells[0][0], b"maxRecordKey": cells[-1][0]})
    data = write_hfile(cells, file_info=info)
    storage.create(f"{folder}/{partition.path}/{name}", data)
    return len(data)
