"""Local disks: publish by temporary file and link, compare-and-swap under a lock of the directory."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from stat import S_ISDIR, S_ISLNK

import pyarrow as pa

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, WriteConflictError
from spark_jobs.core.storage.failure import one_line
from spark_jobs.core.storage.guard import GUARD_SUFFIX, directory_lock, inside_guard
from spark_jobs.core.storage.protocol import SMALL_FILE, Capabilities, Content, FileStatus

TEMPORARY_SUFFIX = ".tmp"
"""Unpublished files end so; the timeline does not know the extension and rollbacks sweep them."""
_WAIT_MS = 10_000
"""For those inside a guard, who come out in a moment unless they are suspended."""
_LOCK_BYTES = 1 << 16
"""More than a lock file of this project has."""


class LocalStorage:
    """A file system of this machine (or mounted on it) that knows hard links.

    ``durable`` says whether files outlive a loss of power.
    """

    capabilities = Capabilities(shared=True, guarded=True, linked=True)
    durable = True

    def relaxed(self) -> LocalStorage:
        storage = LocalStorage()
        storage.durable = False
        return storage

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        with one_line(path, "written"):
            if not data:  # nothing to tear: markers and empty states need no temporary file
                _in_folder(lambda path: _create_empty(path, synced=self.durable), path)
                if durable and self.durable:
                    _sync_directory(path)
                return
            synced = durable and self.durable
            _in_folder(lambda path: _publish_new(path, data, synced=synced), path)
            _drop_checksum_file(path)
            if synced:
                _sync_directory(path)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        with one_line(path, "written"):
            os.replace(_write_temporary(path, data, synced=durable), path)
            _drop_checksum_file(path)
            if durable:
                _sync_directory(path)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        with one_line(path, "written"), directory_lock(path, wait_ms=_WAIT_MS):
            status = self.stat(path)
            if status is None or status.etag != etag:
                raise EtagMismatchError(f"{path} is not the version that was read", path=path, etag=etag)
            self.replace(path, data)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        with one_line(path, "read"), open(path, "rb") as file:
            file.seek(offset)
            return file.read() if length is None else file.read(length)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        with one_line(path, "read"):
            try:
                with open(path, "rb") as file:
                    return Content(file.read(most), _status(path, os.fstat(file.fileno())))
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read_listed(self, path: str, etag: str) -> bytes:
        del etag  # it is near
        return self.read(path)

    def list(self, path: str) -> list[FileStatus]:
        with one_line(path, "listed"):
            try:
                with os.scandir(path) as entries:
                    found = [status for entry in entries if (status := _status_of_entry(entry)) is not None]
            except FileNotFoundError:
                return []
        return sorted(found, key=attrgetter("path"))  # as by name: the folder is the same

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        for status in self.list(path):
            if status.is_directory:
                yield from self.walk(status.path, after)
            elif status.path > after:
                yield status

    def stat(self, path: str) -> FileStatus | None:
        with one_line(path, "read"):
            try:
                return _status(path, os.stat(path))
            except (FileNotFoundError, NotADirectoryError):
                return None

    def has_folder(self, path: str) -> bool:
        with one_line(path, "read"):
            return os.path.isdir(path)

    def is_unpublished(self, name: str) -> bool:
        return name.endswith(TEMPORARY_SUFFIX)

    def guard_of(self, lock: str) -> str | None:
        return lock + GUARD_SUFFIX

    def first_link(self, path: str, below: str) -> str | None:
        end = len(below.rstrip("/"))
        with one_line(path, "read"):
            while end < len(path):
                following = path.find("/", end + 1)
                end = len(path) if following < 0 else following
                try:
                    if S_ISLNK(os.lstat(path[:end]).st_mode):
                        return path[:end]
                except (FileNotFoundError, NotADirectoryError):
                    break
        return None

    def delete(self, path: str) -> bool:
        with one_line(path, "deleted"):
            try:
                os.unlink(path)
            except FileNotFoundError:
                return False
            _drop_checksum_file(path)
            return True

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        return [self.delete(path) for path in paths]

    def discard(self, paths: Sequence[str]) -> None:
        self.delete_files(paths)

    def delete_if(self, path: str, etag: str) -> bool:
        with one_line(path, "deleted"):
            try:
                with directory_lock(path, wait_ms=_WAIT_MS):
                    status = self.stat(path)
                    return status is not None and status.etag == etag and self.delete(path)
            except FileNotFoundError:
                return False

    def delete_tree(self, path: str) -> None:
        with one_line(path, "deleted"):
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                return

    def remove_empty_directory(self, path: str) -> bool:
        with one_line(path, "deleted"):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                return True
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return False
                raise
            return True

    def make_directory(self, path: str) -> None:
        with one_line(path, "made"):
            os.makedirs(path, exist_ok=True)

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        with one_line(path, "read"):
            return pa.OSFile(path) if may_change or not os.path.getsize(path) else pa.memory_map(path)

    def open_output(self, path: str) -> pa.NativeFile:
        with one_line(path, "written"):
            _in_folder(lambda path: _create_empty(path, synced=True), path)
            return pa.OSFile(path, mode="wb")

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        if not self.durable:
            return
        for path in paths:
            with one_line(path, "written"):
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fdatasync(descriptor)
                finally:
                    os.close(descriptor)
        for path in {os.path.dirname(path): path for path in (*names, *paths)}.values():
            with one_line(path, "written"):
                _sync_directory(path)

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        with inside_guard(lock, shared=True, wait_ms=_WAIT_MS):
            _refuse_other_holder(lock, token)
            yield

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = _WAIT_MS) -> Iterator[None]:
        with inside_guard(lock, shared=False, wait_ms=wait_ms, name=name):
            yield

    def clock_ms(self, folder: str) -> int | None:
        with one_line(folder, "written"):
            try:
                descriptor = _nameless_file(folder)
                if descriptor is None:
                    return _time_of_named_file(folder)
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENOSPC):
                    return None
                raise
            try:
                return os.fstat(descriptor).st_mtime_ns // 1_000_000
            finally:
                os.close(descriptor)


def _refuse_other_holder(lock: str, token: str) -> None:
    """
    :raises WriteConflictError: the lock file has not this token, or is gone.
    """
    with one_line(lock, "read"):
        try:
            with open(lock, "rb") as file:
                content = file.read(_LOCK_BYTES)
        except FileNotFoundError:
            content = None
    if content is None or token.encode() not in content:
        raise WriteConflictError(
            f"the table lock {lock} was lost: "
            + ("its file was removed" if content is None else "another process took it over"),
            todo="run it again; what the lock was held for was not done to its end",
            path=lock,
        )


def _time_of_named_file(folder: str) -> int:
    """Where the system has no files without a name (NFS)."""
    path = os.path.join(folder, f"clock.{SYSTEM_CLOCK.new_uuid()}{TEMPORARY_SUFFIX}")
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        return os.fstat(descriptor).st_mtime_ns // 1_000_000
    finally:
        os.close(descriptor)
        os.unlink(path)


def _in_folder(make: Callable[[str], None], path: str) -> None:
    """Make the folder of a file and the file in it, again where a clean took the empty folder away in between."""
    try:
        make(path)
    except FileNotFoundError:
        make(path)


def _create_empty(path: str, *, synced: bool) -> None:
    _make_folders(os.path.dirname(path), synced=synced)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError:
        raise AlreadyExistsError(f"{path} exists already", path=path) from None


def _make_folders(path: str, *, synced: bool) -> None:
    """A folder and those around it; ``synced`` forces the names of new ones to the disk."""
    missing, folder = [], path
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    os.makedirs(path, exist_ok=True)
    if synced:
        for folder in missing:
            _sync_directory(folder)


def _publish_new(path: str, data: bytes, *, synced: bool) -> None:
    """Link the finished file to its name; where the system has nameless files, a crash before that leaves nothing."""
    directory, name = os.path.split(path)
    _make_folders(directory, synced=synced)
    folder = os.open(directory, os.O_RDONLY)
    try:
        descriptor = _nameless_file(directory)
        if descriptor is None:
            _publish_by_temporary(path, data)
            return
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if synced:
                os.fsync(descriptor)
            # the folder's descriptor makes Python follow the link in /proc to the file itself
            os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise AlreadyExistsError(f"{path} exists already", path=path) from None
    finally:
        os.close(folder)


def _nameless_file(directory: str) -> int | None:
    """A file without a name in the directory's file system; None where the system has no such files."""
    try:
        return os.open(directory, os.O_TMPFILE | os.O_WRONLY, 0o644)
    except AttributeError:
        return None
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return None
        raise


def _publish_by_temporary(path: str, data: bytes) -> None:
    temporary = _write_temporary(path, data)
    try:
        os.link(temporary, path)
    finally:
        os.unlink(temporary)


def _write_temporary(path: str, data: bytes, *, synced: bool = True) -> str:
    directory, name = os.path.split(path)
    _make_folders(directory, synced=synced)
    temporary = os.path.join(directory, f"{name}.{SYSTEM_CLOCK.new_uuid()}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            if synced:
                file.flush()
                os.fsync(file.fileno())
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def _drop_checksum_file(path: str) -> None:
    """Hadoop's local file system checks a file against ``.<name>.crc`` where there is one: a stale one would break its
    readers.
    """
    directory, name = os.path.split(path)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, f".{name}.crc"))


def _sync_directory(path: str) -> None:
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _status_of_entry(entry: os.DirEntry[str]) -> FileStatus | None:
    try:
        return _status(entry.path, entry.stat())
    except FileNotFoundError:  # it went away between the listing and the look
        return None


def _status(path: str, stat: os.stat_result) -> FileStatus:
    return FileStatus(
        path=path,
        size=stat.st_size,
        modified_ms=stat.st_mtime_ns // 1_000_000,
        is_directory=S_ISDIR(stat.st_mode),
        etag=f"{stat.st_ino}-{stat.st_mtime_ns}-{stat.st_size}",
    )
