"""Many small calls to a storage, several at a time: an object store takes as long for one as for many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spark_jobs.core.storage import Storage

CALLS_AT_ONCE = 16
_FEW = 32
_CHUNK = 4096


def delete_files(
    storage: Storage, paths: Sequence[str], advance: Callable[[int], Any] = lambda steps: None
) -> list[bool]:
    """Delete files; for each whether it was there. ``advance`` is called for each that is done.

    :raises StorageError: one can't be deleted; those after it may be there or not.
    """
    found: list[bool] = []
    if len(paths) <= _FEW:
        for path in paths:
            found.append(storage.delete(path))
            advance(1)
        return found
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        for begin in range(0, len(paths), _CHUNK):
            for was_there in pool.map(storage.delete, paths[begin : begin + _CHUNK]):
                found.append(was_there)
                advance(1)
    return found
