"""A storage that breaks at one call: what a crash, a refused call or a lost answer does to a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from spark_jobs.core.errors import StorageError
from spark_jobs.core.storage import Capabilities, Content, FileStatus, LocalStorage, Storage
from spark_jobs.core.storage.protocol import SMALL_FILE

DIED, NOT_MET = 9, 8
"""Exit codes: of a process that a fault ended, and of one that came to its end without the fault."""

Answer = TypeVar("Answer")


class Fault(Enum):
    """What happens at the chosen call."""

    DIE_BEFORE = "the process dies, the call is not made"
    DIE_AFTER = "the call is made, the process dies; a data file that was opened stays empty"
    REFUSE = "the call is not made and raises"
    LOSE_ANSWER = "the call is made and raises all the same"


CHANGES = frozenset(
    {"create", "replace", "replace_if", "delete", "delete_if", "delete_tree", "make_directory", "open_output"}
    | {"remove_empty_directory", "sync", "only_while", "while_alone"}
)
GUARDS = frozenset({"only_while", "while_alone"})
"""Those of them that change nothing themselves: a change follows, and meets the same at its own call."""


class FaultyStorage(LocalStorage):
    """Counts its calls in ``calls`` and breaks at the one of number ``at`` (from 0; None: never).

    :param inner: what serves the calls; a local storage where there is none.
    """

    def __init__(self, fault: Fault = Fault.REFUSE, at: int | None = None, inner: Storage | None = None) -> None:
        self.inner = inner or LocalStorage()
        self.fault = fault
        self.at = at
        self.calls: list[str] = []

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self.inner.capabilities

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._call("create", path, partial(self.inner.create, durable=durable), path, data)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._call("replace", path, partial(self.inner.replace, durable=durable), path, data)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        self._call("replace_if", path, self.inner.replace_if, path, data, etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        return self._call("read", path, self.inner.read, path, offset, length)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        return self._call("load", path, self.inner.load, path, most)

    def list(self, path: str) -> list[FileStatus]:
        return self._call("list", path, self.inner.list, path)

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        yield from self._call("walk", path, lambda: [*self.inner.walk(path, after)])

    def stat(self, path: str) -> FileStatus | None:
        return self._call("stat", path, self.inner.stat, path)

    def has_folder(self, path: str) -> bool:
        return self._call("has_folder", path, self.inner.has_folder, path)

    def first_link(self, path: str, below: str) -> str | None:
        return self.inner.first_link(path, below)

    def is_unpublished(self, name: str) -> bool:
        return self.inner.is_unpublished(name)

    def guard_of(self, lock: str) -> str | None:
        return self.inner.guard_of(lock)

    def delete(self, path: str) -> bool:
        return self._call("delete", path, self.inner.delete, path)

    def delete_if(self, path: str, etag: str) -> bool:
        return self._call("delete_if", path, self.inner.delete_if, path, etag)

    def delete_tree(self, path: str) -> None:
        self._call("delete_tree", path, self.inner.delete_tree, path)

    def remove_empty_directory(self, path: str) -> bool:
        return self._call("remove_empty_directory", path, self.inner.remove_empty_directory, path)

    def make_directory(self, path: str) -> None:
        self._call("make_directory", path, self.inner.make_directory, path)

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        return self._call("open_input", path, partial(self.inner.open_input, may_change=may_change, etag=etag), path)

    def open_output(self, path: str) -> pa.NativeFile:
        return self._call("open_output", path, self.inner.open_output, path)

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        self._call("sync", " ".join((*paths, *names)), self.inner.sync, paths, names)

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        with ExitStack() as inside:
            self._call("only_while", lock, lambda: inside.enter_context(self.inner.only_while(lock, token)))
            yield

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = 10_000) -> Iterator[None]:
        with ExitStack() as inside:
            alone = partial(self.inner.while_alone, lock, name, wait_ms=wait_ms)
            self._call("while_alone", lock, lambda: inside.enter_context(alone()))
            yield

    def clock_ms(self, folder: str) -> int | None:
        return self._call("clock_ms", folder, self.inner.clock_ms, folder)

    def _call(self, name: str, path: str, action: Callable[..., Answer], *arguments: Any) -> Answer:
        number = len(self.calls)
        self.calls.append(name)
        if number != self.at:
            return action(*arguments)
        if self.fault is Fault.DIE_BEFORE:
            os._exit(DIED)
        if self.fault is Fault.REFUSE:
            raise StorageError(f"{name} of {path} was refused (injected)", path=path)
        try:
            action(*arguments)
        finally:
            if self.fault is Fault.DIE_AFTER:  # after one that is refused, too
                os._exit(DIED)
        raise StorageError(f"the answer to {name} of {path} was lost (injected)", path=path)
