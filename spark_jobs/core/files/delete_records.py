"""The content of delete blocks, version 3 (1 and 2 are read only): keys, partition paths and ordering values.

Source: ``org.apache.hudi.common.table.log.block.HoodieDeleteBlock``, ``HoodieDeleteRecord.avsc`` and the wrappers of
``HoodieAvroUtils.wrapValueIntoAvro``.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_decode import PADDING, FlatReader
from spark_jobs.core.files.avro_encode import RecordBuilder
from spark_jobs.core.files.kryo_deletes import Delete, decode_kryo_deletes, decode_kryo_keys
from spark_jobs.core.files.log_block import CONTENT_VERSION

Strings: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Orderings: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"

_HEAD = struct.Struct(">ii")
_WRAPPER_SCALE = 15
_KEYS_VERSION, _KRYO_RECORDS_VERSION = 1, 2
"""To Hudi 0.12 HoodieKey[], in 0.13 DeleteRecord[] (HoodieDeleteBlock.deserialize)."""


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
_WRAPPER_NAMES = [wrapper["name"] for wrapper in _WRAPPERS]
_WIDTHS: list[int | None] = [1, 0, 0, 4, 8, None, None, 0, None, 0, 0]
"""Bytes of the value in each wrapper; 0 for a number of varying length, None for one with its length in front."""
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
    for Integer, int64 for Long (timestamps are stored so), date32 for LocalDate, decimal for BigDecimal, string for
    String, large_string for Avro's Utf8 (which blocks of version 2 alone have), timestamp for Instant, null where a
    delete has none.
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
    """The deletes of a block, by the class of their ordering values; in the order of the block within a class.

    :raises UnsupportedTableError: a block of another version, or of version 2 with ordering values of a rare class.
    :raises CorruptTableError: the content is no such list.
    """
    if len(content) < _HEAD.size:
        raise CorruptTableError(f"a delete block has {len(content)} bytes of content")
    version, length = _HEAD.unpack_from(content)
    if version == _KEYS_VERSION:
        return [_of_keys(decode_kryo_keys(_body(content, length)))]
    if version == _KRYO_RECORDS_VERSION:
        return _by_class(decode_kryo_deletes(_body(content, length)))
    if version != CONTENT_VERSION:
        raise UnsupportedTableError(
            f"a DELETE_BLOCK has content version {version}, this release reads {CONTENT_VERSION}"
        )
    body = _body(content, length)
    try:
        starts, branches = _record_starts(body)
    except IndexError:
        raise CorruptTableError("a delete block ends within a record") from None
    data = np.zeros(len(body) + 2 * PADDING, dtype=np.uint8)
    data[PADDING:-PADDING] = np.frombuffer(body, dtype=np.uint8)
    begins = np.array(starts, dtype=np.int64) + PADDING
    ends = np.full(len(begins), len(body) + PADDING, dtype=np.int64)
    kinds = np.frombuffer(branches, dtype=np.uint8)
    _, firsts = np.unique(kinds, return_index=True)
    groups = (np.flatnonzero(kinds == kinds[first]) for first in np.sort(firsts))
    return [_records(FlatReader(data, begins[rows], ends[rows]), int(kinds[rows[0]])) for rows in groups]


def _body(content: bytes, length: int) -> bytes:
    if not 0 <= length <= len(content) - _HEAD.size:
        raise CorruptTableError(f"a delete block of {len(content)} bytes says that its records have {length}")
    return content[_HEAD.size : _HEAD.size + length]


def _of_keys(keys: list[tuple[str | None, str | None]]) -> DeleteRecords:
    """Deletes without ordering values of their own: like the delete operation's they have the int 0."""
    return DeleteRecords(
        keys=pa.array([key for key, _ in keys], pa.string()),
        partitions=pa.array([partition for _, partition in keys], pa.string()),
        orderings=pa.array(np.zeros(len(keys), np.int32)),
    )


def _by_class(deletes: list[Delete]) -> list[DeleteRecords]:
    """Deletes by the class of their ordering values, in their order within a class."""
    kinds = list(dict.fromkeys(ordering.kind if ordering else pa.null() for _, _, ordering in deletes))
    found = []
    for kind in kinds:
        chosen = [one for one in deletes if (one[2].kind if one[2] else pa.null()) == kind]
        values = [ordering.value if ordering else None for _, _, ordering in chosen]
        keys = pa.array([key for key, _, _ in chosen], pa.string())
        if keys.null_count:
            raise CorruptTableError("a delete record has no key")
        partitions = pa.array([partition for _, partition, _ in chosen], pa.string())
        found.append(DeleteRecords(keys=keys, partitions=partitions, orderings=pa.array(values, kind)))
    return found


def _record_starts(body: bytes) -> tuple[list[int], bytearray]:
    """Where each record begins, and its branch of the ordering value; records tell their length only to one who walks
    through them.

    :raises IndexError: the body ends too early.
    """
    starts: list[int] = []
    branches = bytearray()
    at = 0
    while True:
        count, at = _long(body, at)
        if count < 0:
            count = -count
            _, at = _long(body, at)
        if count == 0:
            return starts, branches
        if count > len(body) - at:
            raise CorruptTableError(f"a delete block of {len(body)} bytes says that it has {count} records")
        for _ in range(count):
            starts.append(at)
            for _ in range(2):
                if body[at] == 0:
                    at += 1
                    continue
                size, at = _long(body, at + 1)
                at = _behind(body, at, size)
            branch = body[at]
            if branch & 1 or branch > 2 * len(_WRAPPERS):
                raise CorruptTableError("a delete record has an ordering value of an unknown class")
            branches.append(branch)
            at += 1
            if branch == 0:
                continue
            width = _WIDTHS[branch // 2 - 1]
            if width is None:
                size, at = _long(body, at)
                at = _behind(body, at, size)
            elif width:
                at = _behind(body, at, width)
            else:
                _, at = _long(body, at)


def _behind(body: bytes, at: int, size: int) -> int:
    if not 0 <= size <= len(body) - at:
        raise CorruptTableError("a delete record leads out of its block")
    return at + size


def _long(body: bytes, at: int) -> tuple[int, int]:
    """An Avro long, and where it ends."""
    byte = body[at]
    at += 1
    if byte < 0x80:
        return byte >> 1 ^ -(byte & 1), at
    value, shift = byte & 0x7F, 7
    while byte >= 0x80:
        if shift > 63:
            raise CorruptTableError("a delete block has a number of more than 64 bits")
        byte = body[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value >> 1 ^ -(value & 1), at


def _records(reader: FlatReader, branch: int) -> DeleteRecords:
    keys: Any = reader.read(_FIELDS[0]["type"], True)
    partitions: Any = reader.read(_FIELDS[1]["type"], True)
    reader.skip(1)
    orderings: Any
    if branch == 0:
        orderings = pa.nulls(len(keys))
    else:
        wrapper = _WRAPPERS[branch // 2 - 1]
        stored: Any = reader.read(wrapper["fields"][0]["type"], True)
        orderings = stored.cast(_ARROW_OF_WRAPPER[wrapper["name"]])
    if keys.null_count:
        raise CorruptTableError("a delete record has no key")
    return DeleteRecords(keys=keys, partitions=partitions, orderings=orderings)


def _wrapped(values: Any) -> tuple[str, Any]:
    """The wrapper of a column's type, and the column as that stores it."""
    kind = values.type
    try:
        if isinstance(kind, pa.TimestampType):
            stored = kind if kind.unit in ("ms", "us") else pa.timestamp("us", tz=kind.tz)  # as Avro has it
            return "LongWrapper", values.cast(stored, safe=False).cast(pa.int64())
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
