"""The one protocol through which every file of a table is touched, so that faults can be injected in one place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """One entry of a listing.

    ``path`` is whole (as the storage takes it), ``size`` in bytes, ``modified_ms`` in milliseconds since the epoch,
    ``etag`` changes whenever the content is replaced.
    """

    path: str
    size: int
    modified_ms: int
    is_directory: bool
    etag: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


NO_VERSION = "0"
"""No file has it as its etag: a replacement of that version has to be refused."""
SMALL_FILE = 16 << 20
"""Bytes: more than any file has that is read as a whole."""


class Content(NamedTuple):
    """What is in a file, and what it is: both of one version."""

    data: bytes
    status: FileStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a storage is like; code asks here and never compares schemes.

    ``shared``: other processes see it. ``guarded``: while a change is made under a lock, nobody takes the lock over
    (:meth:`Storage.only_while`, :meth:`Storage.while_alone`). ``linked``: a path may be a link to elsewhere.
    ``ordered``: a listing goes from name to name in their order; a folder that it lacks was not there yet when it had
    come to all names before. So does a walk, which is one listing, page by page. ``put_when_closed``: a file that
    :meth:`Storage.open_output` makes is there once it is closed, else from the beginning. ``deletes_at_once``: files
    that one request deletes.
    """

    shared: bool
    guarded: bool
    linked: bool
    ordered: bool = False
    put_when_closed: bool = False
    deletes_at_once: int = 1


class Storage(Protocol):
    """Calls take whole paths. What is missing raises ``FileNotFoundError``-like :class:`StorageError` unless it says
    otherwise.

    An implementation pickles by value: executors get their own copy.
    """

    @property
    def capabilities(self) -> Capabilities: ...

    def relaxed(self) -> Storage:
        """The same storage for data files and their markers, which may be lost with the power."""
        ...

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Publish a file whole, or raise :class:`AlreadyExistsError`; no reader ever sees a part of it.

        :param durable: it outlives a loss of power. Of several files :meth:`sync` sees to it in less time.
        """
        ...

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Publish a file whole over whatever is there.

        :param durable: it outlives a loss of power. What is done again where it is lost or torn need not wait for that.
        """
        ...

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        """Replace the version ``etag``, or raise :class:`EtagMismatchError`."""
        ...

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes ``[offset, offset + length)``, to the end without ``length``."""
        ...

    def load(self, path: str, most: int = ...) -> Content | None:
        """A small file; None where none is.

        :param most: bytes of it that are read; ``status`` has its size.
        """
        ...

    def read_listed(self, path: str, etag: str) -> bytes:
        """A small file as a whole that a listing gave: in this version, or in a later one. A storage that is far away
        keeps some of what it read.
        """
        ...

    def list(self, path: str) -> list[FileStatus]:
        """The entries of one directory sorted by name; an empty list where there is no such directory. No listing lags:
        a file is in one that begins when it was made, and in none that begins when it was deleted.
        """
        ...

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        """All files (no directories) below a directory, at any depth, whose whole paths are greater than ``after``."""
        ...

    def stat(self, path: str) -> FileStatus | None:
        """One file, or None where none is. A folder too, on a storage that has any."""
        ...

    def has_folder(self, path: str) -> bool:
        """Whether there is such a folder; on a storage without folders, a file below that path."""
        ...

    def is_unpublished(self, name: str) -> bool:
        """Whether a file of this name is a part of one that was never published, as a process leaves that dies in a
        call.
        """
        ...

    def guard_of(self, lock: str) -> str | None:
        """The path of the file that :meth:`only_while` and :meth:`while_alone` keep beside a lock file; None where they
        need none.
        """
        ...

    def first_link(self, path: str, below: str) -> str | None:
        """The first part of a path below a folder that is a link to elsewhere; None where none is, as on all storages
        that have no links.
        """
        ...

    def delete(self, path: str) -> bool:
        """Remove a file; False where there was none."""
        ...

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        """:meth:`delete` of some, in their order; of an error those before it are gone. For many there is
        :func:`spark_jobs.core.storage.many.delete_files`.
        """
        ...

    def discard(self, paths: Sequence[str]) -> None:
        """Remove files of which nobody asks whether they were there."""
        ...

    def delete_if(self, path: str, etag: str) -> bool:
        """Remove the version ``etag`` of a file; False where it is gone or another version."""
        ...

    def delete_tree(self, path: str) -> None:
        """Remove a directory and all below it; no error where there is none."""
        ...

    def remove_empty_directory(self, path: str) -> bool:
        """Remove a directory that has no entries, in one step; False where it has some. True where there is none."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents; no error where it exists."""
        ...

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        """A random-access reader for data files.

        :param may_change: others may cut the file short meanwhile, as nobody does with a table's: reading it then
            raises, and does not end the process.
        :param etag: of a listing: the file is this version or a later one, as for :meth:`read_listed`.
        """
        ...

    def open_output(self, path: str) -> pa.NativeFile:
        """A writer for a new data file; raises :class:`AlreadyExistsError` where one stands, at once or later."""
        ...

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        """Let files outlive a loss of power, with their names, that :meth:`open_output` made and that are closed.

        :param names: paths of empty files, which are not on the disk later than the names of the others; and of files
            that were deleted, which don't come back.
        """
        ...

    def only_while(self, lock: str, token: str) -> AbstractContextManager[None]:
        """Make a change only while a lock file has a token: others that are inside by :meth:`while_alone` are waited
        for, and wait for the end of the block.

        It excludes those who ask here, which programs that know nothing of it do not.

        :param lock: path of the lock file.
        :raises WriteConflictError: the file has another token, or is gone; nothing of the block is done.
        :raises LockNotAcquiredError: another process stays inside.
        """
        ...

    def while_alone(self, lock: str, name: str, *, wait_ms: int = ...) -> AbstractContextManager[None]:
        """Make, take over or remove a lock file while nobody is inside, neither here nor by :meth:`only_while`.

        :param name: who asks, for those who wait.
        :raises LockNotAcquiredError: others stay inside for the whole wait.
        """
        ...

    def clock_ms(self, folder: str) -> int | None:
        """The storage's own time: what :attr:`FileStatus.modified_ms` of a file that is made in ``folder`` now would
        be. None where no file can be made there.
        """
        ...
