"""The rows of a source that Spark reads: computed once, and held in files that the tasks of a write read by numbers.

They stand in ``.aux``, which Hudi leaves alone, below a folder for each instant. Of a task that Spark runs again the
files of the attempt count whose outcome Spark takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.folders import AUX_FOLDER
from spark_jobs.core.format.order import precedes
from spark_jobs.core.schema.meta_fields import PARTITION_PATH
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.failure import one_line
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.engine.spark_task import from_text, task_scope, to_text
from spark_jobs.engine.task_watch import let_tasks_end
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import BYTES_PER_BATCH, ROWS_PER_BATCH, ParquetSource, SourceFile
from spark_jobs.write.workload import OpenWrite

FOLDER = f"{AUX_FOLDER}/pyhudi.source"
"""Below it a folder for each instant, and in that a file for each attempt of a task."""
_FILES_PER_SLOT = 2
_FEWEST_FILES = 16
"""What one task wrote is one file, and every task of the write looks for its rows in all files."""


@contextmanager
def held_rows(write: OpenWrite, keyed: DataFrame) -> Iterator[KeyedSource]:
    """The rows in files until the end of the block.

    A source that answered otherwise at a second reading would send a record to another file group than the one that
    holds its key.

    :param keyed: key and partition path beside the data columns.
    """
    storage, instant = write.context.storage.relaxed(), write.context.instant
    _sweep(write.table.timeline, write.table.base_path, instant)
    folder = f"{write.table.base_path}/{FOLDER}/{instant}"
    try:
        yield KeyedSource(source=_held(keyed, storage, folder, write.engine.slots), spec=None)
    except Exception:  # who interrupts the job doesn't wait
        let_tasks_end(keyed.sparkSession.sparkContext)
        raise
    finally:
        with suppress(StorageError):  # a later write sweeps what can't be removed now
            storage.delete_tree(folder)
            storage.remove_empty_directory(f"{write.table.base_path}/{FOLDER}")


def _sweep(timeline: ActiveTimeline, base_path: str, instant: str) -> None:
    """Remove what dead writes left, and tasks that went on after the end of theirs: of all earlier instants that are
    not pending.
    """
    pending = {one.timestamp for one in timeline.instants if not one.is_completed}
    for status in timeline.storage.list(f"{base_path}/{FOLDER}"):
        if precedes(status.name, instant) and status.name not in pending:
            timeline.storage.delete_tree(status.path)


def _held(keyed: DataFrame, storage: Storage, folder: str, slots: int) -> ParquetSource:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path = f"{folder}/{task_scope().write_token}.parquet"
        written = _write(_row_groups(batches), storage, path)
        outcomes = [] if written is None else [to_text(written)]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.string())], names=["outcome"])

    tasks = max(_FEWEST_FILES, _FILES_PER_SLOT * slots)
    rows = keyed.coalesce(tasks).mapInArrow(work, "outcome string").collect()
    schema = to_arrow_schema(keyed.schema, timezone="UTC", error_on_duplicated_field_names_in_struct=True)
    return ParquetSource(files=tuple(from_text(row.outcome) for row in rows), schema=schema)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
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


def _write(tables: Iterator[pa.Table], storage: Storage, path: str) -> SourceFile | None:
    """None where there are no rows."""
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
