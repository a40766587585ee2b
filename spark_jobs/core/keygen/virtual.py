"""Virtual keys: tables whose meta columns stay empty, so that keys are computed whenever they are needed.

Hudi: ``hoodie.populate.meta.fields=false``; its writers leave all meta columns null but for the name of a base file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import pyarrow as pa

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.keygen.keys import record_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.schema.meta_fields import META_FIELDS, RECORD_KEY

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def virtual_keys_of(config: TableConfig, properties: Mapping[str, str] | None = None) -> KeySpec | None:
    """How the keys of a table are computed; None where its meta columns hold them.

    :param properties: ``hoodie.*`` values of a job.
    """
    if config.populate_meta_fields:
        return None
    return KeySpec.of(
        config.record_key_fields,
        config.partition_fields,
        hive_style=config.hive_style,
        url_encode=config.url_encode,
        class_name=config.key_generator_class,
        properties=properties,
    )


def with_keys(rows: Rows, spec: KeySpec | None) -> Rows:
    """The rows with their record keys in the meta column, which may be null or empty; as they are without ``spec``."""
    return rows if spec is None else _replaced(rows, {RECORD_KEY: record_keys(rows, spec)})


def without_keys(rows: Rows, spec: KeySpec | None) -> Rows:
    """The rows as they are stored: meta columns null, but for the file name; as they are without ``spec``."""
    return rows if spec is None else _emptied(rows, META_FIELDS[:-1])


def without_meta(rows: Rows, spec: KeySpec | None) -> Rows:
    """The same for log blocks, where the file name is null too."""
    return rows if spec is None else _emptied(rows, META_FIELDS)


def _emptied(rows: Rows, names: Iterable[str]) -> Rows:
    nothing = pa.nulls(rows.num_rows, pa.string())
    return _replaced(rows, {name: nothing for name in names if name in rows.schema.names})


def _replaced(rows: Rows, columns: Mapping[str, pa.Array]) -> Rows:
    arrays = [columns.get(name, rows.column(number)) for number, name in enumerate(rows.schema.names)]
    return type(rows).from_arrays(arrays, schema=rows.schema)
