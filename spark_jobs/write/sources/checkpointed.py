"""One batch of a source, or one after the other, each from where the table's last commit says (Hudi: StreamSync)."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.core.config.keys.datasource import PARTITIONS_TO_DELETE
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.engine.progress import Progress
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import REPLACES, open_if_there, resolve
from spark_jobs.write.sources.hudi import HudiSource
from spark_jobs.write.sources.kafka import KafkaSource
from spark_jobs.write.sources.protocol import CheckpointedSource, WriteBatch
from spark_jobs.write.sources.run import WRITTEN_BEFORE, Position, Run
from spark_jobs.write.sources.stopping import Stopping
from spark_jobs.write.sources.stream import run_stream
from spark_jobs.write.sources.totals import Totals

KAFKA, HUDI = "kafka", "hudi"
_STREAMED = (Operation.UPSERT, Operation.INSERT, Operation.BULK_INSERT, Operation.DELETE)


def is_checkpointed(options: IngestOptions) -> bool:
    """Whether the source is one that a checkpoint goes with.

    :raises ConfigError: options that only such a source has stand beside another one.
    """
    if (options.source_format or "").lower() in (KAFKA, HUDI):
        return True
    given = {
        "--checkpoint": options.checkpoint,
        "--ignore-checkpoint": options.ignore_checkpoint,
        "--source-limit": options.source_limit,
        "--available-now": options.available_now,
        "--continuous": options.continuous,
    }
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"{name} says nothing for --source-format {options.source_format or 'parquet'}",
                todo="it is for the formats kafka and hudi, with which a checkpoint goes",
            )
    return False


def source_of(options: IngestOptions, lake: Lake) -> KafkaSource | HudiSource:
    """
    :param options: effective ones.
    :raises ConfigError: one of the source's options is missing or not valid.
    """
    table = open_if_there(options.base_path, lake)
    if (options.source_format or "").lower() == KAFKA:
        return KafkaSource.of(options, table, lake)
    return HudiSource.of(options, lake)


def run_checkpointed(
    spark: SparkSession,
    options: IngestOptions,
    progress: Progress,
    write: WriteBatch,
    lake: Lake,
    stopping: Stopping | None = None,
) -> JobResult:
    """Read a source from the table's checkpoint on: one batch, or with ``available_now`` or ``continuous`` several.

    :param options: effective ones.
    :param stopping: another thread's way to end a continuous run; signals are one too.
    """
    run = Run(spark=spark, options=options, progress=progress, write=write, lake=lake)
    if run.is_long:
        _refuse_long(options)
    if options.op is Operation.DELETE_PARTITION and PARTITIONS_TO_DELETE.of(options.hoodie_properties()):
        raise ConfigError(
            f"{PARTITIONS_TO_DELETE.name} and the rows of {options.source_format} both name partitions to delete",
            todo=f"leave out the key, or --source-format {options.source_format}",
            key=PARTITIONS_TO_DELETE.name,
        )
    result = _run(run, source_of(options, lake), stopping)
    return _synced(run, result) if result.state is JobState.NOTHING_TO_DO else result


def _synced(run: Run, result: JobResult) -> JobResult:
    """The result of a run that found nothing new, after a sync: the run before may have failed at its own."""
    table = open_if_there(run.options.base_path, run.lake)
    if table is None or run.options.dry_run or run.options.explain:
        return result
    properties = resolve(run.options, table, run.lake).properties
    return sync_after_write(table, properties, result, run.progress) if sync_asked_for(properties) else result


def _run(run: Run, source: KafkaSource | HudiSource, stopping: Stopping | None) -> JobResult:
    spark = run.spark
    if not run.is_long:
        return _one_batch(run, source, run.position())[0]
    wish = stopping if stopping is not None else Stopping()  # one that was not asked is false
    with wish.listening(spark):
        if isinstance(source, KafkaSource):
            return run_stream(run, source, wish)
        return _batches(run, source, wish)


def _refuse_long(options: IngestOptions) -> None:
    """
    :raises ConfigError: what can't be done batch after batch.
    """
    if options.available_now and options.continuous:
        raise ConfigError("--available-now ends and --continuous does not", todo="give one of them")
    asked = "--continuous" if options.continuous else "--available-now"
    if options.dry_run or options.explain:
        raise ConfigError(f"a dry run shows one batch, {asked} asks for many", todo=f"leave {asked} out")
    if options.op is not None and options.op not in _STREAMED:
        raise ConfigError(
            f"--op {options.op.value} replaces with each batch what the one before wrote",
            todo=f"leave {asked} out, or use " + ", ".join(one.value for one in _STREAMED),
        )


def _one_batch(run: Run, source: CheckpointedSource, position: Position) -> tuple[JobResult, bool]:
    """The result of the next batch, and whether the source has more now."""
    with run.progress.phase("source"):
        batch = source.next_batch(run.spark, position.checkpoint)
    run.progress.note(f"{source.name}: {batch.summary}")
    is_newer = run.orders.are_new_to(position.stored) and run.options.op not in REPLACES  # not by an empty overwrite
    if batch.rows is None or (batch.checkpoint == position.checkpoint and not is_newer):
        return run.nothing(source, position, batch.summary), not batch.is_last
    return run.commit(run.spark, batch.rows, position, batch.checkpoint), not batch.is_last


def _batches(run: Run, source: CheckpointedSource, stopping: Stopping) -> JobResult:
    """One batch after the other, without Structured Streaming: for sources that Spark has no stream of."""
    totals = Totals()
    while not stopping:
        began = run.clock.monotonic()
        position = run.position()
        result, has_more = _one_batch(run, source, position)
        totals.add(result)
        if result.repeated and run.position() == position:
            stopping.ask(WRITTEN_BEFORE)
        if run.options.available_now and not has_more:
            break
        if run.options.continuous:
            least = max(run.options.min_sync_interval_seconds or 0, 0 if has_more else 1)
            stopping.wait(max(0.0, least - (run.clock.monotonic() - began)))
    if stopping:
        run.progress.note(totals.stopped(source.name, stopping.by))
    return totals.result or run.nothing(source, run.position(), "stopped before the first batch")
