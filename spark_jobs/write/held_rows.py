"""The rows of a source that Spark reads: computed once, and held in files that tasks read by row numbers.

A source that answered otherwise at a second reading would send a record to another file group than the one that holds
its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import ipc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from spark_jobs.core.storage import LocalStorage
from spark_jobs.engine.spark_api import arrow_schema
from spark_jobs.engine.spark_task import from_text, task_scope, to_text
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.row_files import row_groups, write_rows
from spark_jobs.write.direct.source import ParquetSource, SourceFile
from spark_jobs.write.held_files import HeldFiles

_FILES_PER_SLOT = 2
_FEWEST_FILES = 16
"""What one task wrote is one file, and every task of the write looks for its rows in all files."""


def held_rows(keyed: DataFrame, held: HeldFiles, slots: int) -> KeyedSource:
    """The rows in files beside the table.

    :param keyed: key and partition path beside the data columns.
    """
    storage, folder = held.storage, held.folder()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        written = write_rows(row_groups(batches), storage, f"{folder}/{task_scope().write_token}.parquet")
        outcomes = [] if written is None else [to_text(written)]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.string())], names=["outcome"])

    rows = _few(keyed, slots).mapInArrow(work, "outcome string").collect()
    return _source(keyed.schema, [from_text(row.outcome) for row in rows])


@contextmanager
def rows_on_this_machine(keyed: DataFrame, slots: int) -> Iterator[KeyedSource]:
    """The rows in a temporary file of this machine until the end of the block: nothing is written beside the table, and
    the driver holds some of them at a time.
    """
    packed = _few(keyed, slots).mapInArrow(_packed, "batch binary").persist()
    try:
        packed.count()  # by all tasks at once; they are fetched one after the other
        with TemporaryDirectory(prefix="pyhudi-keys-") as folder:
            batches = (batch for row in packed.toLocalIterator() for batch in ipc.open_stream(row.batch))
            file = write_rows(row_groups(batches), LocalStorage().relaxed(), f"{folder}/rows.parquet")
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
    arrow = arrow_schema(schema)
    return KeyedSource(source=ParquetSource(files=tuple(files), schema=arrow), spec=None)


def _few(keyed: DataFrame, slots: int) -> DataFrame:
    return keyed.coalesce(max(_FEWEST_FILES, _FILES_PER_SLOT * slots))
