"""One write of rows that this process reads by their numbers, by whatever engine: from its options to its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from spark_jobs.core.config.keys import bulkinsert as bulkinsert_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.choices import Operation
from spark_jobs.options.result import JobResult
from spark_jobs.services.rollback.new_table import take_back_table
from spark_jobs.write.bulk_order import in_bulk_order
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.context import write_context
from spark_jobs.write.direct.keyed import KeyedSource, rows_by_path
from spark_jobs.write.direct.placed_source import place_by_arrays
from spark_jobs.write.direct.source import RowRange, RowSource
from spark_jobs.write.direct.write import bulk_insert_rows
from spark_jobs.write.explain import Batch, explain
from spark_jobs.write.held_files import held_files
from spark_jobs.write.new_table import create_table
from spark_jobs.write.outcome import done_before, nothing_to_delete
from spark_jobs.write.overwrite import partitions_to_delete, replaced_groups
from spark_jobs.write.perform import perform
from spark_jobs.write.preview import preview
from spark_jobs.write.publish import Written
from spark_jobs.write.schema_fit import SchemaFit
from spark_jobs.write.stored_schema import StoredSchema, settle_schema
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.upsert import write_workload
from spark_jobs.write.workload import OpenWrite, Workload

BYTES_FOR_ONE = 16 << 20
"""Of values that a bulk insert writes by one task: more make two file groups of a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRows:
    """``source`` is None for a delete_partition whose options name the partitions; ``stored`` is what the table as it
    stands and the columns of the source come to.
    """

    config: WriteConfig
    source: RowSource | None
    stored: StoredSchema

    @staticmethod
    def of(config: WriteConfig, source: RowSource | None, table: HudiTable | None) -> SourceRows:
        """
        :raises ConfigError: a column is of a type that the table's can't take.
        """
        columns = None if source is None else lambda: source.schema
        return SourceRows(config=config, source=source, stored=settle_schema(columns, config, table))

    @property
    def keyed(self) -> KeyedSource:
        """
        :raises ConfigError: there is no source.
        """
        if self.source is None:
            raise ConfigError("no source is given", todo="give --source")
        return KeyedSource(source=self.source, spec=self.config.key_spec)

    def keys(self) -> pa.Table:
        """Record key and partition path of all rows."""
        return self.keyed.keys(RowRange(0, self.keyed.source.rows))

    def counts(self) -> Mapping[str, int]:
        """Rows by partition path."""
        return rows_by_path(self.keyed.partition_paths(RowRange(0, self.keyed.source.rows)))

    def paths(self) -> list[str]:
        """Partition paths of the rows, each once."""
        return list(self.counts())

    @contextmanager
    def placed(self, write: OpenWrite) -> Iterator[Workload]:
        """The rows with their places."""
        with write.progress.phase("tag"):
            work = place_by_arrays(write, self.keyed)
        yield work


def write_source(
    config: WriteConfig, table: HudiTable | None, source: RowSource | None, engine: Engine, progress: Progress
) -> JobResult:
    """Write rows, or what a dry run says of them.

    :param table: as it stands; None: the write makes it.
    :raises HudiError: the table is as it was then.
    """
    options = config.options
    synced = sync_asked_for(config.properties)
    done = done_before(config, table, progress)
    if table is not None and done is not None:
        return sync_after_write(table, config.properties, done, progress) if synced else done
    fit = None
    if options.dry_run and source is not None:
        fit = SchemaFit.of(source.schema, lambda: SourceRows.of(config, source, table), config, table)
    if fit is not None:
        fit.notify(progress.note)
        if fit.why:
            return fit.refused(config)
    rows = SourceRows.of(config, source, table)
    partitions: list[str] = []
    if table is not None and config.operation is Operation.DELETE_PARTITION:
        partitions = partitions_to_delete(config, table, rows)
        if not any(replaced_groups(table, config.operation, partitions).values()):
            return nothing_to_delete(config, partitions)
    if options.explain:
        return explain(config, table, lambda: Batch.of_keys(rows.keys()), progress)
    if options.dry_run:
        planned = preview(config, table, rows, engine, progress, partitions)
        return replace(planned, plan={**(planned.plan or {}), **(fit.plan(rows.stored) if fit else {})})
    is_new = table is None
    if table is None:
        table, config, is_new = create_table(config)
    try:
        result = _write(config, table, source, engine, progress)
    except BaseException:
        if is_new:
            take_back_table(table.transaction_settings(config.properties), progress.note)
        raise
    return sync_after_write(table.refreshed(), config.properties, result, progress) if synced else result


def _write(
    config: WriteConfig, table: HudiTable, source: RowSource | None, engine: Engine, progress: Progress
) -> JobResult:
    def work(table: HudiTable, transaction: Transaction) -> tuple[StoredSchema, Written]:
        rows = SourceRows.of(config, source, table)  # again: another writer may have added a column
        if config.operation is Operation.DELETE_PARTITION:
            transaction.to_inflight(CommitMetadata(operation_type=OperationType.DELETE_PARTITION).payload())
            replaced = replaced_groups(table, config.operation, partitions_to_delete(config, table, rows))
            return rows.stored, Written(stats=[], replaced=replaced)
        context = write_context(config, table, rows.stored, transaction.time)
        if config.needs_no_places:
            transaction.to_inflight()
            return rows.stored, _bulk_insert(rows, table, context, engine, progress)
        with held_files(context) as held:
            write = OpenWrite(engine=engine, config=config, table=table, context=context, progress=progress, held=held)
            with rows.placed(write) as placed:
                return rows.stored, write_workload(write, placed, transaction)

    return perform(config, table, work, engine, progress)


def _bulk_insert(
    rows: SourceRows, table: HudiTable, context: WriteContext, engine: Engine, progress: Progress
) -> Written:
    rules = RecordRules(combine=False, all_deleted=False)
    with progress.phase("write"):
        ordered = in_bulk_order(rows.keyed, rows.config)
        asked = bulkinsert_keys.BULK_INSERT_PARALLELISM.of(rows.config.properties)
        tasks = asked or min(engine.slots, 1 + ordered.source.content_size // BYTES_FOR_ONE)
        stats = bulk_insert_rows(engine, ordered, tasks, context, table.clock.new_uuid(), rules)
    return Written(stats=stats)
