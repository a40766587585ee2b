"""Avro schemas, under the name by which the files' code knows them: they are defined in :mod:`core.schema.avro`."""

from spark_jobs.core.schema.avro import (
    arrow_schema_of,
    arrow_type_of,
    avro_schema_of,
    with_meta_fields,
    without_meta_fields,
)
from spark_jobs.core.schema.avro_names import AvroType, resolve_names, split_nullable
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.schema.meta_fields import OPERATION as OPERATION_FIELD

__all__ = [
    "META_FIELDS",
    "OPERATION_FIELD",
    "AvroType",
    "arrow_schema_of",
    "arrow_type_of",
    "avro_schema_of",
    "resolve_names",
    "split_nullable",
    "with_meta_fields",
    "without_meta_fields",
]
