"""A storage that touches nothing but a table: whatever asks, whatever links lie in the table's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import pyarrow as pa

from spark_jobs.core.errors import OutsideTableError
from spark_jobs.core.storage.protocol import SMALL_FILE, Capabilities, Content, FileStatus, Storage
from spark_jobs.core.storage.relative_path import is_inside


@dataclass(frozen=True, slots=True)
class ConfinedStorage:
    """The same storage for the paths below some folders, and an error for all others; pickles by value.

    Below those folders no link is followed, neither for reading nor for writing nor for deleting; a link itself can be
    deleted and replaced. The folders, and what is around them, may be links.

    :param roots: whole paths: the base path of a table, and what its caller named beside it.
    :raises OutsideTableError: from every call.
    """

    inner: Storage
    roots: tuple[str, ...]

    @staticmethod
    def around(storage: Storage, *roots: str) -> ConfinedStorage:
        return ConfinedStorage(storage, tuple(f"{one.rstrip('/')}/" for one in roots))

    def beside(self, root: str) -> ConfinedStorage:
        """With one more folder."""
        return replace(self, roots=(*self.roots, f"{root.rstrip('/')}/"))

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    def relaxed(self) -> Storage:
        return replace(self, inner=self.inner.relaxed())

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(self._entry(path), data, durable=durable)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.replace(self._entry(path), data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        self.inner.replace_if(self._entry(path), data, etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        return self.inner.read(self.check(path), offset, length)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        return self.inner.load(self.check(path), most)

    def read_listed(self, path: str, etag: str) -> bytes:
        return self.inner.read_listed(self.check(path), etag)

    def list(self, path: str) -> list[FileStatus]:
        return self.inner.list(self.check(path))

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        if not self.capabilities.linked:
            yield from self.inner.walk(self.check(path), after)
            return
        for status in self.list(path):  # folder by folder, for none to be a link
            if status.is_directory:
                yield from self.walk(status.path, after)
            elif status.path > after:
                yield status

    def stat(self, path: str) -> FileStatus | None:
        return self.inner.stat(self.check(path))

    def delete(self, path: str) -> bool:
        return self.inner.delete(self._entry(path))

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        self._check_entries(paths)
        return self.inner.delete_files(paths)

    def discard(self, paths: Sequence[str]) -> None:
        self._check_entries(paths)
        self.inner.discard(paths)

    def delete_if(self, path: str, etag: str) -> bool:
        return self.inner.delete_if(self._entry(path), etag)

    def delete_tree(self, path: str) -> None:
        self.inner.delete_tree(self.check(path))

    def remove_empty_directory(self, path: str) -> bool:
        return self.inner.remove_empty_directory(self.check(path))

    def make_directory(self, path: str) -> None:
        self.inner.make_directory(self.check(path))

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        return self.inner.open_input(self.check(path), may_change=may_change, etag=etag)

    def open_output(self, path: str) -> pa.NativeFile:
        return self.inner.open_output(self._entry(path))

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        self.inner.sync(list(map(self.check, paths)), list(map(self.check, names)))

    def only_while(self, lock: str, token: str) -> AbstractContextManager[None]:
        return self.inner.only_while(self.check(lock), token)

    def while_alone(self, lock: str, name: str, *, wait_ms: int = 10_000) -> AbstractContextManager[None]:
        return self.inner.while_alone(self.check(lock), name, wait_ms=wait_ms)

    def clock_ms(self, folder: str) -> int | None:
        return self.inner.clock_ms(self.check(folder))

    def has_folder(self, path: str) -> bool:
        return self.inner.has_folder(self.check(path))

    def is_unpublished(self, name: str) -> bool:
        return self.inner.is_unpublished(name)

    def guard_of(self, lock: str) -> str | None:
        return self.inner.guard_of(lock)

    def first_link(self, path: str, below: str) -> str | None:
        return self.inner.first_link(path, below)

    def _entry(self, path: str) -> str:
        """The path, of which the last part may be a link: what is done to it is done to the link."""
        folder = path.rpartition("/")[0]
        root = self._root_of(path)
        if len(folder) >= len(root):
            self._refuse_link(folder, root)
        return path

    def _check_entries(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._root_of(path)
        for path in {path.rpartition("/")[0]: path for path in paths}.values():
            self._entry(path)

    def check(self, path: str) -> str:
        root = self._root_of(path)
        if len(path) > len(root):
            self._refuse_link(path, root)
        return path

    def _root_of(self, path: str) -> str:
        for root in self.roots:
            if path.startswith(root):
                if is_inside(path[len(root) :]):
                    return root
            elif f"{path}/" == root:
                return root
        raise OutsideTableError(
            f"{path} is not below {self.roots[0].rstrip('/')}: a file of the table leads out of it",
            todo="nothing there was touched; find out who wrote the table, and restore it from a copy",
            path=path,
        )

    def _refuse_link(self, path: str, root: str) -> None:
        link = self.inner.first_link(path, root)
        if link is not None:
            raise OutsideTableError(
                f"{link} is a link, and links are not followed below the base path of a table",
                todo="move what it leads to in its place, or mount it there",
                path=link,
            )


def refuse_links(storage: Storage, paths: Iterable[str]) -> None:
    """For files of a table that others than its storage read.

    :raises OutsideTableError: a path leads out of the table, by itself or by a link.
    """
    if isinstance(storage, ConfinedStorage):
        for path in paths:
            storage.check(path)


def beside(storage: Storage, root: str) -> Storage:
    """A table's storage for one more folder, which its caller named."""
    return storage.beside(root) if isinstance(storage, ConfinedStorage) else storage
