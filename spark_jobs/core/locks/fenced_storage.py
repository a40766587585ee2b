"""A storage that changes a table only while its lock is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from spark_jobs.core.locks.protocol import Lease
from spark_jobs.core.storage import Capabilities, Content, FileStatus, Storage
from spark_jobs.core.storage.many import find_files
from spark_jobs.core.storage.protocol import SMALL_FILE

_AT_ONCE = 1000
"""Files that are deleted after one look at the lock."""


@dataclass(frozen=True, slots=True)
class FencedStorage:
    """Makes every change while the lease holds (:meth:`Lease.held`); reads go straight on.

    It stays what it is when the lock is lost or released: then all changes raise. It pickles, for workers that delete
    for whoever holds the lock.
    """

    unfenced: Storage
    lease: Lease

    @property
    def capabilities(self) -> Capabilities:
        return self.unfenced.capabilities

    def relaxed(self) -> Storage:
        return FencedStorage(self.unfenced.relaxed(), self.lease)

    def _held(self) -> AbstractContextManager[None]:
        return self.lease.held(self.unfenced)

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        with self._held():
            self.unfenced.create(path, data, durable=durable)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        with self._held():
            self.unfenced.replace(path, data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        with self._held():
            self.unfenced.replace_if(path, data, etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        return self.unfenced.read(path, offset, length)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        return self.unfenced.load(path, most)

    def read_listed(self, path: str, etag: str) -> bytes:
        return self.unfenced.read_listed(path, etag)

    def list(self, path: str) -> list[FileStatus]:
        return self.unfenced.list(path)

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        return self.unfenced.walk(path, after)

    def stat(self, path: str) -> FileStatus | None:
        return self.unfenced.stat(path)

    def has_folder(self, path: str) -> bool:
        return self.unfenced.has_folder(path)

    def is_unpublished(self, name: str) -> bool:
        return self.unfenced.is_unpublished(name)

    def guard_of(self, lock: str) -> str | None:
        return self.unfenced.guard_of(lock)

    def first_link(self, path: str, below: str) -> str | None:
        return self.unfenced.first_link(path, below)

    def delete(self, path: str) -> bool:
        with self._held():
            return self.unfenced.delete(path)

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        """What is there is looked for before the look at the lock, which has to be short before the deletion."""
        if self.capabilities.guarded:
            with self._held():
                return self.unfenced.delete_files(paths)
        there = find_files(self.unfenced, paths)
        self.discard([path for path in paths if path in there])
        return [path in there for path in paths]

    def discard(self, paths: Sequence[str]) -> None:
        with self._held():
            self.unfenced.discard(paths)

    def delete_if(self, path: str, etag: str) -> bool:
        with self._held():
            return self.unfenced.delete_if(path, etag)

    def delete_tree(self, path: str) -> None:
        if self.capabilities.guarded:
            with self._held():
                self.unfenced.delete_tree(path)
            return
        files = (one.path for one in self.unfenced.walk(path))
        while some := list(islice(files, _AT_ONCE)):  # the lock may be lost in between
            self.discard(some)

    def remove_empty_directory(self, path: str) -> bool:
        with self._held():
            return self.unfenced.remove_empty_directory(path)

    def make_directory(self, path: str) -> None:
        with self._held():
            self.unfenced.make_directory(path)

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        return self.unfenced.open_input(path, may_change=may_change, etag=etag)

    def open_output(self, path: str) -> pa.NativeFile:
        """Making the file is fenced, what is written to it is not."""
        with self._held():
            return self.unfenced.open_output(path)

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        self.unfenced.sync(paths, names)

    def only_while(self, lock: str, token: str) -> AbstractContextManager[None]:
        return self.unfenced.only_while(lock, token)

    def while_alone(self, lock: str, name: str, *, wait_ms: int = 10_000) -> AbstractContextManager[None]:
        return self.unfenced.while_alone(lock, name, wait_ms=wait_ms)

    def clock_ms(self, folder: str) -> int | None:
        return self.unfenced.clock_ms(folder)
