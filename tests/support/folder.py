"""A folder of a lake as a test uses it: the calls of ``pathlib.Path``, through whichever storage serves it.

The fixture ``root`` gives each test one on a local disk, and one on a store of objects (``tests/conftest.py``).
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import total_ordering
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.clock import Clock
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.table import HudiTable
from tests.nightly import HDFS, OBJECT_STORE
from tests.support import hdfs
from tests.support.azure import AZURE_SERVER
from tests.support.gcs import GCS_SERVER
from tests.support.object_store import SCHEME, ObjectStore, new_store
from tests.support.s3 import S3_SERVER
from tests.support.servers import DatedStorage

LOCAL = "local"
KINDS = (LOCAL, OBJECT_STORE)
SERVERS = {server.kind: server for server in (S3_SERVER, AZURE_SERVER, GCS_SERVER)}


@total_ordering
@dataclass(frozen=True, slots=True)
class Folder:
    """A folder or a file; ``str()`` is its URL. Pickles."""

    url: str
    lake: Lake = field(compare=False, repr=False, default=LAKE)

    @property
    def storage(self) -> Storage:
        """Not confined to the folder."""
        return self.lake.place(self.url).storage

    @property
    def is_local(self) -> bool:
        return "://" not in self.url

    @property
    def has_folders(self) -> bool:
        """Whether the storage has folders that stand without a file in them."""
        return self.is_local or self.is_hdfs

    @property
    def has_a_path_once(self) -> bool:
        """Whether no file has the path of a folder; a server of S3 that gives a folder of a disk can't, either."""
        return self.has_folders or (self.url.startswith("s3://") and bool(os.environ.get("PYHUDI_S3_FOLDER")))

    @property
    def is_hdfs(self) -> bool:
        return self.url.startswith(f"{HDFS}://")

    @property
    def local(self) -> Path:
        """
        :raises AssertionError: it lies in a store of objects.
        """
        assert self.is_local, f"{self} is not on a local disk"
        return Path(self.url)

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> Folder:
        return replace(self, url=self.url.rsplit("/", 1)[0])

    @property
    def size(self) -> int:
        """In bytes, of a file."""
        return self._status().size

    @property
    def modified_ms(self) -> int:
        return self._status().modified_ms

    def __str__(self) -> str:
        return self.url

    def __lt__(self, other: Folder) -> bool:
        return self.url < other.url

    def __truediv__(self, name: object) -> Folder:
        return replace(self, url=f"{self.url}/{str(name).strip('/')}".rstrip("/"))

    def with_name(self, name: str) -> Folder:
        return self.parent / name

    def relative_to(self, other: Folder) -> PurePosixPath:
        assert self.url.startswith(f"{other.url}/") or self.url == other.url, f"{self} is not below {other}"
        return PurePosixPath(self.url[len(other.url) + 1 :])

    def through(self, storage: Storage) -> Folder:
        """The same place in a lake that has another storage for it."""
        (scheme,) = self.lake.storages
        return replace(self, lake=replace(self.lake, storages={scheme: storage}))

    def by(self, clock: Clock) -> Folder:
        """The same place in a lake with another clock."""
        return replace(self, lake=replace(self.lake, clock=clock))

    def table(self, **how: Any) -> HudiTable:
        """The table that lies here, opened as :meth:`HudiTable.open` does."""
        return HudiTable.open(self.url, lake=self.lake, **how)

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        status = self.storage.stat(self.url)
        return status is not None and not status.is_directory

    def is_dir(self) -> bool:
        return self.storage.has_folder(self.url)

    def read_bytes(self) -> bytes:
        return self.storage.read(self.url)

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes) -> int:
        self.storage.replace(self.url, data, durable=False)
        return len(data)

    def write_text(self, text: str) -> int:
        return self.write_bytes(text.encode())

    def append_text(self, text: str) -> None:
        self.write_bytes(self.read_bytes() + text.encode())

    def touch(self) -> None:
        """Make an empty file where there is none."""
        if not self.is_file():
            self.write_bytes(b"")

    def date(self, modified_ms: int) -> None:
        """As if the file had been put there at that time."""
        if self.is_local:
            os.utime(self.local, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
            return
        storage = self.storage
        # a table's is confined to its folder
        while not isinstance(storage, ObjectStore | DatedStorage | hdfs.DatedStorage):
            storage = storage.inner  # type: ignore[attr-defined]
        storage.date(self.url, modified_ms)

    def unlink(self, missing_ok: bool = False) -> None:
        if not self.storage.delete(self.url) and not missing_ok:
            raise FileNotFoundError(self.url)

    def rename(self, target: Folder) -> Folder:
        """By a copy, as a store of objects has to."""
        self.copy_to(target)
        self.remove()
        return target

    def mkdir(self, parents: bool = True, exist_ok: bool = False) -> None:
        """On a store of objects, which has none, nothing."""
        assert parents or exist_ok or not self.exists()
        self.storage.make_directory(self.url)

    def iterdir(self) -> Iterator[Folder]:
        for status in self.storage.list(self.url):
            yield replace(self, url=status.path)

    def glob(self, pattern: str) -> Iterator[Folder]:
        yield from self._matching(pattern.split("/"))

    def rglob(self, pattern: str) -> Iterator[Folder]:
        yield from self._matching(["**", *pattern.split("/")])

    def walk(self) -> Iterator[Folder]:
        """All files below."""
        for status in self.storage.walk(self.url):
            yield replace(self, url=status.path)

    def copy_to(self, target: Folder | Path) -> Folder | Path:
        """All that is below, or a file, to a place that need not be of the same lake."""
        if self.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.read_bytes())
            return target
        if self.is_local and (isinstance(target, Path) or target.is_local):
            shutil.copytree(self.url, str(target), dirs_exist_ok=True)
            return target
        if isinstance(self.storage, ObjectStore) and isinstance(target, Folder) and target.storage == self.storage:
            self.storage.copy_tree(self.url, target.url)
            return target
        for one in self.walk():
            copy = target / str(one.relative_to(self))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(one.read_bytes())
        return target

    def remove(self) -> None:
        """With all that is below."""
        if self.is_file():
            self.unlink()
        else:
            self.storage.delete_tree(self.url)

    def open_input(self) -> pa.NativeFile:
        return self.storage.open_input(self.url)

    def _status(self) -> FileStatus:
        status = self.storage.stat(self.url)
        if status is None:
            raise FileNotFoundError(self.url)
        return status

    def _matching(self, parts: list[str]) -> Iterator[Folder]:
        first, *others = parts
        if first == "**":
            yield from self._matching(others)
        for status in self.storage.list(self.url):
            one = replace(self, url=status.path)
            if first == "**":
                if status.is_directory:
                    yield from one._matching(parts)
            elif fnmatchcase(one.name, first):
                if not others:
                    yield one
                elif status.is_directory:
                    yield from one._matching(others)


Where = Folder | Path
"""What helpers take: a test that is about the local disk itself gives paths of it."""


def folder_of(kind: str, path: Path) -> Folder:
    """An empty folder of a kind that a test has to itself; ``path`` is a local folder, where the objects lie too."""
    if kind == LOCAL:
        return Folder(str(path))
    if kind in SERVERS:
        server = SERVERS[kind]
        return Folder(f"{server.new_bucket()}/lake", Lake(storages={server.scheme: server.storage()}))
    if kind == HDFS:
        return Folder(f"{hdfs.url()}/{uuid4()}/lake", Lake(storages={"hdfs": hdfs.DatedStorage()}))
    return Folder(f"{SCHEME}://lake", Lake(storages={SCHEME: new_store(path)}))


def lake_of(path: Where | str) -> Lake:
    """Where a table lies that a test names by a folder, or by a path of this machine."""
    return path.lake if isinstance(path, Folder) else LAKE


def file_at(storage: Storage, *parts: str) -> Folder:
    """A file or folder below what an opened table knows of itself."""
    path = "/".join(parts)
    return Folder(path, Lake(storages={path.split(":")[0] if "://" in path else "file": storage}))


def as_folder(path: Where) -> Folder:
    return path if isinstance(path, Folder) else Folder(str(path))


def unzip(archive: Path, target: Where) -> None:
    """What a zip archive has, below a folder; empty folders too, where a storage has any."""
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            if name.endswith("/"):
                (target / name).mkdir(parents=True, exist_ok=True)
            else:
                file = target / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read(name))


def write_parquet(rows: pa.Table, path: Where, **how: Any) -> None:
    content = pa.BufferOutputStream()
    pq.write_table(rows, content, **how)
    path.write_bytes(content.getvalue().to_pybytes())


def read_parquet(path: Where, columns: list[str] | None = None) -> pa.Table:
    return pq.read_table(pa.BufferReader(path.read_bytes()), columns=columns)
