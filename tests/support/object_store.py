"""An object store in memory: objects by key, without folders, links, rename or append, with conditional puts.

It stands for S3 and its like in tests that run in one process or several of one machine: a SQLite file, which belongs
in a folder in memory, has the objects, so that a process which dies leaves what it had put.
"""

from __future__ import annotations

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError, WriteConflictError
from spark_jobs.core.storage import Capabilities, Content, FileStatus
from spark_jobs.core.storage.protocol import SMALL_FILE

SCHEME = "mem"
_TABLE = "create table if not exists objects (key text primary key, data blob, etag integer, modified_ms integer)"
_NEW_ETAG = "abs(random() / 2)"
"""Of an object that is made anew, never that of one which was deleted."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Keys are whole URLs, ``mem://bucket/key``; ``file`` is the SQLite file. Pickles."""

    file: str

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(shared=True, guarded=False, linked=False, ordered=True, put_when_closed=True)

    def relaxed(self) -> ObjectStore:
        return self

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        del durable  # what is put stays
        with self._open() as objects:
            try:
                objects.execute(f"insert into objects values (?, ?, {_NEW_ETAG}, ?)", (_key(path), data, _now_ms()))
            except sqlite3.IntegrityError:
                raise AlreadyExistsError(f"{path} exists already", path=path) from None

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        del durable
        with self._open() as objects:
            objects.execute(
                f"insert into objects values (?, ?, {_NEW_ETAG}, ?) on conflict (key) do update "
                "set data = excluded.data, etag = etag + 1, modified_ms = excluded.modified_ms",
                (_key(path), data, _now_ms()),
            )

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        with self._open() as objects:
            changed = objects.execute(
                "update objects set data = ?, etag = etag + 1, modified_ms = ? "
                "where key = ? and cast(etag as text) = ?",
                (data, _now_ms(), _key(path), etag),
            )
            if not changed.rowcount:
                raise EtagMismatchError(f"{path} is not the version that was read", path=path, etag=etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        with self._open() as objects:
            row = objects.execute("select data from objects where key = ?", (_key(path),)).fetchone()
        if row is None:
            raise StorageError(f"{path} can't be read (no such object)", todo="check the path", path=path)
        return bytes(row[0][offset:] if length is None else row[0][offset : offset + length])

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        with self._open() as objects:
            row = objects.execute(f"{_STATUS_AND} where key = ?", (_key(path),)).fetchone()
        return None if row is None else Content(bytes(row[4][:most]), _status(row[:4]))

    def read_listed(self, path: str, etag: str) -> bytes:
        del etag
        return self.read(path)

    def list(self, path: str) -> list[FileStatus]:
        folder = f"{path.rstrip('/')}/"
        return entries_of(folder, self._below(folder))

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        yield from (one for one in self._below(f"{path.rstrip('/')}/") if one.path > after)

    def stat(self, path: str) -> FileStatus | None:
        with self._open() as objects:
            row = objects.execute(f"{_STATUS} where key = ?", (_key(path),)).fetchone()
        return None if row is None else _status(row)

    def has_folder(self, path: str) -> bool:
        first, last = _range(f"{path.rstrip('/')}/")
        with self._open() as objects:
            found = objects.execute("select 1 from objects where key >= ? and key < ? limit 1", (first, last))
            return found.fetchone() is not None

    def is_unpublished(self, name: str) -> bool:
        del name  # an object is put whole
        return False

    def guard_of(self, lock: str) -> None:
        del lock

    def first_link(self, path: str, below: str) -> None:
        del path, below

    def delete(self, path: str) -> bool:
        with self._open() as objects:
            return objects.execute("delete from objects where key = ?", (_key(path),)).rowcount > 0

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        return [self.delete(path) for path in paths]

    def discard(self, paths: Sequence[str]) -> None:
        self.delete_files(paths)

    def delete_if(self, path: str, etag: str) -> bool:
        with self._open() as objects:
            gone = objects.execute("delete from objects where key = ? and cast(etag as text) = ?", (_key(path), etag))
            return gone.rowcount > 0

    def delete_tree(self, path: str) -> None:
        with self._open() as objects:
            objects.execute("delete from objects where key >= ? and key < ?", _range(f"{path.rstrip('/')}/"))

    def remove_empty_directory(self, path: str) -> bool:
        return not self.has_folder(path)

    def make_directory(self, path: str) -> None:
        del path

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        del may_change
        return pa.BufferReader(self.read(path))

    def open_output(self, path: str) -> pa.NativeFile:
        if self.stat(path) is not None:
            raise AlreadyExistsError(f"{path} exists already", path=path)
        return pa.PythonFile(_Upload(self, path), mode="w")

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        del paths, names

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        """A look before the change: nothing keeps the lock from being taken over in between."""
        gone = self.stat(lock) is None
        if gone or token.encode() not in self.read(lock):
            how = "its file was removed" if gone else "another process took it over"
            raise WriteConflictError(f"the table lock {lock} was lost: {how}", todo="run it again", path=lock)
        yield

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = 0) -> Iterator[None]:
        del lock, name, wait_ms
        yield

    def clock_ms(self, folder: str) -> int:
        del folder
        return _now_ms()

    def copy_tree(self, path: str, target: str) -> None:
        """All objects below a folder to another one: as a test makes a copy, which no table does."""
        with self._open() as objects:
            objects.execute(
                f"insert into objects select ? || substr(key, ?), data, {_NEW_ETAG}, modified_ms from objects "
                "where key >= ? and key < ?",
                (target, len(path) + 1, *_range(f"{path.rstrip('/')}/")),
            )

    def date(self, path: str, modified_ms: int) -> None:
        """As if an object had been put at another time, which no store lets anybody say."""
        with self._open() as objects:
            changed = objects.execute("update objects set modified_ms = ? where key = ?", (modified_ms, _key(path)))
            assert changed.rowcount, path

    def _below(self, folder: str) -> list[FileStatus]:
        with self._open() as objects:
            rows = objects.execute(f"{_STATUS} where key >= ? and key < ? order by key", _range(folder)).fetchall()
        return [_status(row) for row in rows]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not os.path.isdir(os.path.dirname(self.file)):  # a thread that outlives its test asks
            raise StorageError(f"the store of {self.file} is gone", path=self.file)
        with closing(sqlite3.connect(self.file, timeout=60)) as objects, objects:
            objects.execute("pragma synchronous = off")
            objects.execute(_TABLE)
            yield objects


_STATUS = "select key, length(data), modified_ms, etag from objects"
_STATUS_AND = "select key, length(data), modified_ms, etag, data from objects"


def _status(row: tuple[str, int, int, int]) -> FileStatus:
    key, size, modified_ms, etag = row
    return FileStatus(path=key, size=size, modified_ms=modified_ms, is_directory=False, etag=str(etag))


def entries_of(folder: str, below: Iterable[FileStatus]) -> list[FileStatus]:
    """The files and folders in a folder, by their names.

    :param folder: with its slash; ``below`` are all files at any depth.
    """
    found: dict[tuple[str, bool], FileStatus] = {}
    for status in below:
        name, slash, _ = status.path[len(folder) :].partition("/")
        if not slash:
            found[status.path, False] = status
        elif ((inner := folder + name), True) not in found:
            found[inner, True] = FileStatus(path=inner, size=0, modified_ms=0, is_directory=True, etag="")
    return [found[one] for one in sorted(found)]


def _range(folder: str) -> tuple[str, str]:
    return folder, folder[:-1] + chr(ord("/") + 1)


def _key(path: str) -> str:
    if not path.startswith(f"{SCHEME}://"):
        raise StorageError(f"{path} is no object of this store", todo="give mem://bucket/key", path=path)
    return path


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Upload(ABC):
    """What is written is kept until it is closed; :meth:`put` puts it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.closed = False

    @abstractmethod
    def put(self, data: bytes) -> None: ...

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        return

    def tell(self) -> int:
        return sum(map(len, self._parts))

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.put(b"".join(self._parts))


class _Upload(Upload):
    """A process that dies before the end leaves nothing."""

    def __init__(self, store: ObjectStore, path: str) -> None:
        super().__init__()
        self._store, self._path = store, path

    def put(self, data: bytes) -> None:
        self._store.create(self._path, data)


def new_store(folder: str | os.PathLike[str]) -> ObjectStore:
    return ObjectStore(os.path.join(folder, "objects.sqlite"))
