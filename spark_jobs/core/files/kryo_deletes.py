"""Delete blocks of content version 1 (Hudi 0.4 to 0.12): an array of keys, serialised by Kryo 4.

The layout is Kryo's own for ``HoodieKey[]`` (Output, DefaultClassResolver, MapReferenceResolver, ObjectArraySerializer
and FieldSerializer with its fields by name), as Hudi's SerializationUtils used it:

    class            1, number of the name, and the name itself when its number is new
    reference        0 null, 1 an object that follows, n + 2 the object n, counted from 0 in the order of beginnings
    array            length + 1, then for each key: class, reference, and
    key              partitionPath and recordKey, each a reference and a text

Lengths and numbers are variable-length integers of 7 bits a byte, the lowest first.
"""

from __future__ import annotations

from typing import TypeAlias

from spark_jobs.core.errors import CorruptTableError

KEY_CLASS = "org.apache.hudi.common.model.HoodieKey"
OLD_KEY_CLASS = "com.uber.hoodie.common.model.HoodieKey"
_CLASSES = {KEY_CLASS, OLD_KEY_CLASS}
_ARRAYS = {f"[L{name};" for name in _CLASSES}
_NAMED = 1
_NULL, _NEW = 0, 1
_HIGH = 0x80

Key: TypeAlias = tuple[str | None, str | None]
"""Record key and partition path."""


def decode_kryo_keys(data: bytes) -> list[Key]:
    """The keys of a delete block's content behind its two lengths, in their order.

    :raises CorruptTableError: anything else than such an array.
    """
    try:
        return _Reader(data).keys()
    except (IndexError, UnicodeDecodeError) as error:
        raise CorruptTableError(f"a delete block holds no Kryo array of keys ({error})") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._names: list[str] = []
        self._objects: list[object] = []

    def keys(self) -> list[Key]:
        self._class(_ARRAYS)
        if self._begins_new() is not None:
            raise CorruptTableError("a delete block begins with a reference")
        count = self._number() - 1
        if not 0 <= count <= len(self._data) - self._at:
            raise CorruptTableError(f"a delete block of {len(self._data)} bytes says that it has {count} keys")
        found = [self._key() for _ in range(count)]
        if self._at != len(self._data):
            raise CorruptTableError(f"a delete block has {len(self._data) - self._at} bytes behind its keys")
        return found

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
        """None where an object follows, whose place is taken now; else the number of the one that is meant."""
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

    def _class(self, expected: set[str]) -> None:
        if self._number() != _NAMED:
            raise CorruptTableError("a delete block holds something else than keys")
        number = self._number()
        if number == len(self._names):
            self._names.append(self._characters() or "")
        name = self._names[number]
        if name not in expected:
            raise CorruptTableError(f"a delete block holds a {name[:80]}, not keys")

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < _HIGH:
                return value
            shift += 7
            if shift > 28:
                raise CorruptTableError("a delete block has a number of more than 5 bytes")

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


def _no_object(number: int) -> CorruptTableError:
    return CorruptTableError(f"a delete block refers to object {number}, which is not before it")
