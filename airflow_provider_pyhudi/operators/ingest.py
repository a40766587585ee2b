"""Rows from a source into a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import HudiJobOperator
from airflow_provider_pyhudi.operators.named_run import named_by_task
from spark_jobs.options import EngineKind, IngestOptions, JobOptions
from spark_jobs.options.source_packages import packages_for, with_packages


class HudiIngestOperator(HudiJobOperator):
    """Write the rows of a source. A retry of a write that finished adds nothing; a task that succeeded and is cleared
    writes anew.

    The arguments are those of :class:`~spark_jobs.options.IngestOptions`, then those of :class:`HudiJobOperator`.

    :param engine: ``auto``, ``local`` (without a session of Spark) or ``spark``.
    :param conflict_retries: how often the job writes again by itself where another writer was faster, before the task
        fails and Airflow's own retries count.
    :param explain: say which index fits the table and the source, and write nothing.
    :param idempotency_key: the write's name. Without it, ``<dag_id>/<task_id>/<run_id>/<map_index>``, the same on every
        try until the task has succeeded. A name of one's own is written under once for good. Give an empty text to have
        no name: then a retry after a lost answer may write twice.
    """

    options_type: ClassVar[type[JobOptions]] = IngestOptions
    attempt: str | None = None
    """Of a task that has no key of its own, said by Airflow."""
    template_fields: Sequence[str] = (
        *HudiJobOperator.template_fields,
        "source_format",
        "source",
        "source_options",
        "source_schema",
        "source_reader",
        "source_limit",
        "checkpoint",
        "ignore_checkpoint",
        "available_now",
        "continuous",
        "min_sync_interval_seconds",
        "transformer_sql",
        "transformer_sql_file",
        "transformer",
        "error_table",
        "max_errors",
        "table_type",
        "op",
        "record_key_fields",
        "partition_path_fields",
        "precombine_field",
        "payload_function",
        "explain",
        "conflict_retries",
        "idempotency_key",
    )

    def __init__(
        self,
        *,
        source_format: str | None = None,
        source: str | Sequence[str] = (),
        source_options: Mapping[str, Any] | None = None,
        source_schema: str | None = None,
        source_reader: str | None = None,
        source_limit: int | str | None = None,
        checkpoint: str | None = None,
        ignore_checkpoint: str | None = None,
        available_now: bool | str = False,
        continuous: bool | str = False,
        min_sync_interval_seconds: int | str | None = None,
        transformer_sql: str | None = None,
        transformer_sql_file: str | None = None,
        transformer: str | Sequence[str] = (),
        error_table: str | None = None,
        max_errors: int | str | None = None,
        table_type: str | None = None,
        op: str | None = None,
        record_key_fields: str | Sequence[str] = (),
        partition_path_fields: str | Sequence[str] = (),
        precombine_field: str | None = None,
        payload_function: str | None = None,
        explain: bool | str = False,
        engine: str = EngineKind.AUTO.value,
        conflict_retries: int | str | None = None,
        idempotency_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source_format = source_format
        self.source = source
        self.source_options = source_options
        self.source_schema = source_schema
        self.source_reader = source_reader
        self.source_limit = source_limit
        self.checkpoint = checkpoint
        self.ignore_checkpoint = ignore_checkpoint
        self.available_now = available_now
        self.continuous = continuous
        self.min_sync_interval_seconds = min_sync_interval_seconds
        self.transformer_sql = transformer_sql
        self.transformer_sql_file = transformer_sql_file
        self.transformer = transformer
        self.error_table = error_table
        self.max_errors = max_errors
        self.table_type = table_type
        self.op = op
        self.record_key_fields = record_key_fields
        self.partition_path_fields = partition_path_fields
        self.precombine_field = precombine_field
        self.payload_function = payload_function
        self.explain = explain
        self.engine = engine
        self.conflict_retries = conflict_retries
        self.idempotency_key = idempotency_key

    def job_values(self, context: Context) -> dict[str, Any]:
        if self.idempotency_key is not None:
            return {"idempotency_key": self.idempotency_key or None}
        return named_by_task(self, context)

    def packages_for(self, options: JobOptions) -> str | None:
        """Those of the task, else of ``conf``, and what the source's format needs beside them."""
        given, jars = self.packages, self.jars
        if given is None:
            given = (self.conf or {}).get("spark.jars.packages")
        needed = packages_for(options.source_format) if isinstance(options, IngestOptions) else ()
        return with_packages(given, needed, jars or (self.conf or {}).get("spark.jars"))
