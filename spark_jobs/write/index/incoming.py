"""What an index is given and what it answers; values of the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import PARTITION_PATH
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.spark import parallelism
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.live_keys import live_keys_alone
from spark_jobs.write.pack import NewGroup
from spark_jobs.write.tasks import BUCKET

BROADCAST_ROWS = 2_000_000
"""Incoming keys up to so many are sent to every task that scans stored keys; more are shuffled."""
ROWS_PER_TASK = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """The rows of a write: ``keyed`` has key and partition path beside the data columns, and is persisted.

    ``records`` is their number, ``slices`` those that may hold the keys, by bucket number; ``held`` takes the frames
    that are to be unpersisted after the write.
    """

    spark: SparkSession
    table: HudiTable
    config: WriteConfig
    context: WriteContext
    keyed: DataFrame
    records: int
    slices: Mapping[int, FileSlice]
    held: list[DataFrame]

    @property
    def live_alone(self) -> bool:
        """Whether the keys of a slice are those of its rows, its logs merged."""
        return live_keys_alone(self.config, self.table)

    @property
    def with_base(self) -> dict[int, FileSlice]:
        """The slices whose base files are looked into for keys."""
        by_logs = self.live_alone
        return {
            number: one
            for number, one in self.slices.items()
            if one.base_file is not None and not (by_logs and one.log_files)
        }

    @property
    def fits_broadcast(self) -> bool:
        return self.records <= BROADCAST_ROWS

    def reader(self) -> SliceReader:
        """How tasks read stored slices."""
        return slice_reader(self.table, self.context, self.config.properties)

    def hold(self, frame: DataFrame) -> DataFrame:
        """``frame``, computed once and kept until the write is done."""
        self.held.append(frame.persist())
        return frame

    def hinted(self, frame: DataFrame) -> DataFrame:
        """``frame``, which has at most a row for each incoming record, broadcast where those are few."""
        return F.broadcast(frame) if self.fits_broadcast else frame

    def numbers(self, slices: Mapping[int, FileSlice]) -> DataFrame:
        """Bucket number, partition path and file id of slices."""
        rows = [(number, one.partition, one.file_id) for number, one in slices.items()]
        return self.spark.createDataFrame(rows, f"{BUCKET} int, {PARTITION_PATH} string, file_id string")

    def tasks(self, pieces: int) -> int:
        """How many tasks share ``pieces`` of work that is looked at for the incoming records."""
        return max(1, min(pieces, max(2 * parallelism(self.spark), self.records // ROWS_PER_TASK)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """``frame`` is the incoming rows with a bucket number each: of a slice, of one of ``new_groups`` (None where the
    index begins no groups itself), or null for a record that the table does not have.

    A global index may have changed their partition paths, and added rows with ``tasks.MOVED`` true: removals of the
    records that went to another partition.
    """

    frame: DataFrame
    new_groups: Mapping[int, NewGroup] | None = None


def grouped(batches: Iterable[pa.RecordBatch], column: str = BUCKET) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each number in ``column``, by which the batches are sorted; one number's rows in memory at a time."""
    held: list[pa.RecordBatch] = []
    current: int | None = None
    for batch in batches:
        numbers = np.asarray(batch.column(column))
        if not len(numbers):
            continue
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for begin, end in pairwise(bounds):
            number = int(numbers[begin])
            if number != current and current is not None:
                yield current, pa.Table.from_batches(held)
                held = []
            current = number
            held.append(batch.slice(begin, end - begin))
    if current is not None:
        yield current, pa.Table.from_batches(held)
