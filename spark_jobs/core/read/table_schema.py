"""The schema of a table, found where Hudi looks for it (Hudi: TableSchemaResolver)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.base_file import AVRO_SCHEMA_FOOTER, open_base_file
from spark_jobs.core.schema.avro import avro_schema_of, with_meta_fields, without_meta_fields
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.history import LATEST_SCHEMA_KEY, read_history, write_history
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.meta_fields import without_meta_fields as data_fields
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, SERVICE_OPERATIONS, CommitMetadata
from spark_jobs.core.view.file_slice import BaseFile


def committed_schema(
    timeline: ActiveTimeline, config: TableConfig, clock: Clock, until: str | None = None
) -> dict[str, Any] | None:
    """Avro schema without meta columns, of the newest write that has one, else the one given at creation; None where
    neither has.
    """
    metadata = _newest_with_schema(timeline, clock, until)
    if metadata is not None:
        return _parse(metadata.schema_text, "the schema of a commit")
    return _parse(config.create_schema, "hoodie.table.create.schema") if config.create_schema else None


def committed_evolution(
    storage: Storage, base_path: str, timeline: ActiveTimeline, clock: Clock, until: str | None = None
) -> SchemaEvolution | None:
    """The schema history of a table as of an instant; None where the newest write that has a schema has none with ids.

    Hudi goes by it only with ``hoodie.schema.on.read.enable``; without, it finds renamed columns empty.

    :raises CorruptTableError: the history is unreadable.
    """
    metadata = _newest_with_schema(timeline, clock, until)
    text = metadata.extra_metadata.get(LATEST_SCHEMA_KEY) if metadata is not None else None
    if not text:
        return None
    wanted = InternalSchema.parse(text, "the latest_schema of a commit")
    completed = {instant.timestamp for instant in timeline.completed_commits()}
    versions = {one.version: one for one in read_history(storage, base_path, completed.__contains__)}
    versions.setdefault(wanted.version, wanted)
    return SchemaEvolution(versions=tuple(versions[version] for version in sorted(versions)), wanted=wanted)


def schema_metadata(avro: Mapping[str, Any], internal: InternalSchema | None) -> dict[str, str | None]:
    """What a commit says of its schema; ``internal`` is that with ids on a table with a schema history.

    There Hudi stores the Avro schema with the meta columns.
    """
    if internal is None:
        return {SCHEMA_KEY: json.dumps(avro)}
    return {SCHEMA_KEY: json.dumps(with_meta_fields(avro)), LATEST_SCHEMA_KEY: internal.to_text()}


def add_to_history(
    storage: Storage,
    base_path: str,
    timeline: ActiveTimeline,
    time: str,
    known: SchemaEvolution | None,
    internal: InternalSchema,
) -> None:
    """Leave the schema history of the write ``time``, which is about to be published, under the table's lock."""
    versions = {one.version: one for one in known.versions} if known else {}
    versions[internal.version] = internal
    completed = {instant.timestamp for instant in timeline.completed_commits()}
    write_history(storage, base_path, time, tuple(versions.values()), completed.__contains__)


def _newest_with_schema(timeline: ActiveTimeline, clock: Clock, until: str | None) -> CommitMetadata | None:
    for instant in reversed(timeline.completed_commits()):
        if not instant.is_visible_at(until):
            continue
        metadata = timeline.commit_metadata(instant, clock)
        if metadata.operation_type not in SERVICE_OPERATIONS and metadata.schema_text:
            return metadata
    return None


def schema_of_file(storage: Storage, base_path: str, base: BaseFile, table: str) -> dict[str, Any]:
    """Avro schema without meta columns, from the footer of a base file, or from its Parquet schema where the footer
    has none.
    """
    file = open_base_file(storage, resolve(base_path, base.relative_path))
    text = (file.metadata.metadata or {}).get(AVRO_SCHEMA_FOOTER.encode())
    if text is not None:
        return _parse(text.decode(), base.relative_path)
    schema: pa.Schema = data_fields(file.schema_arrow)
    return avro_schema_of(schema, table)


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return without_meta_fields(json.loads(text))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CorruptTableError(f"{where} holds no Avro record schema ({error})", where=where) from error
