"""Reads of a table without its lock, while others archive and roll back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from spark_jobs.core.errors import InstantGoneError, StorageError
from spark_jobs.core.table import HudiTable

Found = TypeVar("Found")


def with_refresh(table: HudiTable, read: Callable[[HudiTable], Found], times: int) -> Found:
    """What ``read`` finds. Where a file of the timeline was taken away before it was read, the table is loaded anew and
    read once more, at most so many ``times``; then the error counts.
    """
    for _ in range(times):
        try:
            return read(table)
        except InstantGoneError:
            table = table.refreshed()
        except StorageError as failure:
            path = failure.details.get("path")
            if not isinstance(path, str) or table.storage.stat(path) is not None:
                raise
            table = table.refreshed()
    return read(table)
