"""Data files in a store of objects: read by ranges, written in parts."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import obstore
from obstore.store import ObjectStore

from spark_jobs.core.clock import Clock
from spark_jobs.core.storage.objects.again import again
from spark_jobs.core.storage.objects.differences import reads_tails
from spark_jobs.core.storage.objects.failure import one_line
from spark_jobs.core.storage.objects.put_id import PUT_ID, put_id_of
from spark_jobs.core.storage.objects.stores import READ_SECONDS

if TYPE_CHECKING:
    from obstore import GetOptions, WritableFile

TAIL_BYTES: Final = 1024 * 1024
"""Read first: a file that is smaller is read whole by that, and of nearly every other the footer, in which Hudi has a
bloom filter of some 430 kB.
"""
AHEAD_BYTES: Final = 1024 * 1024
"""Least of a read, as a request takes as long for less."""
PART_BYTES: Final = 8 * 1024 * 1024
"""Of a file that is written; a smaller one is put by one request."""


class RangedFile(io.RawIOBase):
    """A file-like object over one object; ``tail`` are its last bytes, which came with its ``size``."""

    def __init__(self, store: ObjectStore, key: str, url: str) -> None:
        self._store, self._key, self._url = store, key, url
        with one_line(url, "read"):
            self._tail, self._size, self.etag = _tail_of(store, key)
        self._tail_start = self._size - len(self._tail)
        self._held, self._start = b"", 0
        self._position = 0

    @property
    def whole(self) -> bytes | None:
        """All of a file that is not longer than its tail."""
        return self._tail if self._tail_start == 0 else None

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
        for held, first in ((self._held, self._start), (self._tail, self._tail_start)):
            if first <= start and end <= first + len(held):
                return held[start - first : end - first]
        last = min(max(end, start + AHEAD_BYTES), self._tail_start)  # what follows is here
        options: GetOptions = {"range": (start, last)}
        if self.etag is not None:  # another version must not be mixed with that of the tail
            options["if_match"] = self.etag
        with one_line(self._url, "read"):
            self._held, self._start = bytes(obstore.get(self._store, self._key, options=options).bytes()), start
        return self._held[: end - start] + self._tail[: max(end - self._tail_start, 0)]


def _tail_of(store: ObjectStore, key: str) -> tuple[bytes, int, str | None]:
    """The last bytes, the size, the version."""
    try:
        if reads_tails(store):
            found = obstore.get(store, key, options={"range": {"suffix": TAIL_BYTES}})
        else:
            found = obstore.get(store, key, options={"range": (0, TAIL_BYTES)})  # the whole of a small file
            size, etag = found.meta["size"], found.meta["e_tag"]
            if size > TAIL_BYTES:
                options: GetOptions = {"range": (size - TAIL_BYTES, size)}
                if etag is not None:
                    options["if_match"] = etag
                found = obstore.get(store, key, options=options)
        return bytes(found.bytes()), found.meta["size"], found.meta["e_tag"]
    except obstore.exceptions.GenericError:
        status = obstore.head(store, key)
        if status["size"]:
            raise
        return b"", 0, status["e_tag"]  # nothing has no last bytes: refused as a range that can't be satisfied


class Upload(io.RawIOBase):
    """Nothing is there until it is closed; a process that dies before leaves parts that no listing shows.

    :param put: puts a file of one part, where there is none.
    :param refuse: is called before the first part of a longer one.
    """

    def __init__(
        self,
        store: ObjectStore,
        key: str,
        url: str,
        put: Callable[[bytes], None],
        refuse: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._store, self._key, self._url = store, key, url
        self._put, self._refuse = put, refuse
        self._clock, self._id = clock, clock.new_uuid()
        self._first = bytearray()
        self._rest: WritableFile | None = None
        self._written = 0
        self._is_broken = False

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        part = memoryview(data)  # type: ignore[arg-type]
        with self._or_nothing():
            if self._rest is not None:
                self._rest.write(bytes(part))
            elif len(self._first) + part.nbytes <= PART_BYTES:
                self._first += part
            else:
                self._refuse()
                begin = bytes(self._first) + part
                self._first.clear()
                self._rest = again(lambda: self._begun(begin), self._clock, READ_SECONDS)
        self._written += part.nbytes
        return part.nbytes

    def _begun(self, begin: bytes) -> WritableFile:
        rest = obstore.open_writer(
            self._store, self._key, attributes={PUT_ID: self._id}, buffer_size=PART_BYTES, max_concurrency=4
        )
        rest.write(begin)
        return rest

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """What could not be written whole is not put when it is closed."""
        try:
            with one_line(self._url, "written"):
                yield
        except BaseException:
            self._is_broken = True
            raise

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        return

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self._is_broken:
            return
        if self._rest is None:
            self._put(bytes(self._first))
        else:
            with one_line(self._url, "written"):
                self._end(self._rest)

    def _end(self, rest: WritableFile) -> None:
        """The last request, whose repetition fails where the first had all it needs, and its answer was lost."""
        try:
            rest.close()
        except (OSError, obstore.exceptions.BaseError):
            if put_id_of(self._store, self._key) != self._id:
                raise
