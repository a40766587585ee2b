"""Writes of Arrow data by this process, without Spark: the same placing, files and commit as those of a job."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from spark_jobs.core.config.keys.datasource import PARTITIONS_TO_DELETE
from spark_jobs.core.config.keys.index import IndexType
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.write.arrow_rows import in_bulk_order, refuse_unusable_columns
from spark_jobs.write.config import WriteConfig, resolve
from spark_jobs.write.context import write_context
from spark_jobs.write.direct.arrow_source import ArrowSource
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.placed_source import MOST_LOOKED_UP, place_by_arrays
from spark_jobs.write.direct.write import bulk_insert_rows
from spark_jobs.write.outcome import done_before, nothing_to_delete
from spark_jobs.write.overwrite import matching_partitions, refuse_paths_outside, replaced_groups
from spark_jobs.write.perform import perform
from spark_jobs.write.publish import Written
from spark_jobs.write.stored_schema import StoredSchema, settle_schema
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.upsert import write_workload
from spark_jobs.write.workload import OpenWrite

BYTES_FOR_ONE = 16 << 20
"""Of values in memory that a bulk insert writes by one thread: more make two file groups of a partition."""
_SPARK_ALONE = (
    "source",
    "source_format",
    "source_options",
    "source_schema",
    "transformer",
    "transformer_sql",
    "transformer_sql_file",
    "error_table",
    "explain",
    "dry_run",
)


def write_to(
    table: HudiTable,
    operation: str,
    data: Any,
    options: Mapping[str, Any],
    *,
    partitions: Sequence[str] = (),
    progress: Progress | None = None,
) -> JobResult:
    """Write Arrow data, or nothing but the deletion of partitions, to an open table, as it stands now.

    :param options: fields of :class:`IngestOptions` by their names; ``hoodie_conf`` may be a mapping.
    :param partitions: that a delete_partition takes off, by path, ``*`` for any text.
    :raises HudiError: the table is as it was then.
    """
    conf = dict(options.get("hoodie_conf") or {})
    if partitions:
        conf[PARTITIONS_TO_DELETE.name] = ",".join(partitions)
    given = {**options, "hoodie_conf": tuple(conf.items()), "op": Operation(operation)}
    asked = IngestOptions(base_path=table.url, **given)
    for name in _SPARK_ALONE:
        if getattr(asked, name):
            raise ConfigError(f"{name} is an option of ingest.py", todo="leave it out, or run the job")
    return _write(table.refreshed(), data, asked, progress or Progress.silent("write", table.clock))


def _write(table: HudiTable, data: Any, options: IngestOptions, progress: Progress) -> JobResult:
    for line in writer_warnings(dict(options.hoodie_properties())):
        progress.note(f"warning: {line}")
    table = replace(table, lists_storage=True)
    config = resolve(options, table, table.lake)
    synced = sync_asked_for(config.properties)
    done = done_before(config, table, progress)
    if done is None and config.operation is Operation.DELETE_PARTITION:
        named = _named_partitions(table, config)
        if not any(replaced_groups(table, config.operation, named).values()):
            return nothing_to_delete(config, named)
    if done is None:
        engine = LocalEngine(table.clock, slots=len(os.sched_getaffinity(0)))
        takes_paths = config.operation is Operation.DELETE_PARTITION
        work = _delete_partitions(config) if takes_paths else _Rows(config, data, engine, progress).write
        done = perform(config, table, work, engine, progress)
    return sync_after_write(table.refreshed(), config.properties, done, progress) if synced else done


class _Rows:
    """The rows of one write, from the moment that its instant has begun."""

    def __init__(self, config: WriteConfig, data: Any, engine: LocalEngine, progress: Progress) -> None:
        self._config, self._engine, self._progress = config, engine, progress
        self._source = ArrowSource.of(data, config.name)
        refuse_unusable_columns(self._source.schema, config)

    def write(self, table: HudiTable, transaction: Transaction) -> tuple[StoredSchema, Written]:
        config = self._config
        stored = settle_schema(lambda: self._source.schema, config, table)
        context = write_context(config, table, stored, transaction.time)
        keyed = KeyedSource(source=self._source, spec=config.key_spec)
        if config.operation is Operation.BULK_INSERT and config.index_type is not IndexType.BUCKET:
            transaction.to_inflight()
            return stored, self._bulk_insert(table, context, keyed)
        write = OpenWrite(engine=self._engine, config=config, table=table, context=context, progress=self._progress)
        with self._progress.phase("tag"):
            work = place_by_arrays(write, keyed)
        if work is None:
            raise ConfigError(
                f"{keyed.source.rows} records of an index of type {config.index_type.value} can't be placed in one "
                f"process: it takes up to {MOST_LOOKED_UP}, and none that may change their partition",
                todo="write them by ingest.py",
                table=config.name,
            )
        return stored, write_workload(write, work, transaction.to_inflight)

    def _bulk_insert(self, table: HudiTable, context: WriteContext, keyed: KeyedSource) -> Written:
        rules = RecordRules(combine=False, all_deleted=False)
        with self._progress.phase("write"):
            ordered = in_bulk_order(keyed, self._config)
            seed = table.clock.new_uuid()
            tasks = min(self._engine.slots, 1 + keyed.source.content_size // BYTES_FOR_ONE)
            stats = bulk_insert_rows(self._engine, ordered, tasks, context, seed, rules)
        return Written(stats=stats)


def _named_partitions(table: HudiTable, config: WriteConfig) -> list[str]:
    asked = PARTITIONS_TO_DELETE.of(config.properties)
    if not asked:
        raise ConfigError("no partitions to delete are named", todo="give their paths")
    refuse_paths_outside(asked, PARTITIONS_TO_DELETE.name)
    return matching_partitions(asked, table.partitions())


def _delete_partitions(config: WriteConfig) -> Any:
    def work(table: HudiTable, transaction: Transaction) -> tuple[StoredSchema, Written]:
        transaction.to_inflight(CommitMetadata(operation_type=OperationType.DELETE_PARTITION).encode())
        replaced = replaced_groups(table, config.operation, _named_partitions(table, config))
        return settle_schema(None, config, table), Written(stats=[], replaced=replaced)

    return work
