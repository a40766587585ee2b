"""The records of Avro data blocks to and from Arrow: by columns, or record by record through fastavro.

The second way is for what columns can't do (:func:`reads_by_columns` tells) or do slowly (:class:`UnevenArraysError`).

A record here is what stands in a block: its length as 4 bytes, big-endian, then its Avro binary form without a
container (docs/format.md, log blocks).
"""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_decode import PADDING
from spark_jobs.core.files.avro_encode import RecordBuilder
from spark_jobs.core.files.avro_nested import ChunkReader, UnevenArraysError, items_have_bytes, reads_by_columns
from spark_jobs.core.files.fixed_room import FixedRoom
from spark_jobs.core.schema.avro import arrow_schema_of, arrow_type_of
from spark_jobs.core.schema.avro_names import AvroType, resolve_names, split_nullable
from spark_jobs.core.schema.conform import conform_values

_CHUNK_RECORDS = 16384
"""So many records are worked on at a time that their columns stay in the processor's cache."""

_CHUNK_BYTES = 64 << 20
_ROW_CHUNK_BYTES = 4 << 20
"""Of records that become Python objects, which take some ten times the bytes."""

_I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSchema:
    """What records were written with, looked through once: the type with its names resolved, and its columns."""

    record: AvroType
    columns: pa.Schema
    by_columns: bool

    @staticmethod
    def of(avro: Mapping[str, Any]) -> WriterSchema:
        """:func:`arrow_schema_of` tells the errors."""
        record = resolve_names(avro)
        return WriterSchema(record=record, columns=arrow_schema_of(record), by_columns=reads_by_columns(record))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRecords:
    """Some records in their order: ``ends[i]`` is where record i ends in ``data`` (and the next begins)."""

    data: memoryview
    ends: _I64

    @property
    def count(self) -> int:
        return len(self.ends)


def encode_records(table: pa.Table | pa.RecordBatch, avro_schema: Mapping[str, Any]) -> Iterator[EncodedRecords]:
    """Encode all rows, part by part; their columns are found by name and cast to the schema's types.

    A column that the table lacks is null.

    :raises BadRecordError: a value that does not fit its type, or a null where the schema has none.
    """
    record = resolve_names(avro_schema)
    batch_rows = max(1, min(_CHUNK_RECORDS, _CHUNK_BYTES * table.num_rows // max(table.nbytes, 1)))
    columns = [_column_for(table, field) for field in record["fields"]]
    by_columns = reads_by_columns(record)
    for begin in range(0, table.num_rows, batch_rows):
        count = min(batch_rows, table.num_rows - begin)
        parts = [_one_array(column.slice(begin, count)) for column in columns]
        if by_columns:
            builder = RecordBuilder(count)
            for field, part in zip(record["fields"], parts, strict=True):
                builder.write(field, part)
            data, ends = builder.finish()
            yield EncodedRecords(data=data, ends=ends)
        else:
            yield _encode_one_by_one(record, parts)


def conform_to(table: pa.Table, avro_schema: Mapping[str, Any]) -> pa.Table:
    """The columns of an Avro schema, found by name and cast to its types; null where the table has none.

    :raises BadRecordError: a value that does not fit its type, or a null where the schema has none.
    """
    record = resolve_names(avro_schema)
    schema = arrow_schema_of(record)
    columns = [_column_for(table, field) for field in record["fields"]]
    for field, column in zip(schema, columns, strict=True):
        if not field.nullable and column.null_count:
            raise BadRecordError(f"the column {field.name!r} has nulls, which its schema excludes")
    return pa.Table.from_arrays(columns, schema=schema)


def decode_records(
    buffer: bytes | memoryview, count: int, writer_schema: Mapping[str, Any] | WriterSchema, target_schema: pa.Schema
) -> pa.Table:
    """Decode ``count`` records, which begin at the start of ``buffer``, as columns of ``target_schema``.

    Columns are found by name, cast to the target's types, null where the writer had none; others are passed over.

    :raises CorruptTableError: the bytes are no such records.
    :raises UnsupportedTableError: a stored type can't become the target's.
    """
    view = memoryview(buffer)
    return decode_between(view, *record_bounds(view, count), writer_schema, target_schema)


def decode_between(
    buffer: memoryview,
    starts: _I64,
    ends: _I64,
    writer_schema: Mapping[str, Any] | WriterSchema,
    target_schema: pa.Schema,
) -> pa.Table:
    """The same of records whose :func:`record_bounds` are known."""
    written = writer_schema if isinstance(writer_schema, WriterSchema) else WriterSchema.of(writer_schema)
    record, stored = written.record, written.columns
    parts = _decode_by_columns if written.by_columns else _decode_one_by_one
    wanted = set(target_schema.names)
    found: dict[str, list[pa.Array[Any]]] = {field["name"]: [] for field in record["fields"] if field["name"] in wanted}
    room = FixedRoom(len(buffer))
    room.take(len(starts), [field.type for field in target_schema if field.name not in found])
    for columns in parts(buffer, starts, ends, record, wanted, room):
        for name, array in columns.items():
            found[name].append(array)
    return resolve_columns(
        {name: pa.chunked_array(arrays, stored.field(name).type) for name, arrays in found.items()},
        len(starts),
        target_schema,
    )


def resolve_columns(columns: Mapping[str, pa.ChunkedArray[Any]], count: int, target_schema: pa.Schema) -> pa.Table:
    """Stored columns as a table of the target schema: cast where the type differs, null where there is none.

    :raises UnsupportedTableError: a stored type can't become the target's.
    """
    arrays: list[Any] = []
    for field in target_schema:
        column = columns.get(field.name)
        if column is None:
            arrays.append(pa.nulls(count, field.type))
        elif column.type == field.type:
            arrays.append(column)
        else:
            arrays.append(_cast(column, field))
    return pa.Table.from_arrays(arrays, schema=target_schema)


def _cast(column: pa.ChunkedArray[Any], field: pa.Field[Any]) -> Any:
    try:
        return conform_values(column, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedTableError(
            f"the column {field.name!r} is stored as {column.type} and can't be read as {field.type} ({error})"
        ) from error


def record_bounds(buffer: memoryview, count: int) -> tuple[_I64, _I64]:
    """Where the binary forms of ``count`` records begin and end, the first of which stands at the start of ``buffer``.

    :raises CorruptTableError: so many records are not there.
    """
    if not 0 <= count <= len(buffer) // 4:
        raise CorruptTableError(f"a block of {len(buffer)} bytes has {count} Avro records")
    length_at = struct.Struct(">i").unpack_from
    starts = []
    at = 0
    try:
        for _ in range(count):
            starts.append(at + 4)
            at += 4 + length_at(buffer, at)[0]
    except struct.error:
        raise CorruptTableError(f"of {count} Avro records only {len(starts) - 1} are there") from None
    begins = np.array(starts, dtype=np.int64)
    ends = np.append(begins[1:] - 4, at) if count else begins
    if (ends < begins).any() or at > len(buffer):
        raise CorruptTableError("an Avro record has a length beyond its block")
    return begins, ends


def _decode_by_columns(
    buffer: memoryview, starts: _I64, ends: _I64, record: AvroType, wanted: set[str], room: FixedRoom
) -> Iterator[dict[str, pa.Array[Any]]]:
    begin = 0
    while begin < len(starts):
        end = int(np.searchsorted(ends, starts[begin] + _CHUNK_BYTES))
        end = min(max(end, begin + 1), begin + _CHUNK_RECORDS)
        first, last = int(starts[begin]), int(ends[end - 1])
        data = np.zeros(last - first + 2 * PADDING, dtype=np.uint8)
        data[PADDING:-PADDING] = np.frombuffer(buffer, dtype=np.uint8, count=last - first, offset=first)
        reader = ChunkReader(data, starts[begin:end] + (PADDING - first), ends[begin:end] + (PADDING - first), room)
        columns = {}
        try:
            for field in record["fields"]:
                array = reader.read(field["type"], field["name"] in wanted)
                if array is not None and field["name"] in wanted:
                    columns[field["name"]] = array
            reader.finish()
            yield columns
        except UnevenArraysError:
            yield from _decode_one_by_one(buffer, starts[begin:end], ends[begin:end], record, wanted, room)
        begin = end


def _decode_one_by_one(
    buffer: memoryview, starts: _I64, ends: _I64, record: AvroType, wanted: set[str], room: FixedRoom
) -> Iterator[dict[str, pa.Array[Any]]]:
    if not items_have_bytes(record):
        raise UnsupportedTableError("an Avro array of values without bytes has no bounds that a reader could check")
    parsed: Any = fastavro.parse_schema(_uniquely_named(_stored_form(record), itertools.count()))
    fields = [field for field in record["fields"] if field["name"] in wanted]
    begin = 0
    while begin < len(starts):
        end = int(np.searchsorted(ends, starts[begin] + _ROW_CHUNK_BYTES))
        end = min(max(end, begin + 1), begin + _CHUNK_RECORDS)
        rows: list[Any] = []
        for start, stop in zip(starts[begin:end].tolist(), ends[begin:end].tolist(), strict=True):
            stream = io.BytesIO(buffer[start:stop])
            try:
                rows.append(fastavro.schemaless_reader(stream, parsed, None))
            except (EOFError, IndexError, ValueError, ArithmeticError) as error:
                raise CorruptTableError(f"an Avro record does not fit its schema ({error})") from error
            if stream.tell() != stop - start:
                raise CorruptTableError("an Avro record is longer than the fields of its schema")
        columns = {}
        for field in fields:
            stored = arrow_type_of(split_nullable(_stored_form(field["type"]))[0])
            room.take_for(field["type"], (row[field["name"]] for row in rows))
            try:
                array = pa.array([row[field["name"]] for row in rows], stored)
                columns[field["name"]] = array.cast(arrow_type_of(split_nullable(field["type"])[0]))
            except (pa.ArrowException, OverflowError) as error:
                raise CorruptTableError(
                    f"the column {field['name']!r} holds a value beyond its type ({error})"
                ) from error
        yield columns
        begin = end


def _encode_one_by_one(record: AvroType, columns: list[pa.Array[Any]]) -> EncodedRecords:
    parsed: Any = fastavro.parse_schema(_uniquely_named(_stored_form(record), itertools.count()))
    names = [field["name"] for field in record["fields"]]
    values = []
    for field, column in zip(record["fields"], columns, strict=True):
        stored: Any = column.cast(arrow_type_of(split_nullable(_stored_form(field["type"]))[0]))
        values.append(stored.to_pylist(maps_as_pydicts="strict"))
    out = io.BytesIO()
    ends = []
    for row in zip(*values, strict=True):
        start = out.tell()
        out.write(b"\0\0\0\0")
        try:
            fastavro.schemaless_writer(out, parsed, dict(zip(names, row, strict=True)))
        except (TypeError, ValueError) as error:
            raise BadRecordError(f"a row does not fit the Avro schema ({error})") from error
        end = out.tell()
        out.seek(start)
        out.write(struct.pack(">i", end - start - 4))
        out.seek(end)
        ends.append(end)
    return EncodedRecords(data=memoryview(out.getbuffer()), ends=np.array(ends, dtype=np.int64))


def _stored_form(avro: AvroType) -> AvroType:
    """The same type without logical types but decimal: dates and times as numbers have no bounds that Python's lack."""
    if isinstance(avro, list):
        return [_stored_form(branch) for branch in avro]
    if isinstance(avro, str):
        return avro
    result = dict(avro)
    if result.get("logicalType") != "decimal":
        result.pop("logicalType", None)
    for key in ("items", "values"):
        if key in result:
            result[key] = _stored_form(result[key])
    if "fields" in result:
        result["fields"] = [{**field, "type": _stored_form(field["type"])} for field in result["fields"]]
    return result


def _uniquely_named(avro: AvroType, numbers: Iterator[int]) -> AvroType:
    """The same type with a name of its own for each named type: resolving references repeated their definitions."""
    if isinstance(avro, list):
        return [_uniquely_named(branch, numbers) for branch in avro]
    if isinstance(avro, str):
        return avro
    result = {key: value for key, value in avro.items() if key not in ("namespace", "aliases")}
    if "name" in result:
        result["name"] = f"type{next(numbers)}"
    for key in ("items", "values"):
        if key in result:
            result[key] = _uniquely_named(result[key], numbers)
    if "fields" in result:
        result["fields"] = [{**field, "type": _uniquely_named(field["type"], numbers)} for field in result["fields"]]
    return result


def _column_for(table: pa.Table | pa.RecordBatch, field: Mapping[str, Any]) -> Any:
    kind: Any = arrow_type_of(split_nullable(field["type"])[0])
    place = table.schema.get_field_index(field["name"])
    if place < 0:
        return pa.nulls(table.num_rows, kind)
    column = table.column(place)
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadRecordError(f"the column {field['name']!r} does not fit the type {kind} ({error})") from error


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
