"""Reads of a table without its lock, while other processes archive and roll back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from spark_jobs.core.errors import StorageError
from spark_jobs.core.read.retried import is_instant_gone, retried
from spark_jobs.core.table import HudiTable

Found = TypeVar("Found")


def with_refresh(table: HudiTable, read: Callable[[HudiTable], Found], times: int) -> Found:
    """What ``read`` finds. Where a file of the timeline was taken away before it was read, the table is loaded anew and
    read once more, at most so many ``times``; then the error counts.
    """
    now = table

    def refresh() -> None:
        nonlocal now
        now = now.refreshed()

    def is_gone(failure: StorageError) -> bool:
        path = failure.details.get("path")
        return is_instant_gone(failure) or (isinstance(path, str) and table.storage.stat(path) is None)

    return retried(lambda: read(now), refresh, times, is_gone)
