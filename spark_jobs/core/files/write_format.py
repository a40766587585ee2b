"""How base files are written, from the ``hoodie.*`` values of a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.keys import bloom as bloom_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.config.keys import write as write_keys
from spark_jobs.core.files.base_file_writer import BaseFileFormat, BloomSettings
from spark_jobs.core.schema.avro import with_meta_fields as avro_with_meta_fields
from spark_jobs.core.schema.meta_fields import with_meta_fields
from spark_jobs.core.storage import Storage


def data_storage(storage: Storage, properties: Mapping[str, str]) -> Storage:
    """The storage by which one write puts its data files down."""
    return storage if write_keys.DURABLE.of(properties) else storage.relaxed()


def base_file_format(
    properties: Mapping[str, str], schema: pa.Schema, avro_schema: Mapping[str, Any], *, indexed: bool = True
) -> BaseFileFormat:
    """The format of all base files of one write; both schemas are of the table, without meta columns.

    :param indexed: whether footers tell of the keys; those of tables with virtual keys do not.
    """
    return BaseFileFormat(
        schema=with_meta_fields(schema),
        avro_schema=json.dumps(avro_with_meta_fields(avro_schema)),
        codec=parquet_keys.CODEC.of(properties).value,
        codec_level=parquet_keys.ZSTD_LEVEL.of(properties),
        dictionary=parquet_keys.DICTIONARY.of(properties),
        bloom=bloom_settings(properties) if indexed else None,
        row_group_bytes=parquet_keys.ROW_GROUP_BYTES.of(properties),
    )


def bloom_settings(properties: Mapping[str, str]) -> BloomSettings | None:
    """How bloom filters are made; None where they are turned off."""
    if not parquet_keys.BLOOM_ENABLED.of(properties):
        return None
    return BloomSettings(
        kind=bloom_keys.BLOOM_TYPE.of(properties).value,
        entries=bloom_keys.BLOOM_ENTRIES.of(properties),
        fpp=bloom_keys.BLOOM_FPP.of(properties),
        max_entries=bloom_keys.BLOOM_MAX_ENTRIES.of(properties),
    )
