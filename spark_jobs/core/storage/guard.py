"""The guard of a lock file on a local disk: a file beside it, locked by the system (flock), never replaced.

Whoever changes the table under the lock is inside together with others (shared) and sees the lock file as it stays for
the length of the change. Whoever makes, takes over or removes the lock file is inside alone. The system lets a process
out when it dies, but not while it is suspended: all waits are bounded, and the error says who is inside.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_ISREG

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError, OutsideTableError, StorageError
from spark_jobs.core.storage.failure import one_line

GUARD_SUFFIX = ".guard"
"""Behind the name of the lock file. Hudi takes no such name for an instant, nor for its own lock."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.05
_MOST_NAMES = 200
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def inside_guard(lock: str, *, shared: bool, wait_ms: int, name: str = "") -> Iterator[None]:
    """
    :param lock: path of the lock file.
    :param name: who goes in alone; it stands in the file while that lasts.
    :raises LockNotAcquiredError: others stayed inside for the whole wait.
    :raises OutsideTableError: the guard is a link: what it leads to would be emptied.
    :raises StorageError: the file can't be made, or its file system knows no such locks.
    """
    with one_line(lock, "written"):
        descriptor = _enter(lock, shared=shared, wait_ms=wait_ms)
    try:
        if not shared:
            _write_name(descriptor, name)
        yield
    finally:
        if not shared:
            _write_name(descriptor, "")
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process that was forked meanwhile has the descriptor too
        os.close(descriptor)


@contextmanager
def directory_lock(path: str, *, wait_ms: int) -> Iterator[None]:
    """Exclude this project's other processes from comparing and swapping in the folder of ``path``.

    :raises LockNotAcquiredError: another process stayed there for the whole wait.
    """
    folder = os.path.dirname(path)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if not _flock(descriptor, fcntl.LOCK_EX, wait_ms):
            raise LockNotAcquiredError(
                f"{folder} is locked by another process, which changes a file in it, after a wait of {wait_ms} ms",
                todo="look for one that is suspended (`fuser` names it): wake it up or end it, then run it again",
                path=folder,
            )
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _enter(lock: str, *, shared: bool, wait_ms: int) -> int:
    path, kind = lock + GUARD_SUFFIX, fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = _open(path)
        is_inside = False
        try:
            if not _flock(descriptor, kind, wait_ms):
                name = os.pread(descriptor, _MOST_NAMES, 0).decode(errors="replace").strip()
                raise LockNotAcquiredError(
                    f"{path} is held by {name or 'the process that holds the table lock'} in the middle of a change "
                    f"after a wait of {wait_ms} ms",
                    todo="it may be suspended: wake it up (`kill -CONT`) or end it, then run it again",
                    path=path,
                    holder=name,
                )
            is_inside = _is_file_at(descriptor, path)  # else it went with its table while this waited
            if is_inside:
                return descriptor
        finally:
            if not is_inside:
                os.close(descriptor)


def _open(path: str) -> int:
    try:
        return _open_or_make(path)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OutsideTableError(
            f"{path} is a link, and a guard is a file", todo="delete it, and find out who made it", path=path
        ) from error


def _open_or_make(path: str) -> int:
    for _ in range(2):
        try:
            return os.open(path, _FLAGS | os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except PermissionError:  # made by another user: it can be locked all the same
            return os.open(path, _FLAGS | os.O_RDONLY)
    return os.open(path, _FLAGS | os.O_RDWR | os.O_CREAT, 0o666)


def _flock(descriptor: int, kind: int, wait_ms: int) -> bool:
    deadline, pause = None, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise StorageError(
                    "the file system of the table knows no file locks (flock)",
                    todo="mount it with them, or name a folder that has them by hoodie.write.lock.filesystem.path",
                    errno=error.errno,
                ) from error
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                raise
        now = SYSTEM_CLOCK.monotonic()
        deadline = now + wait_ms / 1000 if deadline is None else deadline
        if now >= deadline:
            return False
        SYSTEM_CLOCK.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _is_file_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _write_name(descriptor: int, name: str) -> None:
    """For a person who waits; on a full disk, in another user's file, or in one of a second name, nobody is named."""
    with suppress(OSError):
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_nlink > 1:
            return
        os.ftruncate(descriptor, 0)
        if name:
            os.pwrite(descriptor, name.encode()[:_MOST_NAMES], 0)
