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
    version: int
    modified_ms: int


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
        self._files[path] = _File(bytes(data), self._version, self.date(now_ms))

    def replace_if(self, path: str, data: bytes, etag: str, now_ms: float) -> None:
        self._require(path, etag)
        self.replace(path, data, now_ms)

    def read(self, path: str) -> bytes:
        file = self._files.get(path)
        if file is None:
            raise StorageError(f"{path} can't be read (no such object)", todo="check the path", path=path)
        return file.data

    def load(self, path: str, most: int) -> Content | None:
        status = self.stat(path)
        return None if status is None else Content(self._files[path].data[:most], status)

    def stat(self, path: str) -> FileStatus | None:
        file = self._files.get(path)
        if file is None:
            return None
        return FileStatus(
            path=path,
            size=len(file.data),
            modified_ms=file.modified_ms,
            is_directory=False,
            etag=str(file.version),
        )

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
        return [status for name in self._names[first:last] if (status := self.stat(name)) is not None]

    def list(self, folder: str) -> list[FileStatus]:
        return entries_of(f"{folder.rstrip('/')}/", self.below(folder))

    def date(self, now_ms: float) -> int:
        return self.begin_ms + int(now_ms)

    def _require(self, path: str, etag: str) -> None:
        status = self.stat(path)
        if status is None or status.etag != etag:
            raise EtagMismatchError(f"{path} is not the version that was read", path=path, etag=etag)
