"""Log blocks as bytes: data, delete and rollback command blocks (docs/format.md, log blocks).

Source: ``org.apache.hudi.common.table.log.block`` (HoodieAvroDataBlock, HoodieParquetDataBlock, HoodieHFileDataBlock,
HoodieDeleteBlock, HoodieCommandBlock).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.files.avro_columns import EncodedRecords, conform_to, encode_records
from spark_jobs.core.files.base_file import AVRO_SCHEMA_FOOTER
from spark_jobs.core.files.delete_records import Orderings, Strings, encode_delete_records
from spark_jobs.core.files.hfile.records import encode_hfile_content
from spark_jobs.core.files.hfile.row_limits import LOG_BLOCK_LIMIT
from spark_jobs.core.files.log_block import (
    CONTENT_VERSION,
    ROLLBACK_COMMAND,
    BlockType,
    HeaderKey,
    encode_block,
    frame_block,
)
from spark_jobs.core.files.log_contents import CONTENT_HEAD
from spark_jobs.core.files.log_format import LogFormat
from spark_jobs.core.files.repeating import repeating_columns
from spark_jobs.core.schema.meta_fields import RECORD_KEY

_HFILE_KEY = " key"
"""Beside the columns of the rows, whose names in Avro have no blanks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataBlock:
    """A data block in pieces that together are its bytes; ``size`` bytes, ``records`` rows."""

    pieces: list[bytes | memoryview]
    size: int
    records: int


def data_blocks(
    table: pa.Table,
    avro_schema_with_meta: Mapping[str, Any],
    instant: str,
    log_format: LogFormat,
    keys: pa.ChunkedArray[Any] | None = None,
    compacted: Sequence[str] = (),
) -> Iterator[DataBlock]:
    """All rows as data blocks, one made at a time, of at most ``max_block_bytes`` unless a block has a single record.

    The columns of the schema are found in ``table`` by name. No rows give no block. The rows of an HFile block are
    sorted by record key.

    :param keys: the record key of each row, where the meta column does not hold it.
    :param compacted: instants whose blocks these stand for, newest first (log compaction).
    :raises BadRecordError: a value that does not fit the schema; for HFile blocks, a key that comes twice or is
        too long.
    """
    headers = _headers(instant, schema_text(avro_schema_with_meta), compacted)
    kind = log_format.data_block
    if kind is BlockType.HFILE_DATA_BLOCK:
        table = table.append_column(_HFILE_KEY, table.column(RECORD_KEY) if keys is None else keys)
    for content, records in _CONTENTS[kind](table, avro_schema_with_meta, log_format):
        pieces = frame_block(kind, headers, content)
        yield DataBlock(pieces=pieces, size=sum(len(piece) for piece in pieces), records=records)


def delete_block(
    keys: Strings,
    partitions: Strings | str,
    orderings: Orderings | None,
    instant: str,
    schema_json: str,
    compacted: Sequence[str] = (),
) -> bytes:
    """One block that deletes all keys; :func:`encode_delete_records` and :func:`data_blocks` tell the arguments."""
    headers = _headers(instant, schema_json, compacted)
    return encode_block(BlockType.DELETE_BLOCK, headers, encode_delete_records(keys, partitions, orderings))


def _headers(instant: str, schema_json: str, compacted: Sequence[str]) -> dict[HeaderKey, str]:
    headers = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema_json}
    return {**headers, HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(compacted)} if compacted else headers


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


_Content = tuple[list[bytes | memoryview], int]
"""The content of a block in pieces, and its number of records."""


def _avro_contents(table: pa.Table, avro: Mapping[str, Any], log_format: LogFormat) -> Iterator[_Content]:
    for parts in _blocks_of(encode_records(table, avro), log_format.max_block_bytes - CONTENT_HEAD.size):
        count = sum(part.count for part in parts)
        yield [CONTENT_HEAD.pack(CONTENT_VERSION, count), *(part.data for part in parts)], count


def _parquet_contents(table: pa.Table, avro: Mapping[str, Any], log_format: LogFormat) -> Iterator[_Content]:
    for part in _parts(conform_to(table, avro), log_format.max_block_bytes):
        sink = pa.BufferOutputStream()
        columns = repeating_columns(part) if log_format.dictionary else []
        with pq.ParquetWriter(
            sink,
            part.schema,
            compression="none" if log_format.codec == "uncompressed" else log_format.codec,
            compression_level=log_format.codec_level if log_format.codec == "zstd" else None,
            use_dictionary=columns or False,
            store_schema=False,
        ) as writer:
            writer.write_table(part, row_group_size=part.num_rows)
            writer.add_key_value_metadata({AVRO_SCHEMA_FOOTER: schema_text(avro), "writer.model.name": "avro"})
        yield from _within(sink.getvalue(), part, avro, log_format, _parquet_contents)


def _hfile_contents(table: pa.Table, avro: Mapping[str, Any], log_format: LogFormat) -> Iterator[_Content]:
    text, compression = schema_text(avro), log_format.hfile_compression
    LOG_BLOCK_LIMIT.check(table.column(_HFILE_KEY))
    for part in _parts(table, log_format.max_block_bytes):
        content = encode_hfile_content(part, part.column(_HFILE_KEY), avro, text, compression=compression)
        yield from _within(pa.py_buffer(content), part, avro, log_format, _hfile_contents)


_CONTENTS = {
    BlockType.AVRO_DATA_BLOCK: _avro_contents,
    BlockType.PARQUET_DATA_BLOCK: _parquet_contents,
    BlockType.HFILE_DATA_BLOCK: _hfile_contents,
}


def _parts(table: pa.Table, limit: int) -> Iterator[pa.Table]:
    """The rows in order, cut so that those of a part take about ``limit`` bytes in memory (Hudi estimates likewise)."""
    if not table.num_rows:
        return
    parts = max(1, -(-table.nbytes // limit))
    rows = -(-table.num_rows // parts)
    for begin in range(0, table.num_rows, rows):
        yield table.slice(begin, rows)


def _within(
    content: pa.Buffer, part: pa.Table, avro: Mapping[str, Any], log_format: LogFormat, encode: Any
) -> Iterator[_Content]:
    """The content, or, where it came out too large, that of either half of the rows."""
    if content.size <= log_format.max_block_bytes or part.num_rows == 1:
        yield [memoryview(content)], part.num_rows
        return
    half = part.num_rows // 2
    yield from encode(part.slice(0, half), avro, log_format)
    yield from encode(part.slice(half), avro, log_format)


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
