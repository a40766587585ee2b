"""Avro records as cells: the contents of HFile log blocks, and of base files in HFile format.

Source: ``HoodieHFileDataBlock``, ``HoodieAvroHFileWriter``. The cell's row is the record key, its value the record's
binary form. A column named ``key`` is left empty in the value where it is the row, and then taken from that on reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError, CorruptTableError
from spark_jobs.core.files.avro_columns import EncodedRecords, decode_records, encode_records
from spark_jobs.core.files.hfile.cells import NO_CELLS, Cells
from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.source import SeekableFile, Source
from spark_jobs.core.files.hfile.writer import write_hfile

KEY_COLUMN = "key"
SCHEMA_INFO = b"schema"


def encode_hfile_content(
    table: pa.Table,
    keys: pa.ChunkedArray[Any] | pa.Array[Any],
    avro_schema: Mapping[str, Any],
    schema_text: str,
    *,
    compression: Compression = Compression.GZ,
) -> bytes:
    """The content of an HFile data block.

    :param keys: the record key of each row, in any order.
    :param schema_text: ``avro_schema`` as the block's header has it.
    :raises BadRecordError: a key that is null or comes twice, or a row that does not fit the schema.
    """
    cells = encode_cells_of(table, keys, avro_schema)
    return write_hfile(cells, compression=compression, file_info={SCHEMA_INFO: schema_text.encode()})


def encode_cells_of(
    table: pa.Table, keys: pa.ChunkedArray[Any] | pa.Array[Any], avro_schema: Mapping[str, Any]
) -> Cells:
    """Rows as cells, sorted by key.

    :raises BadRecordError: a key that is null or comes twice, or a row that does not fit the schema.
    """
    rows = pa.chunked_array([keys]) if isinstance(keys, pa.Array) else keys
    if rows.null_count:
        raise BadRecordError(f"{rows.null_count} rows for an HFile have no key")
    binary = rows.cast(pa.large_binary())
    order = pc.array_sort_indices(binary)
    ordered = _one_array(binary.take(order))
    if pc.any(pc.equal(ordered.slice(0, max(len(ordered) - 1, 0)), ordered.slice(1))).as_py():
        raise BadRecordError("a key comes twice among the rows for one HFile", todo="merge the rows of a key first")
    sorted_rows = table.take(order)
    place = table.schema.get_field_index(KEY_COLUMN)
    if place >= 0 and _is_text(table.schema.field(place).type):
        # Hudi leaves it empty whatever it holds, and so loses a value that is not the record key
        stored: Any = sorted_rows.column(place)
        same = pc.equal(stored.cast(pa.large_binary()), pa.chunked_array([ordered]))
        sorted_rows = sorted_rows.set_column(place, KEY_COLUMN, pc.if_else(same, pa.scalar("", stored.type), stored))
    values = [_values(part) for part in encode_records(sorted_rows, avro_schema)]
    return Cells(ordered, pa.concat_arrays(values)) if values else NO_CELLS


def decode_hfile_content(
    content: Source | SeekableFile | bytes | memoryview,
    writer_schema: Mapping[str, Any],
    target_schema: pa.Schema,
    *,
    keys: Iterable[str] | None = None,
    prefixes: Iterable[str] | None = None,
    name: str = "an HFile data block",
) -> pa.Table:
    """The rows of an HFile data block, or of a base file, by key; as columns of ``target_schema``.

    :param content: bytes, or the file's section where they stand, of which only what is needed is read.
    :param keys: only the rows with these record keys; ``prefixes``: only those that begin so.
    :raises CorruptTableError: the content is no HFile, or a cell is no such record.
    :raises UnsupportedTableError: a kind of HFile, or a type in it, that this release does not read.
    """
    reader = HFileReader(content, name)
    if keys is not None:
        batches = reader.lookup(key.encode() for key in keys)
    elif prefixes is not None:
        batches = reader.lookup_prefixes(prefix.encode() for prefix in prefixes)
    else:
        batches = reader.arrays()
    tables = [decode_cells_of(cells, writer_schema, target_schema) for cells in batches]
    return pa.concat_tables(tables) if tables else target_schema.empty_table()


def decode_cells_of(cells: Cells, writer_schema: Mapping[str, Any], target_schema: pa.Schema) -> pa.Table:
    """The records of cells as columns of ``target_schema``; see :func:`decode_hfile_content` for the errors."""
    lengths = pc.binary_length(cells.values).to_numpy(zero_copy_only=False)
    heads = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(4), len(lengths), [None, pa.py_buffer(lengths.astype(">i4").tobytes())]
    )
    kind = pa.large_binary()
    framed = pc.binary_join_element_wise(heads.cast(pa.binary()).cast(kind), cells.values, pa.scalar(b"", kind))
    records = memoryview(framed.buffers()[2] or b"")
    table = decode_records(records, len(lengths), writer_schema, target_schema)
    place = target_schema.get_field_index(KEY_COLUMN)
    if place < 0 or not _is_text(target_schema.field(place).type):
        return table
    try:
        rows = cells.keys.cast(pa.large_string()).cast(target_schema.field(place).type)
    except pa.ArrowInvalid as error:
        raise CorruptTableError(f"a key of an HFile is not UTF-8 ({error})") from error
    stored = table.column(place)
    full = pc.if_else(pc.equal(pc.binary_length(stored), 0), rows, stored)
    return table.set_column(place, target_schema.field(place), full)


def _values(records: EncodedRecords) -> pa.Array[Any]:
    """The records without the lengths that stand in front of them."""
    ends = records.ends
    cuts = np.zeros((len(ends), 2), dtype=np.int64)
    cuts[1:, 0] = ends[:-1]
    cuts[:, 0] += 4
    cuts[:, 1] = ends
    offsets = np.concatenate(([0], cuts.ravel()))
    pieces = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(records.data)]
    )
    return pieces.take(pa.array(np.arange(len(ends), dtype=np.int64) * 2 + 1))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _one_array(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    return column.combine_chunks()
