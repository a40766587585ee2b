"""The compressions of HFile blocks, in the forms that Hadoop's codecs give them.

GZ, BZIP2 and ZSTD are plain streams. SNAPPY and LZ4 are cut as Hadoop's BlockCompressorStream does: a stretch's raw
length, then for each of its pieces the compressed length and the raw snappy or LZ4 block, all integers big-endian.

GZ is read by ISA-L, in a fifth of the time that zlib takes, and written by zlib, whose bytes are those of Java's.
"""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import cast

import pyarrow as pa
from isal import isal_zlib

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError

_INT = struct.Struct(">i")
_IsalError = cast(type[Exception], isal_zlib.error)  # of which its stub says that it is an exception itself
_GZIP_WINDOW = 31
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""As Java 16 and newer write it (older ones end it with 0): no time, no operating system; so files are Hudi's to the
byte."""
_GZIP_TAIL = struct.Struct("<II")
_PIECE_BYTES = 64 << 10
_READ_BYTES = 1 << 20


class Compression(IntEnum):
    """HBase's ``Compression.Algorithm``; the values are those of the trailer."""

    LZO = 0
    GZ = 1
    NONE = 2
    SNAPPY = 3
    LZ4 = 4
    BZIP2 = 5
    ZSTD = 6

    @staticmethod
    def of_code(code: int) -> Compression:
        """
        :raises UnsupportedTableError: a compression that neither Arrow nor the standard library has.
        """
        try:
            found = Compression(code)
        except ValueError:
            raise UnsupportedTableError(
                f"an HFile has the unknown compression {code}", todo="compact its table with its own Hudi"
            ) from None
        found.refuse_unknown()
        return found

    def refuse_unknown(self) -> None:
        """
        :raises UnsupportedTableError: this is LZO.
        """
        if self is Compression.LZO:
            raise UnsupportedTableError(
                "an HFile is compressed with LZO, which this release does not have",
                todo="set hoodie.hfile.compression.algorithm to GZ and compact its table with its own Hudi",
            )


_RAW_CODECS = {Compression.SNAPPY: "snappy", Compression.LZ4: "lz4_raw"}
_MOST_TIMES_SMALLER = 256
"""More than one block of either codec can shrink; Arrow allocates the raw length before it decodes."""


def compress(data: bytes | memoryview, compression: Compression) -> bytes | memoryview:
    """
    :raises UnsupportedTableError: LZO.
    """
    compression.refuse_unknown()
    if compression is Compression.NONE:
        return data
    if compression is Compression.GZ:
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        packed = packer.compress(data) + packer.flush()
        return _GZIP_HEAD + packed + _GZIP_TAIL.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)
    if compression is Compression.BZIP2:
        return bz2.compress(data)
    if compression is Compression.ZSTD:
        return _arrow_compress(data, "zstd")
    return b"".join(_hadoop_pieces(memoryview(data), _RAW_CODECS[compression]))


def decompress(data: memoryview, compression: Compression, size: int) -> memoryview:
    """The raw bytes, of which the block's header promises ``size``; never more memory than the data really gives.

    :raises CorruptTableError: they are not as many, or no such stream.
    """
    try:
        if compression is Compression.NONE:
            raw: bytes | memoryview = data
        elif compression is Compression.GZ:
            raw = isal_zlib.decompressobj(wbits=_GZIP_WINDOW).decompress(data, size + 1)
        elif compression is Compression.BZIP2:
            raw = bz2.BZ2Decompressor().decompress(data, size + 1)
        elif compression is Compression.ZSTD:
            raw = _read_stream(data, size)
        else:
            raw = _join_pieces(data, compression, size)
    except (_IsalError, OSError, EOFError, ValueError, struct.error) as error:
        raise CorruptTableError(f"an HFile block is not a {compression.name} stream ({error})") from error
    if len(raw) != size:
        raise CorruptTableError(f"an HFile block has {len(raw)} raw bytes where its header says {size}")
    return memoryview(raw)


def _arrow_compress(data: bytes | memoryview, codec: str) -> bytes:
    packed: bytes = pa.compress(data, codec=codec, asbytes=True)
    return packed


def _hadoop_pieces(data: memoryview, codec: str) -> Iterator[bytes]:
    yield _INT.pack(len(data))
    for begin in range(0, len(data), _PIECE_BYTES):
        packed = _arrow_compress(data[begin : begin + _PIECE_BYTES], codec)
        yield _INT.pack(len(packed))
        yield packed


def _join_pieces(data: memoryview, compression: Compression, size: int) -> bytes:
    out: list[bytes] = []
    at = total = 0
    while at < len(data):
        left = _INT.unpack_from(data, at)[0]
        at += 4
        if not 0 <= left <= size - total:
            raise ValueError(f"{left} bytes in a stretch of a block of {size}")
        while left:
            length = _INT.unpack_from(data, at)[0]
            at += 4
            if not 0 < length <= len(data) - at:
                raise ValueError(f"a piece of {length} bytes where {len(data) - at} are left")
            piece = _raw_block(data[at : at + length], compression, left)
            out.append(piece)
            at += length
            left -= len(piece)
            total += len(piece)
    return b"".join(out)


def _raw_block(data: memoryview, compression: Compression, left: int) -> bytes:
    """One block of the codec, whose raw length Arrow has to be told."""
    size = _snappy_length(data) if compression is Compression.SNAPPY else _lz4_length(data)
    if not 0 < size <= left:
        raise ValueError(f"a piece of {size} raw bytes where {left} are left")
    if size > len(data) * _MOST_TIMES_SMALLER:
        raise ValueError(f"{len(data)} bytes can't give {size}")
    piece: bytes = pa.decompress(data, decompressed_size=size, codec=_RAW_CODECS[compression], asbytes=True)
    return piece


def _snappy_length(data: memoryview) -> int:
    length = 0
    for place, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return length
    raise ValueError("a snappy block without its length")


def _lz4_length(data: memoryview) -> int:
    """The raw length of an LZ4 block: nothing tells it but the lengths of its literals and matches."""
    at = total = 0
    try:
        while True:
            token = data[at]
            literals, at = _lz4_count(data, at + 1, token >> 4)
            at += literals
            total += literals
            if at == len(data):
                return total
            match, at = _lz4_count(data, at + 2, token & 15)
            total += match + 4
    except IndexError:
        raise ValueError("an LZ4 block is cut off") from None


def _lz4_count(data: memoryview, at: int, count: int) -> tuple[int, int]:
    if count < 15:
        return count, at
    while True:
        more = data[at]
        at += 1
        count += more
        if more != 255:
            return count, at


def _read_stream(data: memoryview, size: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        out = bytearray()
        while len(out) <= size and (part := stream.read(min(_READ_BYTES, size + 1 - len(out)))):
            out += part
    return bytes(out)
