"""The contents of log blocks that hold rows: Avro (change data too), Parquet and HFile, read to Arrow.

Source: ``org.apache.hudi.common.table.log.block`` (HoodieAvroDataBlock, HoodieCDCDataBlock, HoodieParquetDataBlock,
HoodieHFileDataBlock) and ``HoodieAvroHFileReader``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_columns import WriterSchema, decode_records, resolve_columns
from spark_jobs.core.files.fixed_room import refuse_giants
from spark_jobs.core.files.hfile.records import decode_hfile_content
from spark_jobs.core.files.hfile.source import Source
from spark_jobs.core.files.log_block import CONTENT_VERSION, BlockType, LogBlock

CONTENT_HEAD = struct.Struct(">ii")
"""Content version and number of records of an Avro block."""

MOST_BYTES = 2 << 30
"""Of the rows of one Parquet block in memory; Hudi begins a new block at 256 MB."""
_BATCH_ROWS = 1 << 16

ROW_BLOCKS = frozenset(
    (BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK, BlockType.HFILE_DATA_BLOCK, BlockType.CDC_DATA_BLOCK)
)


def read_rows(block: LogBlock, target_schema: pa.Schema | None = None) -> pa.Table:
    """The rows of a block of :data:`ROW_BLOCKS`, as columns of ``target_schema`` (of the block's own without one).

    Columns are found by name, cast, and null where the block has none. Of a Parquet or HFile block only the bytes that
    it takes are read.

    :raises CorruptTableError: the content is not what the block's type says.
    :raises UnsupportedTableError: a stored type that can't become the target's, or that Arrow does not have.
    """
    try:
        if block.type is BlockType.PARQUET_DATA_BLOCK:
            return _parquet_rows(block, target_schema)
        schema = _schema_of(block.schema_json)
        target = schema.columns if target_schema is None else target_schema
        if block.type is BlockType.HFILE_DATA_BLOCK:
            source = Source(block.read_content, block.content_length, "its HFile")
            return decode_hfile_content(source, schema.record, target)
        return _avro_rows(block.read_content(), schema, target)
    except RecursionError as error:
        raise CorruptTableError("its header has a schema that is nested too deeply") from error


@lru_cache(maxsize=8)
def _schema_of(text: str) -> WriterSchema:
    """The Avro schema of a header; most blocks of a table have the same."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise CorruptTableError(f"its header has no Avro schema ({error})") from error
    if not isinstance(schema, dict):
        raise CorruptTableError("its header has no Avro record schema")
    return WriterSchema.of(schema)


def _avro_rows(content: bytes, schema: WriterSchema, target: pa.Schema) -> pa.Table:
    if len(content) < CONTENT_HEAD.size:
        raise CorruptTableError(f"its content has {len(content)} bytes")
    version, count = CONTENT_HEAD.unpack_from(content)
    if not 0 <= version <= CONTENT_VERSION:
        raise UnsupportedTableError(
            f"its content version is {version}, this release reads 0 to {CONTENT_VERSION}",
            todo="compact the table with its own Hudi first",
        )
    return decode_records(memoryview(content)[CONTENT_HEAD.size :], count, schema, target)


def _within(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same; equal values take next to nothing in Parquet, however many."""
    taken = 0
    for batch in batches:
        taken += batch.nbytes
        if taken > MOST_BYTES:
            raise UnsupportedTableError(
                f"its rows take more than {MOST_BYTES} bytes of memory",
                todo="compact the table with its own Hudi first",
            )
        yield batch


def _parquet_rows(block: LogBlock, target: pa.Schema | None) -> pa.Table:
    try:
        with block.open_content() as content, pq.ParquetFile(content, pre_buffer=False) as file:
            stored = file.schema_arrow
            target = stored.remove_metadata() if target is None else target
            wanted = [name for name in stored.names if name in set(target.names)]
            refuse_giants(file.metadata, stored, block.content_length)
            # one column at least, because what the footer says of the number of rows need not be so
            columns = wanted or stored.names[:1]
            # in one thread: after an error in one column Arrow would go on with others in a file that is closed by then
            batches = list(_within(file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False)))
            found = pa.Table.from_batches(batches, None if batches else stored.empty_table().select(columns).schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptTableError(f"its Parquet content is not readable ({str(error).splitlines()[0]})") from error
    return resolve_columns({name: found.column(name) for name in wanted}, found.num_rows, target)
