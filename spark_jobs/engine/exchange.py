"""Rows as Arrow blocks from the tasks that read them to the tasks that write them, through Spark's shuffle.

Spark carries each block as one value: no row of it is taken apart in the JVM.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.spark_api import frame_of, gathered, marks_of_tasks
from spark_jobs.engine.spark_task import from_text, session_settings, task_scope, to_text

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_BLOCK = "target int, number bigint, nth int, block binary"
_BLOCK_SCHEMA = pa.schema([("target", pa.int32()), ("number", pa.int64()), ("nth", pa.int32()), ("block", pa.binary())])
_BLOCKS_AT_ONCE = 16
"""Of those that the JVM hands to a Python worker together: a block may have some megabytes."""


def exchange(
    spark: SparkSession,
    items: Sequence[Item],
    split: Callable[[Item], Iterable[tuple[int, pa.RecordBatch]]],
    tasks: int,
    work: Callable[[list[pa.RecordBatch], TaskScope], Outcome],
) -> list[Outcome]:
    """What came of each of ``tasks`` tasks that got any rows, in no order. Items, both functions and outcomes pickle.

    :param split: the rows of an item by the number of the task that is to have them, from 0; runs in tasks too, and
        has to give the same each time.
    :param work: gets the blocks of its task in the order of the items, and those of one item as ``split`` gave them.
    """
    if not items:
        return []
    marks = marks_of_tasks(tasks)

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, piece in zip(*batch.to_pydict().values(), strict=True):
                for nth, (target, rows) in enumerate(split(pickle.loads(piece))):
                    block = {"target": marks[target], "number": number, "nth": nth, "block": _encoded(rows)}
                    yield pa.RecordBatch.from_pylist([block], schema=_BLOCK_SCHEMA)

    def receive(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        blocks: list[tuple[int, int, pa.RecordBatch]] = []
        for batch in batches:
            numbers, nths = (batch.column(name).to_pylist() for name in ("number", "nth"))
            blocks += zip(numbers, nths, map(_decoded, batch.column("block")), strict=True)
        if blocks:
            blocks.sort(key=lambda block: block[:2])
            outcome = work([rows for _, _, rows in blocks], task_scope())
            yield pa.RecordBatch.from_pydict({"outcome": [to_text(outcome)]})

    pieces = pa.table({"number": range(len(items)), "piece": [pickle.dumps(item) for item in items]})
    with session_settings(spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": str(_BLOCKS_AT_ONCE)}):
        sent = frame_of(spark, pieces).mapInArrow(send, _BLOCK)
        received = gathered(sent, tasks, "target").mapInArrow(receive, "outcome string")
        return [from_text(row.outcome) for row in received.collect()]


def _encoded(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _decoded(block: pa.Scalar[Any]) -> pa.RecordBatch:
    return pa.ipc.open_stream(block.as_buffer()).read_next_batch()
