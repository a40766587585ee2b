"""The content of delete blocks, version 3: keys, partition paths and ordering values.

Source: ``org.apache.hudi.common.table.log.block.HoodieDeleteBlock``, ``HoodieDeleteRecord.avsc`` and the wrappers of
``HoodieAvroUtils.wrapValueIntoAvro``.
"""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import fastavro
import pyarrow as pa

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_encode import RecordBuilder
from spark_jobs.core.files.log_block import CONTENT_VERSION

Strings: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Orderings: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"

_HEAD = struct.Struct(">ii")
_WRAPPER_SCALE = 15


def _wrapper(name: str, kind: object) -> dict[str, Any]:
    return {"type": "record", "name": f"{name}Wrapper", "fields": [{"name": "value", "type": kind}]}


def _logical(kind: str, name: str, **more: int) -> dict[str, object]:
    return {"type": kind, "logicalType": name, **more}


_WRAPPERS = [
    _wrapper("Boolean", "boolean"),
    _wrapper("Int", "int"),
    _wrapper("Long", "long"),
    _wrapper("Float", "float"),
    _wrapper("Double", "double"),
    _wrapper("Bytes", "bytes"),
    _wrapper("String", "string"),
    _wrapper("Date", "int"),
    _wrapper("Decimal", _logical("bytes", "decimal", precision=30, scale=_WRAPPER_SCALE)),
    _wrapper("TimeMicros", "long"),
    _wrapper("TimestampMicros", "long"),
]
_FIELDS: list[dict[str, Any]] = [
    {"name": "recordKey", "type": ["null", "string"], "default": None},
    {"name": "partitionPath", "type": ["null", "string"], "default": None},
    {"name": "orderingVal", "type": ["null", *_WRAPPERS], "default": None},
]
_RECORD = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "namespace": "org.apache.hudi.avro.model",
    "fields": _FIELDS,
}
_LIST = {
    "type": "record",
    "name": "HoodieDeleteRecordList",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [{"name": "deleteRecordList", "type": {"type": "array", "items": _RECORD}}],
}
_PARSED: Any = fastavro.parse_schema(_LIST)
_WRAPPER_NAMES = [wrapper["name"] for wrapper in _WRAPPERS]
_ARROW_OF_WRAPPER: dict[str, pa.DataType] = {
    "BooleanWrapper": pa.bool_(),
    "IntWrapper": pa.int32(),
    "LongWrapper": pa.int64(),
    "FloatWrapper": pa.float32(),
    "DoubleWrapper": pa.float64(),
    "BytesWrapper": pa.binary(),
    "StringWrapper": pa.string(),
    "DateWrapper": pa.date32(),
    "DecimalWrapper": pa.decimal128(30, 15),
    "TimeMicrosWrapper": pa.time64("us"),
    "TimestampMicrosWrapper": pa.timestamp("us", tz="UTC"),
}

_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, "BooleanWrapper"),
    (pa.types.is_float32, "FloatWrapper"),
    (pa.types.is_float64, "DoubleWrapper"),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "StringWrapper"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "BytesWrapper"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords:
    """Some deletes in the order of their block; the three arrays have one length.

    The type of ``orderings`` tells Java's class of the ordering values, which are compared within one class only: int32
    for Integer, int64 for Long (timestamps are stored so), null where a delete has none.
    """

    keys: pa.Array[Any]
    partitions: pa.Array[Any]
    orderings: pa.Array[Any]


def encode_delete_records(keys: Strings, partitions: Strings | str, orderings: Orderings | None) -> bytes:
    """The content of a delete block.

    :param partitions: the partition path of each key, or the one of all.
    :param orderings: None for deletes in natural order (the int 0 in every record); a null array for none at all.
    :raises BadRecordError: a null key, arrays of different lengths, an ordering type that Hudi has no wrapper for.
    """
    key_array = _one_array(keys).cast(pa.string())
    count = len(key_array)
    paths = pa.repeat(partitions, count) if isinstance(partitions, str) else _one_array(partitions).cast(pa.string())
    values: Any = pa.repeat(pa.scalar(0, pa.int32()), count) if orderings is None else _one_array(orderings)
    if len(paths) != count or len(values) != count:
        raise BadRecordError(
            f"{count} deleted keys came with {len(paths)} partitions and {len(values)} ordering values"
        )
    if key_array.null_count:
        raise BadRecordError(f"{key_array.null_count} keys to delete are null", todo="give every row a key")
    if count == 0:
        body = b"\0"
    else:
        records: bytes | memoryview
        if pa.types.is_null(values.type) or values.null_count == count:
            records = _encode(key_array, paths, None, None)
        elif values.null_count:
            records = _encode_mixed(key_array, paths, values)
        else:
            records = _encode(key_array, paths, *_wrapped(values))
        body = b"".join([_zigzag(count), records, b"\0"])
    return _HEAD.pack(CONTENT_VERSION, len(body)) + body


def decode_delete_records(content: bytes) -> list[DeleteRecords]:
    """The deletes of a block, in runs of one class of ordering values.

    :raises UnsupportedTableError: a block of version 1 or 2, which hold Kryo-serialised Java objects.
    :raises CorruptTableError: the content is no such list.
    """
    if len(content) < _HEAD.size:
        raise CorruptTableError(f"a delete block has {len(content)} bytes of content")
    version, length = _HEAD.unpack_from(content)
    if version != CONTENT_VERSION:
        raise UnsupportedTableError(
            f"a DELETE_BLOCK has content version {version}, which holds Java objects",
            todo="compact the table with its own Hudi first",
        )
    stream = io.BytesIO(content[_HEAD.size : _HEAD.size + length])
    try:
        parsed: Any = fastavro.schemaless_reader(stream, _PARSED, None, return_record_name=True)
    except (EOFError, IndexError, ValueError, OverflowError) as error:
        raise CorruptTableError(f"a delete block is not readable ({error})") from error
    return [_run(name, list(records)) for name, records in itertools.groupby(parsed["deleteRecordList"], _wrapper_name)]


def _wrapper_name(record: Any) -> str | None:
    ordering = record["orderingVal"]
    return None if ordering is None else str(ordering[0]).rpartition(".")[2]


def _run(name: str | None, records: list[Any]) -> DeleteRecords:
    orderings: Any
    if name is None:
        orderings = pa.nulls(len(records))
    else:
        stored = [record["orderingVal"][1]["value"] for record in records]
        kind: Any = _ARROW_OF_WRAPPER[name]
        raw: Any = {"DateWrapper": pa.int32(), "TimeMicrosWrapper": pa.int64(), "TimestampMicrosWrapper": pa.int64()}
        orderings = pa.array(stored, raw.get(name, kind)).cast(kind)
    return DeleteRecords(
        keys=pa.array([record["recordKey"] for record in records], pa.string()),
        partitions=pa.array([record["partitionPath"] for record in records], pa.string()),
        orderings=orderings,
    )


def _wrapped(values: Any) -> tuple[str, Any]:
    """The wrapper of a column's type, and the column as that stores it."""
    kind = values.type
    try:
        if isinstance(kind, pa.TimestampType):
            return "LongWrapper", values.cast(pa.timestamp("us", tz=kind.tz), safe=False).cast(pa.int64())
        if pa.types.is_decimal(kind):
            return "DecimalWrapper", values.cast(_ARROW_OF_WRAPPER["DecimalWrapper"])
        if pa.types.is_date(kind):
            return "DateWrapper", values.cast(pa.date32()).cast(pa.int32())
        if pa.types.is_integer(kind):
            name = "LongWrapper" if pa.types.is_int64(kind) or pa.types.is_uint32(kind) else "IntWrapper"
            return name, values.cast(_ARROW_OF_WRAPPER[name])
        for accepts, name in _PLAIN:
            if accepts(kind):
                return name, values.cast(_ARROW_OF_WRAPPER[name])
    except pa.ArrowInvalid as error:
        raise BadRecordError(f"an ordering value of type {kind} does not fit a delete block ({error})") from error
    raise BadRecordError(
        f"a delete block has no ordering values of type {kind}", todo="choose another precombine field"
    )


def _encode(keys: Any, partitions: Any, wrapper: str | None, values: Any) -> memoryview:
    builder = RecordBuilder(len(keys), length_prefix=False)
    builder.write(_FIELDS[0], keys)
    builder.write(_FIELDS[1], partitions)
    if wrapper is None:
        builder.write_byte(0)
    else:
        branch = _WRAPPER_NAMES.index(wrapper)
        builder.write_byte(2 * (branch + 1))
        builder.write(_WRAPPERS[branch]["fields"][0], values)
    return builder.finish()[0]


def _encode_mixed(keys: Any, partitions: Any, values: Any) -> bytes:
    """Values of which some are null, in runs of either."""
    valid = values.is_valid().to_pylist()
    pieces: list[memoryview] = []
    at = 0
    for has_value, run in itertools.groupby(valid):
        size = sum(1 for _ in run)
        part = _wrapped(values.slice(at, size)) if has_value else (None, None)
        pieces.append(_encode(keys.slice(at, size), partitions.slice(at, size), *part))
        at += size
    return b"".join(pieces)


def _zigzag(number: int) -> bytes:
    """A count (not negative) as Avro's long."""
    rest, result = number << 1, bytearray()
    while rest >= 0x80:
        result.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*result, rest])


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
