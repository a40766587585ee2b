"""A topic by Structured Streaming, once through what there is (availableNow) or on and on (continuous).

Spark decides when a micro-batch begins and where it ends; where it begins and whether it happened is decided by the
table's commits alone. Spark's own checkpoint is a folder that lives as long as the run: each run begins at the
table's checkpoint, each micro-batch is written with the checkpoint behind it in the same commit, and publishing
refuses where the table's checkpoint is no longer the one that the micro-batch begins at. So whatever dies between the
data and the commit is read again, and nothing that a commit has.
"""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.core.config.keys.streamer import OffsetReset
from spark_jobs.options.result import JobResult
from spark_jobs.write.sources.kafka import KafkaSource
from spark_jobs.write.sources.kafka_offsets import Offsets, checkpoint_of, from_spark
from spark_jobs.write.sources.run import WRITTEN_BEFORE, Position, Run
from spark_jobs.write.sources.stopping import Stopping
from spark_jobs.write.sources.totals import Totals

_SECONDS_BETWEEN_LOOKS = 0.2
_OFF_IN_STREAMS = ("spark.sql.adaptive.enabled", "spark.sql.cbo.enabled")
"""What Spark turns off in the session of a stream, for the sake of state that this one has not: a write shuffles."""


@dataclass(kw_only=True)
class _Batches:
    """What Spark calls with each micro-batch, in a thread of the stream; ``failure`` is what one raised."""

    run: Run
    source: KafkaSource
    stopping: Stopping
    log: Path
    position: Position
    totals: Totals = field(default_factory=Totals)
    failure: BaseException | None = None
    closed: bool = False
    under_way: threading.Lock = field(default_factory=threading.Lock)

    def write(self, messages: DataFrame, number: int) -> None:
        with self.under_way:
            if self.stopping or self.closed or self.failure is not None:
                return  # Spark counts it as done, in a checkpoint that nobody reads again
            try:
                self._write(messages, number)
            except BaseException as error:
                self.failure = error
                raise

    def close(self) -> None:
        """Let the micro-batch that is being written come to its end, and none begin."""
        with self.under_way:
            self.closed = True

    def _write(self, messages: DataFrame, number: int) -> None:
        end = from_spark((self.log / str(number)).read_text(), self.source.topic)
        after = checkpoint_of(self.source.topic, end)
        if after == self.position.checkpoint:
            return
        self.run.progress.note(f"{self.source.name}: micro-batch {number} up to {after}")
        spark, rows = messages.sparkSession, self.source.rows(messages)
        for name in _OFF_IN_STREAMS:
            spark.conf.set(name, str(self.run.spark.conf.get(name)))
        result = self.run.commit(spark, rows, self.position, after)
        self.totals.add(result)
        self.position = self.run.position() if result.repeated else self.run.position_after(after)
        if self.position.checkpoint != after:
            self.stopping.ask(WRITTEN_BEFORE)


def run_stream(run: Run, source: KafkaSource, stopping: Stopping) -> JobResult:
    """Read a topic until its end of now, or until somebody asks to stop.

    :raises HudiError: what the first micro-batch that failed raised; those before it stand.
    """
    position = run.position()
    start, notes = source.start(run.spark, position.checkpoint)
    for line in notes:
        run.progress.note(f"{source.name}: {line}")
    totals = Totals()
    after = checkpoint_of(source.topic, start)
    if position.checkpoint is None and source.reset is not OffsetReset.EARLIEST:
        # else a run that ends before any message came would leave the next one to begin later
        totals.add(run.commit(run.spark, source.no_rows(run.spark, start), position, after))
        position = run.position_after(after)
    with tempfile.TemporaryDirectory(prefix="pyhudi-stream-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "offsets"
        batches = _Batches(run=run, source=source, stopping=stopping, log=log, position=position, totals=totals)
        query = _started(run, source, start, folder, batches)
        try:
            _wait(query, batches)
        finally:
            batches.close()
            query.stop()
    if batches.failure is not None:
        raise batches.failure
    if totals.last is None and run.orders.are_new_to(position.stored):  # no batch has stored them in the table
        totals.add(run.commit(run.spark, source.no_rows(run.spark, start), position, after))
    if stopping:
        run.progress.note(totals.stopped(source.name, stopping.by))
    return totals.result or run.nothing(source, position, f"no messages after {after}")


def _started(run: Run, source: KafkaSource, start: Offsets, folder: str, batches: _Batches) -> StreamingQuery:
    writer = source.stream(run.spark, start).writeStream.foreachBatch(batches.write)
    writer = writer.option("checkpointLocation", Path(folder).as_uri())
    if run.options.available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{run.options.min_sync_interval_seconds or 0} seconds").start()


def _wait(query: StreamingQuery, batches: _Batches) -> None:
    """Until the stream ends, or somebody asks to stop.

    :raises PySparkException: it failed by itself; what a micro-batch raised is in ``batches.failure``.
    """
    while not batches.stopping and query.isActive:
        batches.stopping.wait(_SECONDS_BETWEEN_LOOKS)
    if batches.stopping or batches.failure is not None:
        return
    query.awaitTermination()
