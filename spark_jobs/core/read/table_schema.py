"""The schema of a table, found where Hudi looks for it (Hudi: TableSchemaResolver)."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.avro_schema import avro_schema_of, without_meta_fields
from spark_jobs.core.files.base_file import AVRO_SCHEMA_FOOTER, open_base_file
from spark_jobs.core.schema.meta_fields import without_meta_fields as data_fields
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import SERVICE_OPERATIONS
from spark_jobs.core.view.file_slice import BaseFile


def committed_schema(
    timeline: ActiveTimeline, config: TableConfig, clock: Clock, until: str | None = None
) -> dict[str, Any] | None:
    """Avro schema without meta columns, of the newest write that has one, else the one given at creation; None where
    neither has.
    """
    for instant in reversed(timeline.completed_commits()):
        if until is not None and instant.timestamp > until:
            continue
        metadata = timeline.commit_metadata(instant, clock)
        if metadata.operation_type not in SERVICE_OPERATIONS and metadata.schema_text:
            return _parse(metadata.schema_text, instant.file_name)
    return _parse(config.create_schema, "hoodie.table.create.schema") if config.create_schema else None


def schema_of_file(storage: Storage, base_path: str, base: BaseFile, table: str) -> dict[str, Any]:
    """Avro schema without meta columns, from the footer of a base file, or from its Parquet schema where the footer
    has none.
    """
    file = open_base_file(storage, f"{base_path}/{base.relative_path}")
    text = (file.metadata.metadata or {}).get(AVRO_SCHEMA_FOOTER.encode())
    if text is not None:
        return _parse(text.decode(), base.relative_path)
    schema: pa.Schema = data_fields(file.schema_arrow)
    return avro_schema_of(schema, table)


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return without_meta_fields(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptTableError(f"{where} holds no Avro record schema ({error})", where=where) from error
