"""The clients of a process: one for each file system and the settings that it is reached by."""

from __future__ import annotations

import os
import threading
from typing import Final

from hdfs_native import Client

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.storage.hdfs.failure import reason_of
from spark_jobs.core.storage.hdfs.names import SCHEME, UMASK
from spark_jobs.core.storage.hdfs.site_files import of_site_files

Settings = tuple[tuple[str, str], ...]
"""Hadoop's names with their values, over those of the files in ``HADOOP_CONF_DIR``."""
_UMASK: Final = "022"

_open: dict[tuple[str, Settings], Client] = {}
_lock = threading.Lock()
_inherited = False


def in_use() -> bool:
    """Whether this process has a client: it can't be forked any more then."""
    return bool(_open)


def _in_child() -> None:
    """The threads that speak with the NameNode are not in a process that was forked."""
    global _inherited, _lock
    _inherited = _inherited or bool(_open)
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_in_child)


def split(url: str) -> tuple[str, str]:
    """The NameNode or name service, empty for the default file system, and the path, of which nothing is decoded.

    :raises StorageError: a character that HDFS takes and other programs don't.
    """
    authority, _, path = url.removeprefix(f"{SCHEME}://").partition("/")
    if "\0" in path:
        raise StorageError(f"{url!r} can't be opened (it has a NUL character)", todo="check the path", path=url)
    return authority, f"/{path.rstrip('/')}"


def client_of(authority: str, settings: Settings) -> Client:
    """The client of this process.

    :raises StorageError: this process was forked from one that used a client, whose threads it has not.
    :raises ConfigError: the settings name no NameNode, or can't be read.
    """
    url = f"{SCHEME}://{authority}"
    if _inherited:
        raise StorageError(
            f"{url} can't be reached: this process was forked after its parent had used HDFS",
            todo="start it by spawn or forkserver",
            path=url,
        )
    with _lock:
        found = _open.get((authority, settings))
        if found is None:
            found = _open[authority, settings] = _new(url, settings)
        return found


def _new(url: str, settings: Settings) -> Client:
    try:
        return Client(url if url != f"{SCHEME}://" else f"{SCHEME}:///", dict(settings))
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"{url} can't be reached by these settings ({reason_of(error)})",
            todo="give hdfs://host:port, or HADOOP_CONF_DIR with the files that name the NameNodes",
        ) from error


def permissions_of(settings: Settings) -> tuple[int, int]:
    """Of new files, and of new folders.

    :raises ConfigError: the mask is no octal number, or stands in a file that can't be read.
    """
    mask = dict(settings).get(UMASK) or of_site_files(os.environ, UMASK) or _UMASK
    try:
        closed = int(mask, 8)
    except ValueError as error:
        raise ConfigError(f"{UMASK}={mask} is no octal number", todo="give one such as 022", key=UMASK) from error
    return 0o666 & ~closed, 0o777 & ~closed
