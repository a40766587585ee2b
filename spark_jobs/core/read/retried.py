"""Reads of a table without its lock, while other processes archive and roll back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from spark_jobs.core.errors import InstantGoneError, StorageError

T = TypeVar("T")


def is_instant_gone(failure: StorageError) -> bool:
    return isinstance(failure, InstantGoneError)


def retried(
    read: Callable[[], T],
    refresh: Callable[[], None],
    times: int,
    is_gone: Callable[[StorageError], bool] = is_instant_gone,
) -> T:
    """What ``read`` finds; after ``refresh`` once more where it failed because something went that it had seen, at most
    so many ``times``; then the error counts.

    :param is_gone: whether an error is of that kind.
    """
    for _ in range(times):
        try:
            return read()
        except StorageError as failure:
            if not is_gone(failure):
                raise
            refresh()
    return read()
