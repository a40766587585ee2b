"""The blocks of log files (log format version 1): values, framing, and what counts as corrupt.

Source: ``org.apache.hudi.common.table.log`` (HoodieLogFormatWriter, HoodieLogFileReader, block.HoodieLogBlock); the
layout stands in docs/format.md, log files. All integers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError

MAGIC = b"#HUDI#"
LOG_FORMAT_VERSION = 1
CONTENT_VERSION = 3
"""The version in front of the content of data and delete blocks."""

ROLLBACK_COMMAND = "0"

_FIRST_READ = 4096
"""Bytes read of each block at first: a head and, mostly, its schema."""

_SCAN_CHUNK = 1 << 20
_FIRST_SCAN = 256
_LONG = struct.Struct(">q")
_INT = struct.Struct(">i")
_ENTRY = struct.Struct(">ii")
_HEAD = struct.Struct(">iii")
_MAX_HEADER_BYTES = 64 << 20
_MAX_HEADER_ENTRIES = 1024
_LEAST_LENGTH = 8 + 4 + 8 + 4 + 8


class BlockType(IntEnum):
    """What a block is; the values are those on disk."""

    COMMAND_BLOCK = 0
    DELETE_BLOCK = 1
    CORRUPT_BLOCK = 2
    AVRO_DATA_BLOCK = 3
    HFILE_DATA_BLOCK = 4
    PARQUET_DATA_BLOCK = 5
    CDC_DATA_BLOCK = 6


class HeaderKey(IntEnum):
    """The keys of a block's header; the values are those on disk."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6


_TYPES = frozenset(BlockType)
_KEYS = frozenset(HeaderKey)


class RandomAccess(Protocol):
    """What is needed of an open file; a ``pa.NativeFile`` is one."""

    def seek(self, position: int, whence: int = 0, /) -> int: ...
    def read(self, nbytes: int, /) -> bytes: ...
    def size(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBlock:
    """One block; its content stays in the file until :meth:`read_content`, for which the file must be open still.

    ``start`` and ``end`` are offsets in the file, from the magic to behind the last byte. ``headers`` has the keys
    that this release knows. A corrupt block has no headers and no content.
    """

    type: BlockType
    headers: Mapping[HeaderKey, str]
    start: int
    end: int
    content_start: int
    content_length: int
    file: RandomAccess

    @property
    def is_corrupt(self) -> bool:
        return self.type is BlockType.CORRUPT_BLOCK

    @property
    def instant(self) -> str | None:
        """The instant that wrote the block; for a rollback command, of the rollback."""
        return self.headers.get(HeaderKey.INSTANT_TIME)

    @property
    def target_instant(self) -> str | None:
        """What a rollback command takes back."""
        return self.headers.get(HeaderKey.TARGET_INSTANT_TIME)

    @property
    def schema_json(self) -> str:
        """The Avro schema of the records, with the meta fields; empty where none was written."""
        return self.headers.get(HeaderKey.SCHEMA, "")

    @property
    def is_rollback(self) -> bool:
        return (
            self.type is BlockType.COMMAND_BLOCK and self.headers.get(HeaderKey.COMMAND_BLOCK_TYPE) == ROLLBACK_COMMAND
        )

    @property
    def compacted_instants(self) -> tuple[str, ...]:
        """The instants whose blocks this block of a log compaction stands for, newest first."""
        text = self.headers.get(HeaderKey.COMPACTED_BLOCK_TIMES, "")
        return tuple(instant.strip() for instant in text.split(",") if instant.strip())

    def read_content(self, begin: int = 0, length: int | None = None) -> bytes:
        """The content, or ``length`` bytes of it from ``begin`` on, read now."""
        wanted = self.content_length - begin if length is None else min(length, self.content_length - begin)
        content = _read(self.file, self.content_start + begin, max(wanted, 0))
        if len(content) != max(wanted, 0):
            raise CorruptTableError(
                f"a log block at byte {self.start} has {begin + len(content)} of {self.content_length} bytes of content"
            )
        return content

    def open_content(self) -> pa.NativeFile:
        """The content as a file of its own, of which only what is asked for is read (Hudi: InLineFileSystem)."""
        return pa.PythonFile(_Content(self), mode="r")


class _Content:
    """The Python file behind :meth:`LogBlock.open_content`."""

    def __init__(self, block: LogBlock) -> None:
        self._block = block
        self._at = 0
        self.closed = False

    def read(self, nbytes: int = -1) -> bytes:
        found = self._block.read_content(self._at, None if nbytes < 0 else nbytes)
        self._at += len(found)
        return found

    def seek(self, position: int, whence: int = 0) -> int:
        start = {0: 0, 1: self._at, 2: self._block.content_length}[whence]
        self._at = start + position
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._block.content_length

    def close(self) -> None:
        self.closed = True


def encode_block(kind: BlockType, headers: Mapping[HeaderKey, str], content: bytes | memoryview) -> bytes:
    """A whole block, from its magic to its trailing size."""
    return b"".join(frame_block(kind, headers, [content]))


def frame_block(
    kind: BlockType, headers: Mapping[HeaderKey, str], content: Sequence[bytes | memoryview]
) -> list[bytes | memoryview]:
    """The pieces of a block whose content comes in pieces; together they are the block."""
    entries = [(int(key), value.encode()) for key, value in headers.items()]
    header = _INT.pack(len(entries)) + b"".join(_ENTRY.pack(key, len(text)) + text for key, text in entries)
    length = sum(len(piece) for piece in content)
    footer = _INT.pack(0)
    block_length = 8 + len(header) + 8 + length + len(footer) + 8
    head = MAGIC + _LONG.pack(block_length) + _INT.pack(LOG_FORMAT_VERSION) + _INT.pack(kind) + header
    return [head + _LONG.pack(length), *content, footer + _LONG.pack(block_length + len(MAGIC))]


def parse_blocks(file: RandomAccess, ends: Collection[int] = ()) -> Iterator[LogBlock]:
    """All blocks in file order; a damaged stretch, up to the next magic, comes as one corrupt block.

    :param ends: where writes are known to have been done: a block that ends there is sound whatever follows it.
    :raises CorruptTableError: the file does not begin with a block.
    :raises UnsupportedTableError: a block of another log format version.
    """
    size = file.size()
    at = 0
    while at < size:
        head = _read(file, at, _FIRST_READ)
        if len(head) < len(MAGIC) and MAGIC.startswith(head):
            return  # a writer died before it had written a whole magic
        if not head.startswith(MAGIC):
            raise CorruptTableError(f"no log block begins at byte {at} of a log file of {size} bytes")
        end = _sound_end(file, head, at, size, ends)
        block = None if end is None else _parse_block(file, head, at, end)
        if block is None:
            end = _next_magic(file, at + len(MAGIC), size)
            block = LogBlock(
                type=BlockType.CORRUPT_BLOCK,
                headers={},
                start=at,
                end=end,
                content_start=at + len(MAGIC),
                content_length=end - at - len(MAGIC),
                file=file,
            )
        yield block
        at = block.end


def instant_of_torn(block: LogBlock) -> str | None:
    """The instant in the head of a corrupt block, as far as it was written; the file must be open still."""
    head = _read(block.file, block.start, _FIRST_READ)
    if len(head) < len(MAGIC) + 8 + _HEAD.size:
        return None
    _, kind, count = _HEAD.unpack_from(head, len(MAGIC) + 8)
    if kind not in _TYPES:
        return None
    entries = _header_entries(block.file, head, block.start, count, block.file.size() - block.start)
    return next((one[1] for one in entries if one is not None and one[0] == HeaderKey.INSTANT_TIME), None)


def _sound_end(file: RandomAccess, head: bytes, start: int, size: int, ends: Collection[int]) -> int | None:
    """Where the block ends by its own account, None if its two lengths or what follows it contradict that."""
    if len(head) < len(MAGIC) + 8:
        return None
    (block_length,) = _LONG.unpack_from(head, len(MAGIC))
    end = start + len(MAGIC) + 8 + block_length
    if block_length < _LEAST_LENGTH or end > size:
        return None
    tail = _read(file, end - 8, 8 + len(MAGIC))
    if _LONG.unpack_from(tail)[0] != block_length + len(MAGIC):
        return None
    # behind it comes the end of the file, or the next block, even a torn one
    return end if end in ends or MAGIC.startswith(tail[8:]) else None


def _parse_block(file: RandomAccess, head: bytes, start: int, end: int) -> LogBlock | None:
    """The block, None if its inner lengths lead out of it; ``head`` is how the block begins, as far as it was read."""
    at = len(MAGIC) + 8
    version, kind, entries = _HEAD.unpack_from(head, at)
    if version != LOG_FORMAT_VERSION:
        raise UnsupportedTableError(
            f"a log block at byte {start} has log format version {version}", todo="compact the table with its own Hudi"
        )
    if kind not in _TYPES or kind == BlockType.CORRUPT_BLOCK:
        raise UnsupportedTableError(
            f"a log block at byte {start} has the unknown type {kind}", todo="compact the table with its own Hudi"
        )
    at += _HEAD.size
    room = end - start - 12
    headers: dict[HeaderKey, str] = {}
    for entry in _header_entries(file, head, start, entries, room):
        if entry is None:
            return None
        key, text, at = entry
        if key in _KEYS:
            headers[HeaderKey(key)] = text
    head = _at_least(file, head, start, at + 8)
    if at + 8 > room:
        return None
    (content_length,) = _LONG.unpack_from(head, at)
    at += 8
    if not 0 <= content_length <= room - at:
        return None
    return LogBlock(
        type=BlockType(kind),
        headers=headers,
        start=start,
        end=end,
        content_start=start + at,
        content_length=content_length,
        file=file,
    )


def _header_entries(
    file: RandomAccess, head: bytes, start: int, count: int, room: int
) -> Iterator[tuple[int, str, int] | None]:
    """(key, text, where it ends in the block) of each entry; None as the last where the next one leads out of it."""
    at = len(MAGIC) + 8 + _HEAD.size
    if count > _MAX_HEADER_ENTRIES:
        yield None
        return
    for _ in range(count):
        head = _at_least(file, head, start, at + _ENTRY.size)
        if at + _ENTRY.size > min(room, len(head)):
            yield None
            return
        key, length = _ENTRY.unpack_from(head, at)
        at += _ENTRY.size
        if not 0 <= length <= min(_MAX_HEADER_BYTES, room - at):
            yield None
            return
        head = _at_least(file, head, start, at + length)
        if len(head) < at + length:
            yield None
            return
        at += length
        yield key, head[at - length : at].decode(errors="replace"), at


def _at_least(file: RandomAccess, head: bytes, start: int, length: int) -> bytes:
    """At least the first ``length`` bytes of the block, where the file has them."""
    if len(head) >= length:
        return head
    return head + _read(file, start + len(head), max(length - len(head), _FIRST_READ))


def _next_magic(file: RandomAccess, at: int, size: int) -> int:
    """Where the next magic begins, or the end of the file; the work is in proportion to the way there."""
    step = _FIRST_SCAN
    while at < size:
        chunk = _read(file, at, step)
        found = chunk.find(MAGIC)
        if found >= 0:
            return at + found
        if len(chunk) < step:
            return size
        at += step - len(MAGIC) + 1  # a magic may lie across two chunks
        step = min(2 * step, _SCAN_CHUNK)
    return size


def _read(file: RandomAccess, at: int, length: int) -> bytes:
    file.seek(at)
    return file.read(length)
