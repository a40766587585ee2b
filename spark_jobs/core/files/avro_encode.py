"""Arrow to Avro binary records, column after column over many records at once.

A record is cut into strings, which Arrow copies, and the glue between them (union branches, numbers, string lengths),
which numpy builds in rows of equal width; at the end Arrow joins both, record by record. What is inside of arrays, maps
and nullable records is encoded first, all items behind each other, and then is a string of each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.avro_names import AvroType, split_nullable

_I64 = npt.NDArray[np.int64]
_U64 = npt.NDArray[np.uint64]
_Mask = npt.NDArray[np.bool_] | None
"""True where a value is present; None where all are."""

_Width = _I64 | int
_CONTINUES = np.uint64(0x8080808080808080)


class RecordBuilder:
    """``count`` records, built field by field; each begins with its length (4 bytes, big-endian) if it shall."""

    def __init__(self, count: int, *, length_prefix: bool = True) -> None:
        self._count = count
        self._length_prefix = length_prefix
        self._parts: list[_Glue | pa.Array[Any]] = []
        self._glue = _Glue(count)
        if length_prefix:
            self._glue.append(np.zeros(count, dtype=np.uint64), 4)

    def write_byte(self, value: int) -> None:
        """Append the same byte to all records."""
        self._glue.append(np.full(self._count, value, dtype=np.uint64), 1)

    def write(self, field: Mapping[str, Any], column: pa.Array[Any]) -> None:
        """Append one field of all records; ``column`` has the Arrow type of the field already.

        :raises BadRecordError: a null where the schema has none, a value that an enum does not have.
        """
        self._write(field["type"], column, field["name"])

    def _write(self, union: AvroType, column: pa.Array[Any], label: str) -> None:
        kind, null_at = split_nullable(union)
        if null_at is None and column.null_count and kind != "null":
            raise BadRecordError(f"the column {label!r} has nulls, which its schema excludes")
        present: _Mask = None
        if column.null_count:
            present = pc.is_valid(column).to_numpy(zero_copy_only=False)
        avro: dict[str, Any] = {"type": kind} if isinstance(kind, str) else kind
        branch = None if null_at is None else (2 if null_at == 0 else 0)
        name = avro["type"]
        if avro.get("logicalType") == "decimal":
            self._decimals(avro, column, branch, present)
        elif name in ("string", "bytes", "fixed"):
            self._texts(column, branch, present, prefixed=name != "fixed")
        elif name in ("int", "long", "enum"):
            numbers = _places(column, avro["symbols"], label) if name == "enum" else _values(column)
            self._varints(numbers, branch, present)
        elif name == "boolean":
            flags: Any = _filled(column, False)
            self._word(flags.to_numpy(zero_copy_only=False).astype(np.uint64), 1, branch, present)
        elif name == "record":
            self._record(avro, column, branch, present, label)
        elif name in ("array", "map"):
            self._items(avro, column, branch, present, label)
        elif name == "null":
            if null_at is not None:
                self.write_byte(0)
        else:
            bits = _buffer(column, np.uint32 if name == "float" else np.uint64)
            self._word(bits.astype(np.uint64), 4 if name == "float" else 8, branch, present)

    def _record(self, avro: AvroType, column: pa.Array[Any], branch: int | None, present: _Mask, label: str) -> None:
        if branch is not None:
            self._word(np.zeros(self._count, dtype=np.uint64), 0, branch, present)
        if present is None:
            self._fields(avro, column, label)
            return
        rows: Any = column.filter(pa.array(present))
        inner = RecordBuilder(len(rows), length_prefix=False)
        inner._fields(avro, rows, label)
        self._append(inner, np.cumsum(present))

    def _fields(self, avro: AvroType, column: Any, label: str) -> None:
        for place, (field, child) in enumerate(zip(avro["fields"], column.flatten(), strict=True)):
            self._write(field["type"], child, f"{label}.{column.type.field(place).name}")

    def _items(self, avro: AvroType, column: Any, branch: int | None, present: _Mask, label: str) -> None:
        """One Avro block of all items where there are some, then the count 0, which ends it."""
        lengths: _I64 = _filled(pc.list_value_length(_as_list(column)), 0).to_numpy().astype(np.int64)
        self._varints(lengths, branch, present)
        items: Any = _as_list(column).flatten()
        inner = RecordBuilder(len(items), length_prefix=False)
        if avro["type"] == "map":
            keys, values = items.flatten()
            inner._write("string", keys, f"{label}.key")
            inner._write(avro["values"], values, f"{label}.value")
        else:
            inner._write(avro["items"], items, f"{label}.element")
        self._append(inner, np.cumsum(lengths))
        self._glue.append(np.zeros(self._count, dtype=np.uint64), (lengths > 0).astype(np.int64))

    def _append(self, inner: RecordBuilder, counts: _I64) -> None:
        """Append the records of ``inner``: ``counts`` tells how many of them all records up to each have together."""
        data, ends = inner.finish()
        stops: _I64 = np.concatenate([[0], ends]).astype(np.int64)
        offsets = np.concatenate([[0], stops[counts]]).astype(np.int64)
        buffers: list[Any] = [None, _arrow_buffer(offsets), _arrow_buffer(data)]
        self._parts += [self._glue, pa.Array.from_buffers(pa.large_binary(), self._count, buffers)]
        self._glue = _Glue(self._count)

    def finish(self) -> tuple[memoryview, _I64]:
        """The bytes of all records, and where each ends in them."""
        if not self._count:
            return memoryview(b""), np.zeros(0, dtype=np.int64)
        parts = [*self._parts, self._glue]
        lengths = np.zeros(self._count, dtype=np.int64)
        for part in parts:
            lengths += part.widths if isinstance(part, _Glue) else _text_lengths(part)
        first = parts[0]
        if self._length_prefix and isinstance(first, _Glue):
            first.set_first((lengths - 4).astype(">u4"))
        pieces: list[Any] = [part.to_arrow() if isinstance(part, _Glue) else part for part in parts]
        joined: Any = pieces[0]
        if len(pieces) > 1:
            joined = pc.binary_join_element_wise(*pieces, pa.scalar(b"", pa.large_binary()))
        size = int(lengths.sum())
        content: Any = joined.buffers()[2]
        return memoryview(content)[:size] if size else memoryview(b""), np.cumsum(lengths)

    def _word(self, word: _U64, width: _Width, branch: int | None, present: _Mask) -> None:
        """Up to 8 bytes, after the branch byte; absent ones get the other branch and nothing else."""
        if branch is None:
            self._glue.append(word, width)
            return
        value, null = np.uint64(branch), np.uint64(2 - branch)
        widest = width if isinstance(width, int) else int(width.max(initial=0))
        if widest < 8:
            word, width = (word << np.uint64(8)) | value, width + 1
            if present is not None:
                word, width = np.where(present, word, null), np.where(present, width, 1)
            self._glue.append(word, width)
            return
        flags = np.full(self._count, value) if present is None else np.where(present, value, null)
        self._glue.append(flags, 1)
        self._glue.append(word, width if present is None else width * present)

    def _varints(self, numbers: _I64, branch: int | None, present: _Mask) -> None:
        zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
        if present is not None:
            zigzag = zigzag * present
        most = int(zigzag.max(initial=0))
        if most < 1 << 7:
            self._word(zigzag, 1, branch, present)
            return
        widths: _I64 = np.ones(len(zigzag), dtype=np.int64)
        for shift in range(7, most.bit_length(), 7):
            widths += zigzag >= np.uint64(1 << shift)
        if most < 1 << 56:
            self._word(_spread(zigzag, widths), widths, branch, present)
            return
        self._word(_spread(zigzag, widths), np.minimum(widths, 8), branch, present)
        high = zigzag >> np.uint64(56)
        top = zigzag >> np.uint64(63)
        last = (high & np.uint64(0x7F)) | (top << np.uint64(7)) | (top << np.uint64(8))
        self._glue.append(last, np.maximum(widths - 8, 0))

    def _texts(self, column: pa.Array[Any], branch: int | None, present: _Mask, *, prefixed: bool) -> None:
        texts: Any = column.cast(pa.large_binary())
        if present is not None:
            texts = _filled(texts, b"")
        if prefixed:
            self._varints(_text_lengths(texts), branch, present)
        elif branch is not None:
            self._word(np.zeros(self._count, dtype=np.uint64), 0, branch, present)
        self._parts += [self._glue, texts]
        self._glue = _Glue(self._count)

    def _decimals(self, avro: AvroType, column: pa.Array[Any], branch: int | None, present: _Mask) -> None:
        """Two's complement, big-endian: of the size of a fixed, else as short as BigInteger.toByteArray."""
        halves = _buffer(column, np.uint64, per_value=2).reshape(-1, 2)
        low, high = halves[:, 0], halves[:, 1]
        if avro["type"] == "fixed":
            sizes = np.full(self._count, avro["size"], dtype=np.int64)
        else:
            sizes = _fewest_bytes(low, high)
        if avro["type"] == "bytes":
            self._varints(sizes, branch, present)
        elif branch is not None:
            self._word(np.zeros(self._count, dtype=np.uint64), 0, branch, present)
        if present is not None:
            sizes = sizes * present
        in_low = np.minimum(sizes, 8)
        in_high = sizes - in_low
        if in_high.any():
            self._glue.append(_tail(high, in_high), in_high)
        self._glue.append(_tail(low, in_low), in_low)


class _Glue:
    """The bytes between two strings, in rows of equal width of which the first ``widths`` bytes count.

    Words are written left to right with all their 8 bytes: what one writes too much, the next overwrites.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._words: list[tuple[_U64, _Width]] = []
        self._first: npt.NDArray[Any] | None = None
        self.widths: _Width = 0

    def append(self, word: _U64, width: _Width) -> None:
        self._words.append((word, width))
        self.widths = self.widths + width

    def set_first(self, word: npt.NDArray[Any]) -> None:
        """Give the first word, of 4 bytes, its value."""
        self._first = word

    def to_arrow(self) -> pa.Array[Any]:
        stride = 8 + sum(width if isinstance(width, int) else int(width.max(initial=0)) for _, width in self._words)
        data = np.zeros(self._count * stride + 8, dtype=np.uint8)
        at: _I64 = np.arange(self._count, dtype=np.int64) * stride
        starts = at
        target = np.ndarray(shape=(len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
        for word, width in self._words:
            target[at] = word
            at = at + width
        if self._first is not None:
            rows = data[: self._count * stride].reshape(self._count, stride)
            rows[:, :4] = self._first.view(np.uint8).reshape(-1, 4)
        offsets = np.empty(2 * self._count + 1, dtype=np.int64)
        offsets[0:-1:2] = starts
        offsets[1::2] = at
        offsets[-1] = offsets[-2]
        buffers: list[Any] = [None, _arrow_buffer(offsets), _arrow_buffer(data)]
        both: Any = pa.Array.from_buffers(pa.large_binary(), 2 * self._count, buffers)
        glue: pa.Array[Any] = both.take(pa.array(np.arange(0, 2 * self._count, 2)))
        return glue


def _as_list(column: Any) -> Any:
    """A map as the list of structs that it is in memory; a list as it is."""
    if not pa.types.is_map(column.type):
        return column
    entries = pa.StructArray.from_arrays([column.keys, column.items], names=["key", "value"])
    buffers: list[Any] = column.buffers()[:2]
    return pa.Array.from_buffers(
        pa.list_(entries.type), len(column), buffers, column.null_count, column.offset, children=[entries]
    )


def _filled(column: Any, value: object) -> Any:
    return pc.fill_null(column, value)


def _arrow_buffer(values: Any) -> pa.Buffer:
    return pa.py_buffer(values)


def _spread(bits: _U64, widths: _I64) -> _U64:
    """The first 8 bytes of varints: groups of 7 bits pulled apart, all but the last byte with their high bit set."""
    low = bits & np.uint64((1 << 56) - 1)
    for shift, keep in ((4, 0x000000000FFFFFFF), (2, 0x00003FFF00003FFF), (1, 0x007F007F007F007F)):
        low = (low & np.uint64(keep)) | ((low & ~np.uint64(keep)) << np.uint64(shift))
    bytes_before_last = np.minimum(widths - 1, 7).astype(np.uint64) * np.uint64(8)
    continues = _CONTINUES & ((np.uint64(1) << bytes_before_last) - np.uint64(1))
    continues[widths > 8] = _CONTINUES
    return low | continues


def _tail(half: _U64, size: _I64) -> _U64:
    """The last ``size`` bytes of the big-endian form of words, ready to be stored little-endian; 0 bytes: anything."""
    cut = (np.uint64(8) - np.maximum(size, 1).astype(np.uint64)) * np.uint64(8)
    return half.byteswap() >> cut


def _fewest_bytes(low: _U64, high: _U64) -> _I64:
    sign = (high.view(np.int64) >> 63).view(np.uint64)
    low, high = low ^ sign, high ^ sign
    sizes: _I64 = np.ones(len(low), dtype=np.int64)
    for size in range(1, 16):
        bound = np.uint64(1 << (8 * (size - 1) % 64 + 7))
        sizes += (high > 0) | (low >= bound) if size <= 8 else high >= bound
    return sizes


def _buffer(column: pa.Array[Any], dtype: type[np.generic], per_value: int = 1) -> npt.NDArray[Any]:
    """The values of a column of fixed width without a copy; what stands at nulls is arbitrary."""
    content: Any = column.buffers()[1]
    if content is None:
        return np.zeros(len(column) * per_value, dtype=dtype)
    count = len(column) * per_value
    return np.frombuffer(content, dtype=dtype, count=count, offset=column.offset * per_value * np.dtype(dtype).itemsize)


def _values(column: pa.Array[Any]) -> _I64:
    width = column.type.bit_width
    return _buffer(column, np.int32 if width == 32 else np.int64).astype(np.int64)


def _places(column: pa.Array[Any], symbols: list[str], name: str) -> _I64:
    places = pc.index_in(column, pa.array(symbols, pa.string()))
    if places.null_count != column.null_count:
        raise BadRecordError(f"the column {name!r} has a value that its enum does not have")
    filled: Any = _filled(places, 0)
    numbers: _I64 = filled.to_numpy().astype(np.int64)
    return numbers


def _text_lengths(texts: Any) -> _I64:
    lengths: _I64 = pc.binary_length(texts).to_numpy()
    return lengths
