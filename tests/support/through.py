"""A storage in front of another one: what a test counts or changes of its calls is a method of a subclass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_jobs.core.storage import Content, Storage
from spark_jobs.core.storage.protocol import SMALL_FILE


class Through:
    """All calls go to ``inner``, but for those that a subclass has."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        """By two calls, either of which a subclass may have."""
        status = self.stat(path)
        return None if status is None else Content(self.read(path, 0, most), status)

    def read_listed(self, path: str, etag: str) -> bytes:
        del etag
        return self.read(path)

    def discard(self, paths: Sequence[str]) -> None:
        self.delete_files(paths)

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        return [self.delete(path) for path in paths]

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # asked for before it is there, by who unpickles
            raise AttributeError(name)
        return getattr(self.inner, name)


class Careless(Through):
    """A server that does not know one of the conditions of a put, as some that speak S3 do.

    :param unknown: ``If-None-Match`` or ``If-Match``.
    """

    def __init__(self, inner: Storage, unknown: str) -> None:
        super().__init__(inner)
        self.unknown = unknown

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        put = self.inner.replace if self.unknown == "If-None-Match" else self.inner.create
        put(path, data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        if self.unknown == "If-Match":
            self.inner.replace(path, data)
        else:
            self.inner.replace_if(path, data, etag)
