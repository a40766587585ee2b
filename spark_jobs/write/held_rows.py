"""The rows of a source that Spark reads: computed once, and held in files that the tasks of a write read by numbers.

They stand in ``.aux``, which Hudi leaves alone, below a folder for each instant. Of a task that Spark runs again the
files of the attempt count whose outcome Spark takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.folders import AUX_FOLDER
from spark_jobs.core.format.order import precedes
from spark_jobs.core.schema.meta_fields import PARTITION_PATH
from spark_jobs.core.storage import LocalStorage, Storage
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
    """The rows in files beside the table until the end of the block.

    A source that answered otherwise at a second reading would send a record to another file group than the one that
    holds its key.

    :param keyed: key and partition path beside the data columns.
    """
    storage, instant = write.context.storage.relaxed(), write.context.instant
    _sweep(write.table.timeline, write.table.base_path, instant)
    folder = f"{write.table.base_path}/{FOLDER}/{instant}"
    try:
        yield _source(keyed.schema, _written_by_tasks(_few(keyed, write), storage, folder))
    except Exception:  # who interrupts the job doesn't wait
        let_tasks_end(keyed.sparkSession.sparkContext)
        raise
    finally:
        with suppress(StorageError):  # a later write sweeps what can't be removed now
            storage.delete_tree(folder)
            storage.remove_empty_directory(f"{write.table.base_path}/{FOLDER}")


@contextmanager
def rows_on_this_machine(write: OpenWrite, keyed: DataFrame) -> Iterator[KeyedSource]:
    """The rows in a temporary file of this machine until the end of the block: nothing is written beside the table, and
    the driver holds some of them at a time.
    """
    packed = _few(keyed, write).mapInArrow(_packed, "batch binary").persist()
    try:
        packed.count()  # by all tasks at once; they are fetched one after the other
        with TemporaryDirectory(prefix="pyhudi-keys-") as folder:
            batches = (batch for row in packed.toLocalIterator() for batch in ipc.open_stream(row.batch))
            file = _write(_row_groups(batches), LocalStorage().relaxed(), f"{folder}/rows.parquet")
            yield _source(keyed.schema, [] if file is None else [file])
    finally:
        packed.unpersist()


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as the bytes of one row."""
    for batch in batches:
        stream = pa.BufferOutputStream()
        with ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([stream.getvalue().to_pybytes()], pa.binary())], names=["batch"])


def _source(schema: StructType, files: Sequence[SourceFile]) -> KeyedSource:
    arrow = to_arrow_schema(schema, timezone="UTC", error_on_duplicated_field_names_in_struct=True)
    return KeyedSource(source=ParquetSource(files=tuple(files), schema=arrow), spec=None)


def _few(keyed: DataFrame, write: OpenWrite) -> DataFrame:
    return keyed.coalesce(max(_FEWEST_FILES, _FILES_PER_SLOT * write.engine.slots))


def _sweep(timeline: ActiveTimeline, base_path: str, instant: str) -> None:
    """Remove what dead writes left, and tasks that went on after the end of theirs: of all earlier instants that are
    not pending.
    """
    pending = {one.timestamp for one in timeline.instants if not one.is_completed}
    for status in timeline.storage.list(f"{base_path}/{FOLDER}"):
        if precedes(status.name, instant) and status.name not in pending:
            timeline.storage.delete_tree(status.path)


def _written_by_tasks(keyed: DataFrame, storage: Storage, folder: str) -> list[SourceFile]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path = f"{folder}/{task_scope().write_token}.parquet"
        written = _write(_row_groups(batches), storage, path)
        outcomes = [] if written is None else [to_text(written)]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.string())], names=["outcome"])

    return [from_text(row.outcome) for row in keyed.mapInArrow(work, "outcome string").collect()]


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
