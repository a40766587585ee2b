"""Ingest: rows from a source into a table, once (Hudi: HoodieStreamer, SparkRDDWriteClient)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.errors import HudiError
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.checkpoint import CheckpointMove
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.spark import SparkEngine, tuned_for_arrow
from spark_jobs.engine.task_watch import let_tasks_end
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.rollback.new_table import take_back_table
from spark_jobs.write.bulk import bulk_insert, takes_any_order
from spark_jobs.write.config import WriteConfig, open_if_there, resolve
from spark_jobs.write.connector import unreached
from spark_jobs.write.context import write_context
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.placed_source import place_by_arrays
from spark_jobs.write.error_rows import CheckedRows
from spark_jobs.write.error_table import ErrorOrigin
from spark_jobs.write.explain import explain
from spark_jobs.write.file_source import FILE_FORMATS, with_files_by_keys
from spark_jobs.write.held_files import held_files
from spark_jobs.write.held_rows import held_rows
from spark_jobs.write.marker_choice import marker_service
from spark_jobs.write.new_table import create_table
from spark_jobs.write.outcome import done_before, nothing_to_delete
from spark_jobs.write.overwrite import (
    partitions_to_delete,
    replaced_groups,
)
from spark_jobs.write.perform import perform
from spark_jobs.write.prepare import PreparedRows, prepare
from spark_jobs.write.preview import preview
from spark_jobs.write.publish import Written
from spark_jobs.write.ready_rows import ReadyRows, detailed_failure, ready_rows
from spark_jobs.write.schema import source_schema
from spark_jobs.write.schema_fit import SchemaFit
from spark_jobs.write.source import files_behind, lenient_settings, read_source
from spark_jobs.write.source_errors import unreadable_file
from spark_jobs.write.source_files import SourceFiles, read_by_tasks, source_size
from spark_jobs.write.sources.checkpointed import is_checkpointed, run_checkpointed
from spark_jobs.write.stored_schema import StoredSchema
from spark_jobs.write.upsert import write_workload
from spark_jobs.write.workload import SOURCE_READER, OpenWrite


def ingest(
    spark: SparkSession, options: IngestOptions, progress: Progress | None = None, *, lake: Lake = LAKE
) -> JobResult:
    """Run one write as ``ingest.py`` does.

    :raises HudiError: with the exit code that the job ends with; the table is unchanged then.
    """
    shown = progress or Progress("ingest")
    resolved = options.effective()
    if resolved.op is Operation.DELETE_PARTITION and not resolved.source:
        return write_frame(spark, None, options, shown, lake=lake)
    if is_checkpointed(resolved):
        return run_checkpointed(spark, resolved, shown, partial(write_frame, lake=lake), lake)
    resolved = with_files_by_keys(resolved)
    for line in lenient_settings(spark, resolved):
        shown.warn(f"with {line} files that Spark can't read are left out")
    scheme = unreached(spark, resolved.source) if (resolved.source_format or "parquet") in FILE_FORMATS else None
    if scheme is not None:
        source, files = read_by_tasks(spark, resolved, lake, scheme=scheme)
        return write_frame(spark, source, options, shown, files=files, lake=lake)
    read = read_source(spark, resolved, lake)
    behind = None if isinstance(read, CheckedRows) else files_behind(read, resolved, lake)
    return write_frame(spark, read, options, shown, files=behind, lake=lake)


def write_frame(
    spark: SparkSession,
    source: DataFrame | CheckedRows | None,
    options: IngestOptions,
    progress: Progress,
    files: SourceFiles | None = None,
    *,
    checkpoint: CheckpointMove | None = None,
    lake: Lake = LAKE,
) -> JobResult:
    """Write the rows of a DataFrame by the options of an ingest.

    :param source: with a mark at rows that could not be read, where there may be such; None for a delete_partition
        whose options name the partitions.
    :param files: those that ``source`` consists of, where they are known.
    :param checkpoint: how far the source is read with these rows; stands in the same commit.
    :raises BadRecordError: rows don't fit and there is no error table; tells how many, and the first.
    """
    progress.warn(*writer_warnings(dict(options.hoodie_properties())))
    table = open_if_there(options.base_path, lake)
    config = replace(resolve(options, table, lake), checkpoint=checkpoint)
    with ready_rows(source, config, table, progress) as ready:
        try:
            return _write_ready(spark, ready, config, table, progress, files)
        except Exception as error:
            reported: HudiError | None = unreadable_file(error)
            if reported is None and ready.refused is None:
                reported = detailed_failure(error, source, config, table, progress)
            if reported is None:
                raise
            raise reported from error


def _write_ready(
    spark: SparkSession,
    ready: ReadyRows,
    config: WriteConfig,
    table: HudiTable | None,
    progress: Progress,
    files: SourceFiles | None,
) -> JobResult:
    options, source = config.options, ready.rows
    synced = sync_asked_for(config.properties)
    fit = None
    if options.dry_run and source is not None:
        fit = SchemaFit.of(source_schema(source), lambda: prepare(source, config, table), config, table)
    if fit is not None:
        fit.notify(progress.note)
        if fit.why:
            return fit.refused(config)
    rows = prepare(source, config, table)
    partitions: list[str] = []
    if table is not None and config.operation is Operation.DELETE_PARTITION:
        done = done_before(config, table, progress)
        if done is not None:
            return sync_after_write(table, config.properties, done, progress) if synced else done
        partitions = partitions_to_delete(config, table, rows)
        has_groups = any(replaced_groups(table, config.operation, partitions).values())
        if not has_groups and config.checkpoint is None:  # which moves all the same
            return nothing_to_delete(config, partitions)
    if options.explain:
        return explain(config, table, rows.sample, progress)
    if options.dry_run:
        planned = preview(config, table, rows, SparkEngine(spark), progress, partitions)
        fits = fit.plan(rows.stored) if fit else {}
        return replace(planned, plan={**(planned.plan or {}), **fits, **ready.facts})
    is_new = table is None
    if table is None:
        table, config, is_new = create_table(config)
    try:
        with tuned_for_arrow(spark):
            result = _write_once(spark, config, table, ready, files, progress)
    except BaseException:
        if is_new:
            take_back_table(table.transaction_settings(config.properties), progress.note)
        raise
    if ready.origin is not None and not result.repeated:
        count, size = (files.counts if files is not None else source_size)(ready.origin, config.lake)
        reader = None if files is None else files.keyed(config)
        reported = {SOURCE_READER: reader} if isinstance(reader, str) else {}
        result = replace(result, files_in=count, bytes_in=size, extra={**reported, **result.extra})
    return sync_after_write(table.refreshed(), config.properties, result, progress) if synced else result


def _write_once(
    spark: SparkSession,
    config: WriteConfig,
    table: HudiTable,
    ready: ReadyRows,
    files: SourceFiles | None,
    progress: Progress,
) -> JobResult:
    errors: dict[str, Any] = {}

    def work(table: HudiTable, transaction: Transaction) -> tuple[StoredSchema, Written]:
        rows = prepare(ready.rows, config, table)  # again: since the first look another writer may have added a column
        direct = None if files is None else files.keyed(config)
        direct = direct if isinstance(direct, KeyedSource) else None
        written = _run(spark, config, table, rows, direct, transaction, progress)
        errors.update(_write_errors(spark, config, ready, transaction.time, progress))
        return rows.stored, written

    result = perform(
        config, table, work, SparkEngine(spark), progress, let_tasks_end=lambda: let_tasks_end(spark.sparkContext)
    )
    return replace(result, extra={**result.extra, **errors})


def _write_errors(
    spark: SparkSession, config: WriteConfig, ready: ReadyRows, instant: str, progress: Progress
) -> dict[str, Any]:
    """Add the rows that don't fit to the error table; what the result says of them."""
    target, refused = ready.error_table, ready.refused
    if target is None or refused is None or not refused.count:
        return ready.facts
    origin = ErrorOrigin.of(config, instant)
    with progress.phase("errors"):
        options = target.options(origin, refused.digest)
        errors, silent = refused.as_errors(config, instant, origin), Progress.silent("errors")
        done = write_frame(spark, errors, options, silent, lake=config.lake)
    return {**ready.facts, "error_instant": done.instant}


def _run(
    spark: SparkSession,
    config: WriteConfig,
    table: HudiTable,
    rows: PreparedRows,
    direct: KeyedSource | None,
    transaction: Transaction,
    progress: Progress,
) -> Written:
    if config.operation is Operation.DELETE_PARTITION:
        transaction.to_inflight(CommitMetadata(operation_type=OperationType.DELETE_PARTITION).payload())
        partitions = partitions_to_delete(config, table, rows)
        return Written(stats=[], replaced=replaced_groups(table, config.operation, partitions))
    with marker_service(spark, table, config.properties, transaction.time, progress.note) as markers:
        context = replace(write_context(config, table, rows.stored, transaction.time), marker_service=markers)
        if config.needs_no_places:
            transaction.to_inflight()
            with progress.phase("write"):
                stats = bulk_insert(spark, rows, context, table.clock.new_uuid(), direct)
            by = "tasks" if takes_any_order(config) else "spark, which brings the records in order"
            return Written(stats=stats, notes={} if direct is None else {SOURCE_READER: by})
        engine = SparkEngine(spark)
        wait = partial(let_tasks_end, spark.sparkContext)
        with held_files(context, let_tasks_end=wait) as held:
            write = OpenWrite(engine=engine, config=config, table=table, context=context, progress=progress, held=held)
            with progress.phase("tag"):
                source = direct or held_rows(rows.keyed, held, engine.slots)
                work = place_by_arrays(write, source)
            written = write_workload(write, work, transaction)
    return written if direct is None else replace(written, notes={**written.notes, SOURCE_READER: "tasks"})
