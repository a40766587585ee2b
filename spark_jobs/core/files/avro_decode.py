"""Avro binary records to Arrow, column after column over many records at once.

All records of a chunk advance together: one numpy operation reads the same field of each (Avro specification, "Binary
encoding"). ``avro_nested`` builds records, arrays and maps on this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.schema.avro import arrow_type_of
from spark_jobs.core.schema.avro_names import AvroType, split_nullable

PADDING = 32
"""Bytes before and after a chunk that whole-word reads may touch."""

Bytes = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]
_U64 = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_] | None
"""True where a value is present; None where all are."""

_HIGH_BITS = np.uint64(0x8080808080808080)
_BYTE_NUMBERS = np.uint64(0x0001020304050607)


class FlatReader:
    """The records of one chunk and, for each, the place of its next field; reads types without types inside.

    :param data: the chunk with ``PADDING`` bytes before and after.
    :param starts: where each record begins in ``data``, ascending.
    :param ends: where each record ends.
    """

    def __init__(self, data: Bytes, starts: I64, ends: I64) -> None:
        self._data = data
        self._at = starts.copy()
        self._ends = ends
        self._count = len(starts)
        self._even = np.arange(0, 2 * self._count, 2, dtype=np.int64)

    def read(self, avro: AvroType, wanted: bool) -> pa.Array[Any] | None:
        """Read one value of all records (pass over it where it is not ``wanted``, giving None).

        :raises CorruptTableError: what stands there can't be of this type.
        """
        kind, null_at = split_nullable(avro)
        present = None if null_at is None else self._branch(null_at)
        return self._value({"type": kind} if isinstance(kind, str) else kind, present, wanted)

    def _value(self, avro: Mapping[str, Any], present: Mask, wanted: bool) -> pa.Array[Any] | None:
        name, decimal = avro["type"], avro.get("logicalType") == "decimal"
        result: pa.Array[Any] | None
        if name in ("string", "bytes") or (name == "fixed" and not decimal):
            size = avro["size"] if name == "fixed" else None
            lengths = self._lengths(present) if size is None else self._fixed_lengths(size, present)
            if decimal:
                result = self._decimals(arrow_type_of(avro), lengths, present) if wanted else None
            else:
                result = self._texts(name, size, lengths, present) if wanted else None
            self._advance(lengths, None)
        elif name == "fixed":
            lengths = self._fixed_lengths(avro["size"], present)
            result = self._decimals(arrow_type_of(avro), lengths, present) if wanted else None
            self._advance(lengths, None)
        elif name in ("int", "long", "enum"):
            numbers = self._numbers(present)
            if name == "enum":
                result = _symbols(numbers, avro["symbols"], present)
            else:
                result = self._plain(arrow_type_of(avro), numbers, present) if wanted else None
        elif name == "boolean":
            result = self._plain(pa.bool_(), self._data[self._at], present) if wanted else None
            self._advance(1, present)
        else:
            width = 4 if name == "float" else 8
            values = self._words(f"<f{width}")[self._at]
            result = self._plain(arrow_type_of(avro), values, present) if wanted else None
            self._advance(width, present)
        return result

    def skip(self, count: int) -> None:
        """Pass over some bytes of all records."""
        self._advance(count, None)

    def finish(self) -> None:
        """:raises CorruptTableError: a record has bytes behind its last field."""
        if not np.array_equal(self._at, self._ends):
            raise CorruptTableError("an Avro record is longer than the fields of its schema")

    def _words(self, dtype: str) -> npt.NDArray[Any]:
        """All (unaligned) words of the chunk, indexed by their first byte."""
        size = np.dtype(dtype).itemsize
        return np.ndarray(shape=(len(self._data) - size + 1,), dtype=dtype, buffer=self._data, strides=(1,))

    def _advance(self, by: I64 | int, present: Mask) -> None:
        self._at += by if present is None else by * present
        if (self._at > self._ends).any():
            raise CorruptTableError("an Avro record ends within a field of its schema")

    def _branch(self, null_at: int) -> Mask:
        branch = self._data[self._at]
        self._advance(1, None)
        present: npt.NDArray[np.bool_] = branch == (2 if null_at == 0 else 0)
        if present.all():
            return None
        if (branch[~present] != (0 if null_at == 0 else 2)).any():
            raise CorruptTableError("an Avro record chooses a branch that its union does not have")
        return present

    def _numbers(self, present: Mask) -> I64:
        """Zigzag varints; what stands at absent places is arbitrary."""
        first = self._data[self._at]
        more = first >= 0x80 if present is None else (first >= 0x80) & present
        if not more.any():
            raw: _U64 = first.astype(np.uint64)
            self._advance(1, present)
        else:
            raw, widths = self._long_varints(present)
            self._advance(widths, present)
        return (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)

    def _long_varints(self, present: Mask) -> tuple[_U64, I64]:
        """Varints of up to 10 bytes: the first 8 as one word whose groups of 7 bits are pushed together."""
        word: _U64 = self._words("<u8")[self._at]
        stop = ~word & _HIGH_BITS
        lowest = stop & (~stop + np.uint64(1))
        bits = word & (lowest - np.uint64(1)) & ~_HIGH_BITS
        for shift, keep in ((1, 0x007F007F007F007F), (2, 0x00003FFF00003FFF), (4, 0x000000000FFFFFFF)):
            moved = ~np.uint64(keep)
            bits = (bits & np.uint64(keep)) | ((bits & moved) >> np.uint64(shift))
        widths = (((lowest >> np.uint64(7)) * _BYTE_NUMBERS) >> np.uint64(56)).astype(np.int64) + 1
        longer = np.flatnonzero(stop == 0 if present is None else (stop == 0) & present)
        if len(longer):
            ninth = self._data[self._at[longer] + 8].astype(np.uint64)
            tenth = self._data[self._at[longer] + 9].astype(np.uint64)
            goes_on = ninth >= 0x80
            if (goes_on & (tenth > 1)).any():
                raise CorruptTableError("an Avro number is longer than 64 bits")
            bits[longer] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
            bits[longer] |= np.where(goes_on, tenth, np.uint64(0)) << np.uint64(63)
            widths[longer] = np.where(goes_on, 10, 9)
        return bits, widths

    def _lengths(self, present: Mask) -> I64:
        lengths = self._numbers(present)
        if present is not None:
            lengths = lengths * present
        if (lengths < 0).any() or (lengths > self._ends - self._at).any():
            raise CorruptTableError("an Avro string is longer than its record")
        return lengths

    def _fixed_lengths(self, size: int, present: Mask) -> I64:
        lengths = np.full(self._count, size, dtype=np.int64)
        lengths = lengths if present is None else lengths * present
        if (lengths > self._ends - self._at).any():
            raise CorruptTableError("an Avro fixed is longer than its record")
        return lengths

    def _texts(self, name: str, size: int | None, lengths: I64, present: Mask) -> pa.Array[Any]:
        """Arrow takes the texts from an array of text, gap, text, gap ... that lies over the chunk itself."""
        offsets = np.empty(2 * self._count + 1, dtype=np.int32)
        offsets[0:-1:2] = self._at
        offsets[1::2] = self._at + lengths
        offsets[-1] = offsets[-2]
        buffers: list[Any] = [None, _arrow_buffer(offsets), _arrow_buffer(self._data)]
        both: pa.Array[Any] = pa.Array.from_buffers(pa.binary(), 2 * self._count, buffers)
        places: Any = pa.array(self._even, mask=None if present is None else ~present)
        texts: pa.Array[Any] = both.take(places)
        if size is not None:
            return texts.cast(pa.binary(size))
        try:
            return texts.cast(pa.string()) if name == "string" else texts
        except pa.ArrowInvalid as error:
            raise CorruptTableError(f"an Avro string is no UTF-8 ({error})") from error

    def _decimals(self, kind: pa.DataType, lengths: I64, present: Mask) -> pa.Array[Any]:
        """Big-endian two's complement of up to 16 bytes each, read as the two words before its end."""
        if (lengths > 16).any():
            raise CorruptTableError("an Avro decimal has more than 16 bytes")
        words = self._words(">i8")
        ends = self._at + lengths
        low: I64 = words[ends - 8].astype(np.int64)
        high: I64 = words[ends - 16].astype(np.int64)
        cut_low = np.clip(64 - 8 * lengths, 0, 56)
        cut_high = np.clip(128 - 8 * lengths, 0, 56)
        low = (low << cut_low) >> cut_low
        low[lengths == 0] = 0
        high = np.where(lengths <= 8, low >> 63, (high << cut_high) >> cut_high)
        return self._plain(kind, np.ascontiguousarray(np.stack([low, high], axis=1)), present)

    def _plain(self, kind: pa.DataType, values: npt.NDArray[Any], present: Mask) -> pa.Array[Any]:
        validity = None if present is None else _arrow_buffer(np.packbits(present, bitorder="little"))
        if pa.types.is_boolean(kind):
            content = _arrow_buffer(np.packbits(values, bitorder="little"))
        elif pa.types.is_int32(kind) or pa.types.is_date32(kind) or pa.types.is_time32(kind):
            content = _arrow_buffer(values.astype(np.int32))
        else:
            content = _arrow_buffer(values)
        buffers: list[Any] = [validity, content]
        array: pa.Array[Any] = pa.Array.from_buffers(kind, self._count, buffers)
        return array


def _arrow_buffer(values: Any) -> pa.Buffer:
    return pa.py_buffer(values)


def _symbols(numbers: I64, symbols: list[str], present: Mask) -> pa.Array[Any]:
    inside = (numbers >= 0) & (numbers < len(symbols))
    if not (inside if present is None else inside | ~present).all():
        raise CorruptTableError("an Avro record has an enum value that its schema does not have")
    places: Any = pa.array(numbers, mask=None if present is None else ~present)
    result: pa.Array[Any] = pa.array(symbols, pa.string()).take(places)
    return result
