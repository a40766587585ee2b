"""Delete blocks of content versions 1 (Hudi 0.4 to 0.12) and 2 (0.13): an array serialised by Kryo 4.

The layout is Kryo's own for ``HoodieKey[]`` or ``DeleteRecord[]`` (Output, DefaultClassResolver, MapReferenceResolver,
ObjectArraySerializer and FieldSerializer with its fields by name), as Hudi's SerializationUtils used it:

    class            1, number of the name, and the name itself when its number is new
    reference        0 null, 1 an object that follows, n + 2 the object n, counted from 0 in the order of beginnings
    array            length + 1, then for each element: class, reference, and
    key              partitionPath and recordKey, each a reference and a text; or
    delete record    a key with class and reference before it, and the ordering value: its class, and the value

Lengths and numbers are variable-length integers of 7 bits a byte, the lowest first. An ordering value's class is 0 for
null, else the number that it is registered by, plus 2; or the name of a class as above.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TypeAlias

import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError

KEY_CLASS = "org.apache.hudi.common.model.HoodieKey"
OLD_KEY_CLASS = "com.uber.hoodie.common.model.HoodieKey"
RECORD_CLASS = "org.apache.hudi.common.model.DeleteRecord"
_CLASSES = {KEY_CLASS, OLD_KEY_CLASS}
_ARRAYS = {f"[L{name};" for name in _CLASSES}
_RECORD_ARRAYS = {f"[L{RECORD_CLASS};"}
_DECIMAL_CLASS = "java.math.BigDecimal"
_NAMED = 1
_INT, _STRING, _FLOAT, _BOOLEAN, _LONG, _DOUBLE, _AVRO_TEXT = 2, 3, 4, 5, 9, 10, 29
"""Numbers of registered classes, plus 2: Kryo's own, and Avro's Utf8 as Hudi 0.13 registers it."""
_DECIMAL = pa.decimal128(30, 15)
"""As delete blocks of version 3 store decimals (DecimalWrapper)."""
_NULL, _NEW = 0, 1
_HIGH = 0x80

Key: TypeAlias = tuple[str | None, str | None]
"""Record key and partition path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """An ordering value; ``kind`` tells its class of Java's, as in ``DeleteRecords``."""

    kind: pa.DataType
    value: object


Delete: TypeAlias = tuple[str | None, str | None, Ordering | None]
"""Record key, partition path, ordering value."""


def decode_kryo_keys(data: bytes) -> list[Key]:
    """The keys of a delete block's content behind its two lengths, in their order.

    :raises CorruptTableError: anything else than such an array.
    """
    try:
        return _Reader(data).keys()
    except (IndexError, UnicodeDecodeError) as error:
        raise CorruptTableError(f"a delete block holds no Kryo array of keys ({error})") from error


def decode_kryo_deletes(data: bytes) -> list[Delete]:
    """The deletes of a block of version 2, in their order.

    :raises CorruptTableError: anything else than such an array.
    :raises UnsupportedTableError: an ordering value of a class that this release does not read.
    """
    try:
        return _Reader(data).deletes()
    except (IndexError, UnicodeDecodeError, struct.error, ArithmeticError) as error:
        raise CorruptTableError(f"a delete block holds no Kryo array of delete records ({error})") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._names: list[str] = []
        self._objects: list[object] = []

    def keys(self) -> list[Key]:
        found = [self._key() for _ in range(self._count(_ARRAYS))]
        self._is_at_its_end()
        return found

    def deletes(self) -> list[Delete]:
        found = [self._delete() for _ in range(self._count(_RECORD_ARRAYS))]
        self._is_at_its_end()
        return found

    def _count(self, arrays: set[str]) -> int:
        self._class(arrays)
        if self._begins_new() is not None:
            raise CorruptTableError("a delete block begins with a reference")
        count = self._number() - 1
        if not 0 <= count <= len(self._data) - self._at:
            raise CorruptTableError(f"a delete block of {len(self._data)} bytes says that it has {count} keys")
        return count

    def _is_at_its_end(self) -> None:
        if self._at != len(self._data):
            raise CorruptTableError(f"a delete block has {len(self._data) - self._at} bytes behind its keys")

    def _delete(self) -> Delete:
        self._class({RECORD_CLASS})
        if self._begins_new() is not None:
            raise CorruptTableError("a delete block has one delete record twice")
        key, partition = self._key()
        return key, partition, self._ordering()

    def _ordering(self) -> Ordering | None:
        number = self._number()
        if number == _NULL:
            return None
        if number == _NAMED:
            self._class({_DECIMAL_CLASS}, number)
            return self._decimal()
        if number == _INT:
            return Ordering(kind=pa.int32(), value=_signed(self._number(), 32))
        if number == _LONG:
            return Ordering(kind=pa.int64(), value=_signed(self._number(9), 64))
        if number == _STRING:
            return Ordering(kind=pa.string(), value=self._text())
        if number == _AVRO_TEXT:
            if self._begins_new() is not None:
                raise CorruptTableError("a delete block has one text twice")
            return Ordering(kind=pa.large_string(), value=self._take(self._number() - 1).decode())
        if number == _FLOAT:
            return Ordering(kind=pa.float32(), value=struct.unpack(">f", self._take(4))[0])
        if number == _DOUBLE:
            return Ordering(kind=pa.float64(), value=struct.unpack(">d", self._take(8))[0])
        if number == _BOOLEAN:
            return Ordering(kind=pa.bool_(), value=self._take(1) != b"\0")
        raise UnsupportedTableError(
            f"a delete block of Hudi 0.13 has ordering values of Java's class number {number - 2}, which is not read",
            todo="compact the table with its own Hudi first",
        )

    def _decimal(self) -> Ordering:
        if self._begins_new() is not None:
            raise CorruptTableError("a delete block has one decimal twice")
        unscaled = int.from_bytes(self._take(self._number() - 1), signed=True)
        scale = _signed(self._number(), 32)
        if not -15 <= scale <= 15 or abs(unscaled) * 10 ** (15 - scale) >= 10**30:
            raise CorruptTableError(f"an ordering value of a delete block has the scale {scale}, or too many digits")
        return Ordering(kind=_DECIMAL, value=Decimal(unscaled).scaleb(-scale, Context(prec=60)))

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise IndexError("it ends within a value")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _key(self) -> Key:
        self._class(_CLASSES)
        known = self._begins_new()
        if known is not None:
            return self._key_at(known)
        place = len(self._objects) - 1
        partition, key = self._text(), self._text()
        self._objects[place] = (key, partition)
        return (key, partition)

    def _text(self) -> str | None:
        number = self._number()
        if number == _NULL:
            return None
        if number > _NEW:
            found = self._objects[number - 2] if number - 2 < len(self._objects) else None
            if not isinstance(found, str):
                raise _no_object(number - 2)
            return found
        text = self._characters()
        self._objects.append(text)
        return text

    def _begins_new(self) -> int | None:
        """None where an object follows, whose place is taken now; else the number of the object that it refers to."""
        number = self._number()
        if number == _NULL:
            raise CorruptTableError("a delete block has a null among its keys")
        if number > _NEW:
            return number - 2
        self._objects.append(None)
        return None

    def _key_at(self, number: int) -> Key:
        found = self._objects[number] if number < len(self._objects) else None
        if not isinstance(found, tuple):
            raise _no_object(number)
        return found

    def _class(self, expected: set[str], how: int | None = None) -> None:
        """
        :param how: what stood before the name, where it is already read.
        """
        if (self._number() if how is None else how) != _NAMED:
            raise CorruptTableError("a delete block holds something else than keys")
        number = self._number()
        if number == len(self._names):
            self._names.append(self._characters() or "")
        name = self._names[number]
        if expected == {_DECIMAL_CLASS} and name != _DECIMAL_CLASS:
            raise UnsupportedTableError(
                f"a delete block of Hudi 0.13 has ordering values of the class {name[:80]}, which is not read",
                todo="compact the table with its own Hudi first",
            )
        if name not in expected:
            raise CorruptTableError(f"a delete block holds a {name[:80]}, not keys")

    def _number(self, most: int = 5) -> int:
        """
        :param most: how many bytes it may have; of nine the last one has 8 bits of it.
        """
        value = shift = 0
        for place in range(most):
            byte = self._data[self._at]
            self._at += 1
            if place == 8:
                return value | byte << shift
            value |= (byte & 0x7F) << shift
            if byte < _HIGH:
                return value
            shift += 7
        raise CorruptTableError(f"a delete block has a number of more than {most} bytes")

    def _characters(self) -> str | None:
        """A text: ASCII up to a byte with its high bit, or with the high bit first a length + 1 and UTF-8."""
        data, begin = self._data, self._at
        first = data[begin]
        if first < _HIGH:
            end = begin
            while data[end] < _HIGH:
                end += 1
            self._at = end + 1
            return data[begin:end].decode("ascii") + chr(data[end] & 0x7F)
        self._at += 1
        length, more, shift = first & 0x3F, first & 0x40, 6
        while more:
            byte = data[self._at]
            self._at += 1
            length |= (byte & 0x7F) << shift
            more = byte & _HIGH
            shift += 7
            if shift > 34:
                raise CorruptTableError("a delete block has a length of more than 5 bytes")
        if length == 0:
            return None
        return self._utf8(length - 1)

    def _utf8(self, count: int) -> str:
        """``count`` characters as Java counts them; each of up to three bytes, surrogates one by one."""
        data, at = self._data, self._at
        for _ in range(count):
            byte = data[at]
            at += 1 if byte < _HIGH else 2 if byte < 0xE0 else 3
        if at > len(data):
            raise IndexError("it ends within a text")
        text = data[self._at : at].decode("utf-8", "surrogatepass")
        self._at = at
        return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _signed(number: int, bits: int) -> int:
    """A number whose lowest bit is its sign.

    :raises CorruptTableError: it has more bits.
    """
    if number >> bits:
        raise CorruptTableError(f"a delete block has a number of more than {bits} bits")
    return number >> 1 ^ -(number & 1)


def _no_object(number: int) -> CorruptTableError:
    return CorruptTableError(f"a delete block refers to object {number}, which is not before it")
