"""Keyed rows in a Parquet file that is a source again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import StorageError
from spark_jobs.core.schema.meta_fields import PARTITION_PATH
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.failure import one_line
from spark_jobs.write.direct.source import BYTES_PER_BATCH, ROWS_PER_BATCH, SourceFile


def row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together to what one row group takes."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS_PER_BATCH or size >= BYTES_PER_BATCH:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)


def write_rows(tables: Iterator[pa.Table], storage: Storage, path: str) -> SourceFile | None:
    """A file of keyed rows, a row group for each table; none where there are no rows.

    :raises StorageError: it can't be written.
    """
    first = next(tables, None)
    if first is None:
        return None
    groups, size = [], 0
    with one_line(path, "written"), storage.open_output(path) as stream:
        with pq.ParquetWriter(stream, first.schema, compression="lz4", use_dictionary=[PARTITION_PATH]) as writer:
            while first is not None:
                writer.write_table(first, row_group_size=first.num_rows)
                groups.append(first.num_rows)
                size += first.nbytes
                first = next(tables, None)
    status = storage.stat(path)
    if status is None:
        raise StorageError(f"{path} is gone right after it was written", todo="run the write again", path=path)
    return SourceFile(
        storage=storage, path=path, size=status.size, etag=status.etag, groups=tuple(groups), content_size=size
    )
