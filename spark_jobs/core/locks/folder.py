"""The folder of a table's lock file where ``hoodie.write.lock.filesystem.path`` names one."""

from __future__ import annotations

from spark_jobs.core.config.keys.lock import LOCK_PATH
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.url_parts import url_parts


def lock_folder(asked: str, base_path: str) -> str:
    """The same folder for every writer of a table, as the table's storage takes it: a path of this machine, or a URL
    with the table's own authority, by which changes are made while nobody can take the lock over.

    :param asked: a path, or a URL of the table's storage (Hudi: FileSystemBasedLockProvider, by Hadoop's ``Path``).
    :param base_path: of the table, as its storage takes it.
    :raises ConfigError: it lies on another storage, or depends on the folder in which a process runs.
    """
    scheme, authority, _ = url_parts(base_path)
    given, host, path = url_parts(asked)
    if given.lower() not in ("", scheme or "file") or host not in ("", authority):
        raise _refused(asked, "lies on another storage than the table", "give a folder of the storage of the table")
    if not path.startswith("/"):
        raise _refused(asked, "is another folder for each process", "give an absolute path")
    folder = path.rstrip("/")
    return f"{scheme}://{authority}{folder}" if scheme else folder or "/"


def _refused(asked: str, what: str, todo: str) -> ConfigError:
    return ConfigError(f"{LOCK_PATH.name}={asked} {what}", todo=todo, key=LOCK_PATH.name, value=asked)
