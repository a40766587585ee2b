"""Whether an ingest runs in this process, without Spark: what it would write then, or why not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spark_jobs.core.config.keys.datasource import PARTITIONS_TO_DELETE
from spark_jobs.core.config.keys.errortable import SHOW_VALUES
from spark_jobs.core.config.keys.streamer import FILES_ROOT
from spark_jobs.core.config.keys.write import LOCAL_BYTES
from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import EngineKind, Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.choose import parquet_source, why_spark_makes_keys
from spark_jobs.write.direct.columns import refuse_unusable_columns
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.listing import source_files
from spark_jobs.write.direct.source import ParquetSource, RowRange
from spark_jobs.write.file_source import needs_spark, with_files_by_keys
from spark_jobs.write.source_rows import write_source
from spark_jobs.write.workload import SOURCE_READER

HIDDEN_ROW = "a row doesn't fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalIngest:
    """``source`` is None for a delete_partition whose options name the partitions."""

    config: WriteConfig
    table: HudiTable | None
    source: ParquetSource | None

    def run(self, progress: Progress) -> JobResult:
        """
        :raises HudiError: as the job on Spark does.
        """
        config, source = self.config, self.source
        progress.warn(*writer_warnings(dict(config.options.hoodie_properties())))
        try:
            if source is not None:
                refuse_unusable_columns(source.schema, config)
            result = write_source(config, self.table, source, LocalEngine.of_machine(config.lake.clock), progress)
        except BadRecordError as error:
            if SHOW_VALUES.of(config.properties):
                raise
            todo = f"say {SHOW_VALUES.name}=true to see which value is at fault"
            raise BadRecordError(HIDDEN_ROW, todo=todo) from error
        result = replace(result, extra={**result.extra, "engine": EngineKind.LOCAL.value})
        if source is None or result.repeated or config.options.dry_run or config.options.explain:
            return result
        count, size = source.counts
        reader = {} if config.operation is Operation.DELETE_PARTITION else {SOURCE_READER: "tasks"}
        return replace(result, files_in=count, bytes_in=size, extra={**reader, **result.extra})


def local_ingest(config: WriteConfig, table: HudiTable | None) -> LocalIngest | str:
    """The write by this process where the options ask for that, or leave the choice and it is small enough; else why
    Spark does it.

    :raises ConfigError: it was asked for, and is not possible.
    :raises StorageError: a source is missing.
    """
    kind = config.options.engine
    if kind is EngineKind.SPARK:
        return "--engine spark"
    options = with_files_by_keys(config.options)
    why = _needs_spark(options)
    source: ParquetSource | str | None = None
    if why is None and (options.source or not _names_partitions(config)):
        source = _source(options, config)
        if isinstance(source, str):
            why = source
        else:
            why = why_spark_makes_keys(config.key_spec, source.schema, virtual=not config.populate_meta_fields)
    if why is None and kind is EngineKind.AUTO and isinstance(source, ParquetSource):
        why = _why_too_large(source, config, table)
    if why is not None and kind is EngineKind.LOCAL:
        raise ConfigError(f"--engine local can't do this write: {why}", todo="give --engine spark or auto")
    if why is not None or isinstance(source, str):
        return str(why)
    return LocalIngest(config=replace(config, options=options), table=table, source=source)


def _needs_spark(options: IngestOptions) -> str | None:
    kind = (options.source_format or "parquet").lower()
    if kind != "parquet":
        return f"--source-format {kind} needs Spark"
    of_streams = {
        "--checkpoint": options.checkpoint,
        "--ignore-checkpoint": options.ignore_checkpoint,
        "--source-limit": options.source_limit,
        "--available-now": options.available_now,
        "--continuous": options.continuous,
        "--min-sync-interval-seconds": options.min_sync_interval_seconds,
    }
    found = next((name for name, value in of_streams.items() if value), None) or needs_spark(options)
    return None if found is None else f"{found} needs Spark"


def _names_partitions(config: WriteConfig) -> bool:
    takes_paths = config.operation is Operation.DELETE_PARTITION
    return takes_paths and bool(PARTITIONS_TO_DELETE.of(config.properties))


def _source(options: IngestOptions, config: WriteConfig) -> ParquetSource | str:
    if not options.source:
        raise ConfigError("no source is given", todo=f"give --source, or {FILES_ROOT.name}")
    files = source_files(options.source, config.lake)
    return files if isinstance(files, str) else parquet_source(None, files, config.lake)


def _why_too_large(source: ParquetSource, config: WriteConfig, table: HudiTable | None) -> str | None:
    most = LOCAL_BYTES.of(config.properties)
    size = source.memory_size
    if size <= most and table is not None and config.operation is not Operation.BULK_INSERT:
        size += _touched(source, config, table)
    return f"{size} bytes are to be read, and {LOCAL_BYTES.name}={most}" if size > most else None


def _touched(source: ParquetSource, config: WriteConfig, table: HudiTable) -> int:
    """Bytes of the file slices in which keys are looked up, or into which rows are merged, at most."""
    keyed = KeyedSource(source=source, spec=config.key_spec)
    paths = (
        None if config.index_type.is_global else keyed.partition_paths(RowRange(0, source.rows)).unique().to_pylist()
    )
    return sum(one.size for one in table.slices_to_read(table.view(paths)))
