"""The folder of a table's lock file where ``hoodie.write.lock.filesystem.path`` names one."""

from __future__ import annotations

from spark_jobs.core.config.keys.lock import LOCK_PATH
from spark_jobs.core.errors import ConfigError


def lock_folder(asked: str, base_path: str) -> str:
    """The same folder for every writer of a table, as the table's storage takes it: a path of this machine, or a URL
    with the table's own authority, by which changes are made while nobody can take the lock over.

    :param asked: a path, or a URL of the table's storage (Hudi: FileSystemBasedLockProvider, by Hadoop's ``Path``).
    :param base_path: of the table, as its storage takes it.
    :raises ConfigError: it lies on another storage, or depends on the folder in which a process runs.
    """
    scheme, _, rest = base_path.partition("://") if "://" in base_path else ("file", "", "")
    authority = rest.partition("/")[0]
    given, _, after = asked.partition(":") if ":" in asked.partition("/")[0] else ("", "", asked)
    host, path = "", after
    if after.startswith("//"):
        host, _, path = after[2:].partition("/")
        path = f"/{path}"
    if given.lower() not in ("", scheme) or host not in ("", authority):
        raise _refused(asked, "lies on another storage than the table", "give a folder of the storage of the table")
    if not path.startswith("/"):
        raise _refused(asked, "is another folder for each process", "give an absolute path")
    return f"{scheme}://{authority}{path}".rstrip("/") if rest else path.rstrip("/") or "/"


def _refused(asked: str, what: str, todo: str) -> ConfigError:
    return ConfigError(f"{LOCK_PATH.name}={asked} {what}", todo=todo, key=LOCK_PATH.name, value=asked)
