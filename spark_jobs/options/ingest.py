"""Options of ``ingest.py``: rows from a source into a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from spark_jobs.options.attempt import AttemptOfTask
from spark_jobs.options.base import JobOptions
from spark_jobs.options.checkpoint_fields import (
    AvailableNow,
    Checkpoint,
    Continuous,
    IgnoreCheckpoint,
    MinSyncInterval,
    SourceLimit,
)
from spark_jobs.options.choices import EngineKind, Operation, SourceReader
from spark_jobs.options.flags import Kind, Pairs, flag
from spark_jobs.options.job import Job
from spark_jobs.options.record_fields import PartitionPathFields, PrecombineField, RecordKeyFields
from spark_jobs.options.table_type import NewTableType
from spark_jobs.options.transforms import ErrorTable, MaxErrors, Transformers, TransformerSql, TransformerSqlFile


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions(JobOptions):
    """What is written, and what identifies a record.

    ``op`` and ``table_type`` are None when nobody chose: a writer then upserts, and keeps the type of the table that
    is there (COPY_ON_WRITE for a new one). Two writes with one ``idempotency_key`` are the same
    write, done once.
    """

    job: ClassVar[str] = "ingest"

    source_format: Annotated[
        str | None, flag("--source-format", help="Spark's name of the source's format, such as parquet or csv.")
    ] = None
    source: Annotated[tuple[str, ...], flag("--source", kind=Kind.TEXTS, help="Paths or URLs of the source.")] = ()
    source_options: Annotated[
        Pairs, flag("--source-option", kind=Kind.PAIRS, help="An option of the source's reader.")
    ] = field(default=(), repr=False)
    source_schema: Annotated[
        str | None,
        flag("--source-schema", help="Columns of the source as Spark's DDL spells them; else Spark finds them."),
    ] = None
    source_reader: Annotated[
        SourceReader,
        flag(
            "--source-reader",
            choices=SourceReader,
            help="auto: the tasks read Parquet files themselves where they see what Spark would; spark: never.",
        ),
    ] = SourceReader.AUTO
    engine: Annotated[
        EngineKind,
        flag(
            "--engine",
            choices=EngineKind,
            help="In this process, on Spark, or by the size of the source and of the files that it touches.",
        ),
    ] = EngineKind.AUTO
    source_limit: SourceLimit = None
    checkpoint: Checkpoint = None
    ignore_checkpoint: IgnoreCheckpoint = None
    available_now: AvailableNow = False
    continuous: Continuous = False
    min_sync_interval_seconds: MinSyncInterval = None
    transformer_sql: TransformerSql = None
    transformer_sql_file: TransformerSqlFile = None
    transformer: Transformers = ()
    error_table: ErrorTable = None
    max_errors: MaxErrors = None
    table_type: NewTableType = None
    op: Annotated[
        Operation | None,
        flag(
            "--op",
            choices=Operation,
            keys=("hoodie.datasource.write.operation",),
            help="What the write does; upsert if not given.",
        ),
    ] = None
    record_key_fields: RecordKeyFields = ()
    partition_path_fields: PartitionPathFields = ()
    precombine_field: PrecombineField = None
    payload_function: Annotated[
        str | None,
        flag(
            "--payload-function",
            keys=("pyhudi.payload.function",),
            help="One's own payload, as module:function, for a COPY_ON_WRITE table (docs/payloads.md).",
        ),
    ] = None
    explain: Annotated[
        bool,
        flag(
            "--explain",
            kind=Kind.SWITCH,
            help="Tell which index fits the table and this source, and what each would open; write nothing.",
        ),
    ] = False
    conflict_retries: Annotated[
        int | None,
        flag(
            "--conflict-retries",
            kind=Kind.INTEGER,
            keys=("hoodie.write.num.retries.on.conflict.failures",),
            least=0,
            help="How often the write is done again, as a new instant, where another one was faster; 0 if not given.",
        ),
    ] = None
    idempotency_key: Annotated[
        str | None, flag("--idempotency-key", help="Name of this write: a second one of the name adds nothing.")
    ] = None
    attempt: AttemptOfTask = None


INGEST = Job(
    name="ingest",
    options=IngestOptions,
    runner="spark_jobs.write.job:run_ingest",
    operator="HudiIngestOperator",
    judge="spark_jobs.write.job:misfit",
)
