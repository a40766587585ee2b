"""Many small calls to a storage, several at a time: an object store takes as long for one as for many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.storage.sought import SOUGHT_FROM, before, folder_around, sought

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
CALLS_AT_ONCE = 16
_SECONDS_OF_A_THREAD = 0.004
"""At least so much work for each thread: where calls are quick, more of them wait for each other."""
_SECONDS_OF_A_CALL = 0.005
_FILES_OF_A_CALL = (4, 16)
"""At least and at most. A call under the table lock looks at that once, and nobody may take it over meanwhile."""
_FILES_TO_LIST_FOR = 4


def find_files(storage: Storage, paths: Iterable[str], *, clock: Clock = SYSTEM_CLOCK) -> dict[str, FileStatus]:
    """Which of some files are there, by their whole paths; a folder of several is listed, which is one call. Where a
    walk is a listing too, many files are found by that, as far as they lie close together.
    """
    asked = sorted(set(paths))
    if not storage.capabilities.ordered or len(asked) < SOUGHT_FROM:
        return _each(storage, asked, clock)
    walk = storage.walk(folder_around(asked), before(asked))
    found, passed = sought(asked, ((status.path, status) for status in walk))
    return found | _each(storage, asked[passed:], clock)


def _each(storage: Storage, paths: Sequence[str], clock: Clock) -> dict[str, FileStatus]:
    of_folders: dict[str, list[str]] = {}
    for path in paths:
        of_folders.setdefault(path.rpartition("/")[0], []).append(path)
    listed = [folder for folder, files in of_folders.items() if len(files) >= _FILES_TO_LIST_FOR]
    looked_at = [path for files in of_folders.values() if len(files) < _FILES_TO_LIST_FOR for path in files]

    def list_for_files(folder: str) -> list[FileStatus]:
        names = set(of_folders[folder])
        return [status for status in storage.list(folder) if status.path in names]

    found = [status for status in several(storage.stat, looked_at, clock) if status is not None]
    found += [status for some in several(list_for_files, listed, clock) for status in some]
    return {status.path: status for status in found}


def several(call: Callable[[Asked], Answer], asked: Sequence[Asked], clock: Clock) -> list[Answer]:
    """The answers in their order; of several calls at a time, where one takes so long that it is worth a thread."""
    begun = clock.monotonic()
    found = [call(one) for one in asked[:1]]  # which tells how long one takes
    threads = _threads(len(asked) - 1, clock.monotonic() - begun)
    if threads == 1:
        return found + [call(one) for one in asked[1:]]
    with ThreadPoolExecutor(threads) as pool:
        return found + list(pool.map(call, asked[1:]))


def delete_files(
    storage: Storage,
    paths: Sequence[str],
    advance: Callable[[int], Any] = lambda steps: None,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> list[bool]:
    """Delete files; for each whether it was there. ``advance`` gets the number of those that are done, some at a time.

    :raises StorageError: one can't be deleted; those after it may be there or not.
    """
    if not paths:
        return []
    at_once = storage.capabilities.deletes_at_once
    if at_once > 1:
        found: list[bool] = []
        for first in range(0, len(paths), at_once):
            found += storage.delete_files(paths[first : first + at_once])
            advance(len(found) - first)
        return found
    begun = clock.monotonic()
    found = list(storage.delete_files(paths[:1]))  # which tells how long a file takes
    advance(len(found))
    each, left = clock.monotonic() - begun, len(paths) - len(found)
    threads = _threads(left, each)
    with ThreadPoolExecutor(threads) as pool:
        for were_there in (pool.map if threads > 1 else map)(storage.delete_files, _calls(paths[1:], threads, each)):
            found += were_there
            advance(len(were_there))
    return found


def _threads(left: int, each: float) -> int:
    """For so many calls of so many seconds: one, where more would wait for each other."""
    return 1 + max(min(CALLS_AT_ONCE - 1, left - 1, int(left * each / _SECONDS_OF_A_THREAD)), 0)


def _calls(paths: Sequence[str], threads: int, seconds_of_a_file: float) -> list[Sequence[str]]:
    """The files of each call: for some milliseconds, and for all threads to have one."""
    least, most = _FILES_OF_A_CALL
    worth = int(_SECONDS_OF_A_CALL / seconds_of_a_file) if seconds_of_a_file else most
    size = min(max(least, worth), most, max(len(paths) // threads, 1))
    return [paths[first : first + size] for first in range(0, len(paths), size)]
