"""The history of a table's schemas with ids, in ``.hoodie/.schema`` (Hudi: FileBasedInternalSchemaStorageManager).

Each write of a table with a history leaves ``<instant>.schemacommit``, which holds all versions, newest first; it
counts only once the write itself is completed (docs/format.md, schema history).
"""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.core.format.folders import SCHEMA_FOLDER
from spark_jobs.core.schema.internal import InternalSchema, history_text, parse_history
from spark_jobs.core.storage import Storage

LATEST_SCHEMA_KEY = "latest_schema"
"""In the extra metadata of commits: the schema with ids as of that commit."""

_COMPLETED = ".schemacommit"
_BEFORE = (".schemacommit.requested", ".schemacommit.inflight")


def read_history(storage: Storage, base_path: str, is_completed: Callable[[str], bool]) -> tuple[InternalSchema, ...]:
    """All versions, oldest first; none where the table has no history.

    :param is_completed: whether the write of an instant is completed.
    :raises CorruptTableError: the newest file is no history.
    """
    folder = f"{base_path}/{SCHEMA_FOLDER}"
    names = (status.name for status in storage.list(folder) if not status.is_directory)
    instants = (name.removesuffix(_COMPLETED) for name in names if name.endswith(_COMPLETED))
    found = [one for one in instants if is_completed(one)]
    if not found:
        return ()
    path = f"{folder}/{max(found)}{_COMPLETED}"
    return parse_history(storage.read(path).decode("utf-8", "replace"), path)


def write_history(
    storage: Storage,
    base_path: str,
    instant: str,
    versions: tuple[InternalSchema, ...],
    is_completed: Callable[[str], bool],
) -> None:
    """Leave the history of a write that is about to be published, and remove what unfinished writes left.

    The caller holds the table's lock: else another writer's file would look unfinished.
    """
    folder = f"{base_path}/{SCHEMA_FOLDER}"
    for status in storage.list(folder):
        if not status.is_directory and not is_completed(status.name.split(".")[0]):
            storage.delete(status.path)
    for suffix in _BEFORE:
        storage.create(f"{folder}/{instant}{suffix}", b"")
    storage.create(f"{folder}/{instant}{_COMPLETED}", history_text(versions).encode())
