"""Many small calls to a storage, several at a time: an object store takes as long for one as for many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.storage import FileStatus, Storage

CALLS_AT_ONCE = 16
_SECONDS_ALONE = 0.002
"""One call after the other for that long, which tells how long a file takes."""
_SECONDS_OF_A_THREAD = 0.01
"""At least so much work for each thread: where calls are quick, more of them wait for each other."""
_SECONDS_OF_A_CALL = 0.005
_FILES_OF_A_CALL = (4, 16)
"""At least and at most. A call under the table lock looks at that once, and nobody may take it over meanwhile."""
_CHUNK = 4096
_FILES_TO_LIST_FOR = 4


def find_files(storage: Storage, paths: Iterable[str]) -> dict[str, FileStatus]:
    """Which of some files are there, by their whole paths; a folder of several is listed, which is one call."""
    wanted: dict[str, list[str]] = {}
    for path in paths:
        wanted.setdefault(path.rpartition("/")[0], []).append(path)
    found: dict[str, FileStatus] = {}
    for folder, of_folder in wanted.items():
        if len(of_folder) < _FILES_TO_LIST_FOR:
            statuses = [storage.stat(path) for path in of_folder]
        else:
            names = set(of_folder)
            statuses = [status for status in storage.list(folder) if status.path in names]
        found.update((status.path, status) for status in statuses if status is not None)
    return found


def delete_files(
    storage: Storage,
    paths: Sequence[str],
    advance: Callable[[int], Any] = lambda steps: None,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> list[bool]:
    """Delete files; for each whether it was there. ``advance`` is called for each that is done.

    :raises StorageError: one can't be deleted; those after it may be there or not.
    """
    found: list[bool] = []
    begun, passed = clock.monotonic(), 0.0
    least, most = _FILES_OF_A_CALL
    while len(found) < len(paths) and passed < _SECONDS_ALONE:
        for was_there in storage.delete_files(paths[len(found) : len(found) + (least if found else 1)]):
            found.append(was_there)
            advance(1)
        passed = clock.monotonic() - begun
    left = len(paths) - len(found)
    if not left:
        return found
    each = passed / len(found)
    threads = min(CALLS_AT_ONCE, left, 1 + int(left * each / _SECONDS_OF_A_THREAD))
    size = min(max(least, int(_SECONDS_OF_A_CALL / each)), most, max(left // threads, 1))
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(len(found), len(paths), _CHUNK):
            chunk = paths[begin : begin + _CHUNK]
            calls = [chunk[first : first + size] for first in range(0, len(chunk), size)]
            for were_there in pool.map(storage.delete_files, calls):
                for was_there in were_there:
                    found.append(was_there)
                    advance(1)
    return found
