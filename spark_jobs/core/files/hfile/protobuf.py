"""The two protobuf messages of an HFile, both flat: the trailer's fields and the file info's pairs.

By hand, because they need a varint and two wire types only; a protobuf runtime would bring generated code and a
version to agree on with whatever else runs in the same interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spark_jobs.core.errors import CorruptTableError

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_FIXED = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_MAX_VARINT_BYTES = 10
_UNSIGNED = (1 << 64) - 1


def write_varint(value: int) -> bytes:
    """A signed 64-bit integer as protobuf's int64 or uint64: seven bits a byte, lowest first."""
    rest = value & _UNSIGNED
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """The signed 64-bit integer at ``at``, and where it ends."""
    value = 0
    for place in range(_MAX_VARINT_BYTES):
        if at + place >= len(data):
            raise CorruptTableError("a number in an HFile's trailer or file info is cut off")
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            value &= _UNSIGNED
            return value - (1 << 64) if value >> 63 else value, at + place + 1
    raise CorruptTableError("a number in an HFile's trailer or file info is longer than 64 bits")


def encode_message(fields: Iterable[tuple[int, int | bytes]]) -> bytes:
    """Fields by number in the order given."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += write_varint(number << 3 | _VARINT) + write_varint(value)
        else:
            out += write_varint(number << 3 | _BYTES) + write_varint(len(value)) + value
    return bytes(out)


def decode_message(data: memoryview) -> Iterator[tuple[int, int | bytes]]:
    """Fields by number as they stand; those of fixed width, which neither message has, are passed over.

    :raises CorruptTableError: the bytes are no message.
    """
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = read_varint(data, at)
            yield tag >> 3, value
        elif kind == _BYTES:
            length, at = read_varint(data, at)
            if not 0 <= length <= len(data) - at:
                raise CorruptTableError(f"a field of {length} bytes leads out of an HFile's trailer or file info")
            yield tag >> 3, bytes(data[at : at + length])
            at += length
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise CorruptTableError(f"a field in an HFile's trailer or file info has the unknown wire type {kind}")


def delimited(message: bytes) -> bytes:
    """A message with its length in front."""
    return write_varint(len(message)) + message


def read_delimited(data: memoryview, at: int = 0) -> memoryview:
    """The message that begins at ``at`` with its length.

    :raises CorruptTableError: it leads out of the data.
    """
    length, at = read_varint(data, at)
    if not 0 <= length <= len(data) - at:
        raise CorruptTableError(f"a message of {length} bytes leads out of an HFile's trailer or file info")
    return data[at : at + length]
