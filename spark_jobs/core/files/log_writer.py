"""Log blocks as bytes: data, delete and rollback command blocks (docs/format.md, log files).

Source: ``org.apache.hudi.common.table.log.block`` (HoodieAvroDataBlock, HoodieDeleteBlock, HoodieCommandBlock).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from spark_jobs.core.files.avro_columns import EncodedRecords, encode_records
from spark_jobs.core.files.delete_records import Orderings, Strings, encode_delete_records
from spark_jobs.core.files.log_block import (
    CONTENT_VERSION,
    ROLLBACK_COMMAND,
    BlockType,
    HeaderKey,
    encode_block,
    frame_block,
)

MAX_DATA_BLOCK_BYTES = 256 << 20
"""Hudi's default of ``hoodie.logfile.data.block.max.size``."""

_CONTENT_HEAD = struct.Struct(">ii")


def data_block(
    table: pa.Table | pa.RecordBatch,
    avro_schema_with_meta: Mapping[str, Any],
    instant: str,
    *,
    max_block_bytes: int = MAX_DATA_BLOCK_BYTES,
) -> bytes:
    """All rows as Avro data blocks of at most ``max_block_bytes`` (a single longer record has a block to itself).

    The columns of the schema are found in ``table`` by name. No rows give no bytes.

    :raises BadRecordError: a value that does not fit the schema.
    """
    headers = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema_text(avro_schema_with_meta)}
    pieces: list[bytes | memoryview] = []
    for records in _blocks_of(encode_records(table, avro_schema_with_meta), max_block_bytes - _CONTENT_HEAD.size):
        count = sum(part.count for part in records)
        content: list[bytes | memoryview] = [
            _CONTENT_HEAD.pack(CONTENT_VERSION, count),
            *(part.data for part in records),
        ]
        pieces += frame_block(BlockType.AVRO_DATA_BLOCK, headers, content)
    return b"".join(pieces)


def delete_block(
    keys: Strings, partitions: Strings | str, orderings: Orderings | None, instant: str, schema_json: str
) -> bytes:
    """One block that deletes all keys; :func:`encode_delete_records` tells the arguments."""
    headers = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema_json}
    return encode_block(BlockType.DELETE_BLOCK, headers, encode_delete_records(keys, partitions, orderings))


def command_block(instant: str, target_instant: str, schema_json: str = "") -> bytes:
    """The block by which the rollback ``instant`` takes the blocks of ``target_instant`` back.

    Hudi writes it without a schema.
    """
    headers = {
        HeaderKey.TARGET_INSTANT_TIME: target_instant,
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.COMMAND_BLOCK_TYPE: ROLLBACK_COMMAND,
    }
    if schema_json:
        headers[HeaderKey.SCHEMA] = schema_json
    return encode_block(BlockType.COMMAND_BLOCK, headers, b"")


def schema_text(avro: Mapping[str, Any]) -> str:
    """A schema as it stands in block headers, footers and commit metadata."""
    return json.dumps(avro, separators=(",", ":"), ensure_ascii=False)


def _blocks_of(parts: Iterator[EncodedRecords], limit: int) -> Iterator[list[EncodedRecords]]:
    """The records by block: whole records, in order, as many as stay within ``limit`` bytes."""
    block: list[EncodedRecords] = []
    size = 0
    for part in parts:
        begin = offset = 0
        while begin < part.count:
            end = int(np.searchsorted(part.ends, offset + limit - size, side="right"))
            if end <= begin and block:
                yield block
                block, size = [], 0
                continue
            end = max(end, begin + 1)
            stop = int(part.ends[end - 1])
            block.append(EncodedRecords(data=part.data[offset:stop], ends=part.ends[begin:end] - offset))
            size += stop - offset
            begin, offset = end, stop
    if block:
        yield block
