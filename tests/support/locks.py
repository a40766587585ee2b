"""What a test does to the lock of a table, whichever file it is."""

from __future__ import annotations

import json

from spark_jobs.core.locks.choose import LockChoice
from spark_jobs.core.locks.storage_lock import LOOKS, TABLE_LOCK, StoredLock
from spark_jobs.core.storage import Storage
from tests.support.folder import Folder, file_at

FOREVER_MS = 1 << 62
OF_ANOTHER = StoredLock(expired=False, valid_until_ms=FOREVER_MS, owner="another writer").encode()


def is_locked(storage: Storage, lock: LockChoice) -> bool:
    file = file_at(storage, lock.path)
    if not file.exists():
        return False
    return not lock.path.endswith(TABLE_LOCK) or not json.loads(file.read_bytes())["expired"]


def overtake(storage: Storage, lock: LockChoice) -> None:
    """Another writer, of Hudi's, holds it now; its holder looked at it long ago."""
    LOOKS.clear()
    file_at(storage, lock.path).write_bytes(OF_ANOTHER if lock.path.endswith(TABLE_LOCK) else b"")


def outlast(table: Folder) -> None:
    """As long afterwards that a lock which its time alone keeps is nobody's."""
    file = table / ".hoodie" / TABLE_LOCK
    if file.exists():
        file.write_text(json.dumps({**json.loads(file.read_bytes()), "validUntil": 0}))


def is_nothing(table: Folder) -> bool:
    """Whether nothing is left of a table; on a store, whose lock's file stays, nothing but one that nobody holds."""
    lock = table / ".hoodie" / TABLE_LOCK
    files = [str(one) for one in table.walk()] if table.exists() else []
    if not table.is_local and files == [str(lock)]:
        return bool(json.loads(lock.read_bytes())["expired"])
    return not table.exists()


def let_go(storage: Storage, lock: LockChoice) -> None:
    """As if its holder had never been, or not looked at it for long."""
    LOOKS.clear()
    file_at(storage, lock.path).unlink(missing_ok=True)
