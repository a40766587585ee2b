"""Ingest: rows from a source into a table, once (Hudi: HoodieStreamer, SparkRDDWriteClient)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.core.config import write_keys
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.config.table_keys import POPULATE_META_FIELDS
from spark_jobs.core.errors import AlreadyExistsError, WriteConflictError
from spark_jobs.core.files.log_format import log_format
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.keygen.spec import persisted_settings
from spark_jobs.core.read.table_schema import add_to_history, committed_schema, schema_metadata
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.schema.reconcile import SchemaRules, WriterSchema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.instant import Action
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.spark import task_scope, tuned_for_arrow
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo
from spark_jobs.services.rollback.new_table import take_back_table
from spark_jobs.write.config import WriteConfig, open_if_there, resolve
from spark_jobs.write.key_settings import refuse_other_key_types
from spark_jobs.write.keys import partition_path, record_key, require_columns
from spark_jobs.write.marker_choice import marker_service
from spark_jobs.write.once import is_free, settle
from spark_jobs.write.outcome import already_done, committed
from spark_jobs.write.schema import schema_with_ids, source_schema, with_valid_names, writer_schema
from spark_jobs.write.source import read_source, source_size
from spark_jobs.write.tasks import STAT_SCHEMA, RecordRules, as_batches, bulk_insert_batches
from spark_jobs.write.upsert import UpsertJob


def ingest(spark: SparkSession, options: IngestOptions, progress: Progress | None = None) -> JobResult:
    """Run one write as ``ingest.py`` does.

    :raises HudiError: with the exit code that the job ends with; the table is unchanged then.
    """
    shown = progress or Progress("ingest")
    resolved = options.effective()
    source = read_source(spark, resolved.source_format or "parquet", resolved.source, dict(resolved.source_options))
    return write_frame(spark, source, options, shown)


def write_frame(spark: SparkSession, source: DataFrame, options: IngestOptions, progress: Progress) -> JobResult:
    """Write the rows of a DataFrame by the options of an ingest."""
    for line in unknown_key_warnings(dict(options.hoodie_properties())):
        progress.note(f"warning: {line}")
    table = open_if_there(options.base_path)
    config = resolve(options, table)
    synced = sync_asked_for(config.properties)
    source = with_valid_names(source, config.properties)
    rows = _prepare(source, config, table)
    if options.dry_run:
        return _dry_run(config, table, rows)
    is_new = table is None
    if table is None:
        table, config, is_new = _create(config)
    try:
        with tuned_for_arrow(spark):
            result = _write_once(spark, config, table, source, progress)
    except BaseException:
        if is_new:
            take_back_table(table.transaction_settings(config.properties), progress.note)
        raise
    if "repeated" not in result.extra:
        files, size = source_size(source)
        result = replace(result, files_in=files, bytes_in=size)
    return sync_after_write(table.refreshed(), config.properties, result, progress) if synced else result


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRows:
    """The source in the writer's schema, key and partition path first."""

    keyed: DataFrame
    schema: WriterSchema
    evolution: SchemaEvolution | None

    @property
    def avro_schema(self) -> dict[str, Any]:
        return self.schema.avro

    @property
    def arrow_schema(self) -> pa.Schema:
        return arrow_schema_of(self.schema.avro)

    @property
    def evolution_of_old_files(self) -> SchemaEvolution | None:
        """Where the columns of this write are in the files of others, on a table with a schema history."""
        if self.evolution is None or self.schema.internal is None:
            return None
        return replace(self.evolution, wanted=self.schema.internal)


def _prepare(source: DataFrame, config: WriteConfig, table: HudiTable | None) -> PreparedRows:
    spec = config.key_spec
    require_columns(source, spec.record_key_fields, "record key field")
    require_columns(source, spec.partition_fields, "partition path field")
    known = table.known_avro_schema() if table else None
    evolution = table.evolution_at() if table else None
    history = evolution.wanted if evolution else None
    if config.operation is Operation.DELETE and known is not None:
        schema = WriterSchema(avro=known, internal=history)  # a delete needs keys alone
    else:
        if config.precombine_field and config.operation is not Operation.DELETE:
            require_columns(source, (config.precombine_field,), "precombine field")
        rules = SchemaRules.of(config.properties)
        schema = writer_schema(known, source_schema(source), config.name, rules, history)
    if config.virtual_keys is not None:
        refuse_other_key_types(source_schema(source), arrow_schema_of(schema.avro), spec)
    names = [field["name"] for field in schema.avro["fields"]]
    data = [F.col(f"`{name}`") for name in names if name in source.columns]
    keyed = source.select(
        record_key(source, spec, virtual=not config.populate_meta_fields).alias(RECORD_KEY),
        partition_path(source, spec).alias(PARTITION_PATH),
        *data,
    )
    return PreparedRows(keyed=keyed, schema=schema, evolution=evolution)


def _create(config: WriteConfig) -> tuple[HudiTable, WriteConfig, bool]:
    """The new table, what the write does to it, and True; of two writers that make it, the second gets the other's, by
    which its options are resolved anew, and False.
    """
    spec = config.key_spec
    try:
        made = HudiTable.create(
            config.options.base_path,
            name=config.name,
            table_type=config.table_type.value,
            record_key_fields=spec.record_key_fields,
            partition_fields=spec.partition_fields,
            precombine_field=config.precombine_field,
            payload_class=config.payload_class if config.is_merge_on_read else "",
            hive_style=spec.hive_style,
            url_encode=spec.url_encode,
            key_generator_class=spec.class_name,
            properties={
                POPULATE_META_FIELDS.name: str(config.populate_meta_fields).lower(),
                **persisted_settings(config.properties, spec),
            },
        )
    except AlreadyExistsError:
        table = HudiTable.open(config.options.base_path, lists_storage=True)
        return table, resolve(config.options, table), False
    return made, config, True


def _write_once(
    spark: SparkSession, config: WriteConfig, table: HudiTable, source: DataFrame, progress: Progress
) -> JobResult:
    settings = table.transaction_settings(config.properties)
    key = config.options.idempotency_key
    action = Action.DELTA_COMMIT if config.is_merge_on_read else Action.COMMIT
    while True:
        done = settle(settings, key, progress.note) if key else None
        if done is not None:
            return already_done(config, *done)
        with progress.phase("begin"):
            for undone, by in roll_back_failed_writes(settings):
                progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
            transaction = begin(
                settings, action, idempotency_key=key, allowed=lambda line: key is None or is_free(settings, line, key)
            )
        if transaction is not None:
            break
    try:
        table = table.refreshed()
        rows = _prepare(source, config, table)  # again: since the first look another writer may have added a column
        stats = _run(spark, config, table, rows, transaction, progress)
        with progress.phase("publish"):
            result = _publish(config, table, rows, transaction, stats, progress)
    except BaseException:
        transaction.abandon()
        undo(settings, transaction.time, progress.note)
        raise
    maintain_metadata_table(settings, config.properties, progress.note)
    return result


def _run(
    spark: SparkSession,
    config: WriteConfig,
    table: HudiTable,
    rows: PreparedRows,
    transaction: Transaction,
    progress: Progress,
) -> list[WriteStat]:
    with marker_service(spark, table, config.properties, transaction.time, progress.note) as markers:
        context = replace(_context(config, table, rows, transaction.time), marker_service=markers)
        if config.operation is Operation.BULK_INSERT:
            transaction.to_inflight()
            with progress.phase("write"):
                return _bulk_insert(rows.keyed, config, context, table.clock.new_uuid())
        job = UpsertJob(spark=spark, config=config, table=table, keyed=rows.keyed, context=context, progress=progress)
        return job.run(transaction.to_inflight)


def _context(config: WriteConfig, table: HudiTable, rows: PreparedRows, instant: str) -> WriteContext:
    return WriteContext(
        storage=table.storage,
        base_path=table.base_path,
        instant=instant,
        file_format=base_file_format(
            config.properties, rows.arrow_schema, rows.avro_schema, indexed=config.populate_meta_fields
        ),
        payload=config.payload,
        ordering_field=config.precombine_field or None,
        max_file_size=config.sizes.max_file_size,
        log_format=log_format(config.properties),
        virtual_keys=config.virtual_keys,
        evolution=rows.evolution_of_old_files,
    )


def _bulk_insert(keyed: DataFrame, config: WriteConfig, context: WriteContext, seed: str) -> list[WriteStat]:
    tasks = write_keys.BULK_INSERT_PARALLELISM.of(config.properties)
    rules = RecordRules(combine=False, all_deleted=False)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return as_batches(bulk_insert_batches(batches, context, task_scope(), seed, rules))

    frame = keyed.coalesce(tasks) if tasks else keyed
    return [WriteStat.from_json(json.loads(row.stat)) for row in frame.mapInArrow(work, STAT_SCHEMA).collect()]


def _publish(
    config: WriteConfig,
    table: HudiTable,
    rows: PreparedRows,
    transaction: Transaction,
    stats: list[WriteStat],
    progress: Progress,
) -> JobResult:
    internal = schema_with_ids(rows.schema, config.properties, transaction.time)
    extra = schema_metadata(rows.avro_schema, internal)
    if config.options.idempotency_key:
        extra[IDEMPOTENCY_KEY] = config.options.idempotency_key
    metadata = CommitMetadata(
        write_stats=tuple(stats), operation_type=OperationType(config.operation.value.upper()), extra_metadata=extra
    )
    known = table.known_avro_schema()

    def check(timeline: ActiveTimeline) -> None:
        _refuse_other_schema(table, timeline, known)
        if internal is not None:
            add_to_history(table.storage, table.base_path, timeline, transaction.time, rows.evolution, internal)

    instant = transaction.publish(metadata.encode(), _contended(metadata), written=written_paths(stats), check=check)
    return replace(committed(config, instant, metadata), seconds_by_phase=dict(progress.seconds_by_phase))


def _refuse_other_schema(table: HudiTable, timeline: ActiveTimeline, known: dict[str, Any] | None) -> None:
    """
    :raises WriteConflictError: another writer changed the table's schema meanwhile; this commit would set it back.
    """
    now = committed_schema(timeline, table.config, table.clock)
    if now is not None and known is not None and now != known:
        raise WriteConflictError(
            f"another writer changed the schema of table {table.config.name} meanwhile",
            todo="run it again",
            table=table.config.name,
        )


def _contended(metadata: CommitMetadata) -> frozenset[tuple[str, str]]:
    """File groups that were there before: new ones can't be anybody else's."""
    return frozenset(
        (stat.partition_path, stat.file_id)
        for stat in metadata.write_stats
        if stat.prev_commit != "null" or stat.is_log_append
    )


def _dry_run(config: WriteConfig, table: HudiTable | None, rows: PreparedRows) -> JobResult:
    counts = rows.keyed.groupBy(PARTITION_PATH).count().collect()
    plan = {
        "operation": config.operation.value,
        "creates_table": table is None,
        "columns": rows.arrow_schema.names,
        "records_by_partition": {row[0]: row[1] for row in sorted(counts)},
    }
    return JobResult(
        action="deltacommit" if config.is_merge_on_read else "commit",
        state=JobState.DRY_RUN,
        base_path=config.options.base_path,
        table=config.name,
        records_in=sum(row[1] for row in counts),
        plan=plan,
    )
