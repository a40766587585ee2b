"""What an HFile is read from: ranged reads of a file, of a part of one, or of bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from spark_jobs.core.errors import CorruptTableError


class SeekableFile(Protocol):
    """What is needed of an open file; a ``pa.NativeFile`` is one."""

    def seek(self, position: int, whence: int = 0, /) -> int: ...
    def read(self, nbytes: int, /) -> bytes: ...
    def size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Source:
    """``read_range(offset, length)`` gives bytes of something ``size`` bytes long; ``name`` is for messages."""

    read_range: Callable[[int, int], Any]
    size: int
    name: str = "an HFile"

    def read(self, offset: int, length: int) -> memoryview:
        """
        :raises CorruptTableError: the range leads out of the file.
        """
        if offset < 0 or length < 0 or offset + length > self.size:
            raise CorruptTableError(
                f"{self.name} of {self.size} bytes points at its bytes {offset} to {offset + length}", file=self.name
            )
        data = memoryview(self.read_range(offset, length))
        if len(data) != length:
            raise CorruptTableError(f"{self.name} ended {length - len(data)} bytes early while it was read")
        return data

    def section(self, start: int, length: int) -> Source:
        """A part as a source of its own: the HFile in a log block.

        :raises CorruptTableError: the part leads out of the file.
        """
        if start < 0 or length < 0 or start + length > self.size:
            raise CorruptTableError(f"{self.name} of {self.size} bytes has no {length} bytes at {start}")
        return Source(lambda offset, count: self.read_range(start + offset, count), length, self.name)


def source_of(file: Source | SeekableFile | bytes | memoryview, name: str = "an HFile") -> Source:
    """Any of the three as a source; a file stays open for as long as it is read, and belongs to the caller."""
    if isinstance(file, Source):
        return file
    if isinstance(file, (bytes, memoryview)):
        view = memoryview(file)
        return Source(lambda offset, length: view[offset : offset + length], len(view), name)
    opened = file

    def read_range(offset: int, length: int) -> bytes:
        opened.seek(offset)
        return opened.read(length)

    return Source(read_range, opened.size(), name)
