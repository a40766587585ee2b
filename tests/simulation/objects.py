"""What a simulated storage holds: files by their URLs, each with its version and the time of the storage's clock."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError
from spark_jobs.core.storage import Content, FileStatus
from tests.support.object_store import entries_of


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    status: FileStatus


@dataclass(slots=True)
class Objects:
    """Each call takes effect at once and whole; ``begin_ms`` of the epoch is where the simulation's clock is at 0."""

    begin_ms: int
    _files: dict[str, _File] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _version: int = 0

    def copied(self) -> Objects:
        return Objects(self.begin_ms, dict(self._files), list(self._names), self._version)

    def create(self, path: str, data: bytes, now_ms: float) -> None:
        if path in self._files:
            raise AlreadyExistsError(f"{path} exists already", path=path)
        self.replace(path, data, now_ms)

    def replace(self, path: str, data: bytes, now_ms: float) -> None:
        if path not in self._files:
            insort(self._names, path)
        self._version += 1
        status = FileStatus(
            path=path,
            size=len(data),
            modified_ms=self.date(now_ms),
            is_directory=False,
            etag=str(self._version),
        )
        self._files[path] = _File(bytes(data), status)

    def peek(self, path: str) -> bytes | None:
        return None if (file := self._files.get(path)) is None else file.data

    def replace_if(self, path: str, data: bytes, etag: str, now_ms: float) -> None:
        self._require(path, etag)
        self.replace(path, data, now_ms)

    def read(self, path: str) -> bytes:
        data = self.peek(path)
        if data is None:
            raise StorageError(f"{path} can't be read (no such object)", todo="check the path", path=path)
        return data

    def load(self, path: str, most: int) -> Content | None:
        file = self._files.get(path)
        return None if file is None else Content(file.data[:most], file.status)

    def stat(self, path: str) -> FileStatus | None:
        file = self._files.get(path)
        return None if file is None else file.status

    def delete(self, path: str) -> bool:
        if self._files.pop(path, None) is None:
            return False
        del self._names[bisect_left(self._names, path)]
        return True

    def delete_if(self, path: str, etag: str) -> bool:
        status = self.stat(path)
        return status is not None and status.etag == etag and self.delete(path)

    def below(self, folder: str) -> list[FileStatus]:
        """All files below a folder, sorted."""
        prefix = folder.rstrip("/") + "/"
        first, last = bisect_left(self._names, prefix), bisect_left(self._names, prefix[:-1] + "0")
        return [self._files[name].status for name in self._names[first:last]]

    def list(self, folder: str) -> list[FileStatus]:
        """The files and folders in a folder, sorted."""
        return entries_of(folder.rstrip("/") + "/", self.below(folder))

    def date(self, now_ms: float) -> int:
        return self.begin_ms + int(now_ms)

    def _require(self, path: str, etag: str) -> None:
        status = self.stat(path)
        if status is None or status.etag != etag:
            raise EtagMismatchError(f"{path} is not the version that was read", path=path, etag=etag)


@dataclass(slots=True)
class Folders:
    """Folders of a disk, which stay where their last file is deleted; they outlive a loss of power."""

    _made: set[str] = field(default_factory=set)

    def make(self, path: str) -> None:
        """A folder and those around it."""
        while path and path not in self._made:
            self._made.add(path)
            path = path.rpartition("/")[0]

    def has(self, path: str) -> bool:
        return path.rstrip("/") in self._made

    def remove(self, path: str) -> None:
        """With those below it."""
        self._made = {one for one in self._made if one != path and not one.startswith(f"{path}/")}

    def has_more_below(self, path: str) -> bool:
        return any(one.startswith(f"{path}/") for one in self._made)
