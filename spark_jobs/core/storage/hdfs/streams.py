"""Data files in HDFS: read by ranges, written to the end."""

from __future__ import annotations

import io
from typing import Final

from hdfs_native import Client, FileReader, FileWriter

from spark_jobs.core.clock import Clock
from spark_jobs.core.storage.hdfs.failure import FAILURES, one_line

AHEAD_BYTES: Final = 1024 * 1024
"""Least of a read: a request to a DataNode opens a connection."""
TAIL_BYTES: Final = 64 * 1024
"""Read at once from where the end is near: the footer of nearly every file."""
_TRIES: Final = 3
_SECONDS_TO_COMPLETE: Final = 10
_PAUSE_SECONDS: Final = 0.02


def open_reader(client: Client, file: str, clock: Clock) -> FileReader:
    """A reader of the whole file: one that was closed just now may have a last block of which the DataNodes have not
    told yet, where the NameNode lets files be closed so (``dfs.namenode.file.close.num-committed-allowed``), and looks
    shorter than it is.

    :raises OSError: it stays so for some seconds.
    """
    deadline = clock.monotonic() + _SECONDS_TO_COMPLETE
    while True:
        reader = client.read(file)
        found = client.get_file_info(file)
        if len(reader) >= found.length:
            return reader
        if clock.monotonic() > deadline:
            raise OSError(f"{len(reader)} bytes can be read where there are {found.length}: its last block is missing")
        clock.sleep(_PAUSE_SECONDS)


def read_range(client: Client, file: str, offset: int, length: int | None, clock: Clock) -> bytes:
    """Some bytes of a file, none behind its end. Again where the file was replaced while it was read: the blocks that
    the NameNode named are gone then.

    :raises OSError: the DataNodes gave less than the NameNode says there is.
    """
    for tries_left in reversed(range(_TRIES)):
        reader = open_reader(client, file, clock)
        end = len(reader) if length is None else min(offset + length, len(reader))
        if offset >= end:
            return b""
        try:
            return _whole(reader.read_range(offset, end - offset), end - offset)
        except FAILURES:
            if not tries_left:
                raise
    raise AssertionError("unreachable")


def _whole(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise OSError(f"{len(data)} bytes where there are {length}")
    return data


class RangedFile(io.RawIOBase):
    """A file-like object over one version of a file."""

    def __init__(self, client: Client, file: str, url: str, clock: Clock) -> None:
        self._url = url
        with one_line(url, "read"):
            self._reader = open_reader(client, file, clock)
            self._size = len(self._reader)
        self._held, self._start = b"", 0
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def size(self) -> int:
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        wanted = self._size if size is None or size < 0 else self._position + size
        end = min(wanted, self._size)
        if self._position >= end:
            return b""
        found = self._bytes(self._position, end)
        self._position = end
        return found

    def readall(self) -> bytes:
        return self.read()

    def _bytes(self, start: int, end: int) -> bytes:
        if not (self._start <= start and end <= self._start + len(self._held)):
            first = max(min(start, self._size - TAIL_BYTES), 0)
            last = min(max(end, start + AHEAD_BYTES), self._size)
            with one_line(self._url, "read"):
                self._held = _whole(self._reader.read_range(first, last - first), last - first)
                self._start = first
        return self._held[start - self._start : end - self._start]


class Output(io.RawIOBase):
    """What is written stands below its name from the first byte on.

    :param synced: force it to the disks before it is closed.
    """

    def __init__(self, writer: FileWriter, url: str, *, synced: bool) -> None:
        self._writer, self._url, self._synced = writer, url, synced
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        with one_line(self._url, "written"):
            self._writer.write(bytes(data))  # type: ignore[call-overload]
        self._written += len(data)  # type: ignore[arg-type]
        return len(data)  # type: ignore[arg-type]

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        return

    def close(self) -> None:
        if not self.closed:
            super().close()
            with one_line(self._url, "written"):
                if self._synced and self._written:
                    self._writer.hsync()
                self._writer.close()
