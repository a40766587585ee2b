"""The five columns that Hudi puts before a table's own."""

from __future__ import annotations

import pyarrow as pa

COMMIT_TIME = "_hoodie_commit_time"
COMMIT_SEQNO = "_hoodie_commit_seqno"
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
FILE_NAME = "_hoodie_file_name"
META_FIELDS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)
OPERATION = "_hoodie_operation"
IS_DELETED = "_hoodie_is_deleted"

META_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in META_FIELDS])


def with_meta_fields(schema: pa.Schema) -> pa.Schema:
    """The schema of base files: the meta columns first, then the table's own."""
    return pa.schema([*META_SCHEMA, *[field for field in schema if field.name not in META_FIELDS]])


def without_meta_fields(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in META_FIELDS and field.name != OPERATION])
