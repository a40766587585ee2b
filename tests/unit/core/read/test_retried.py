"""Reads that begin anew where another process took something away that they had seen."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import InstantGoneError, StorageError
from spark_jobs.core.read.retried import retried

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("gone", [0, 2])
def test_what_went_is_read_once_more(gone: int) -> None:
    seen: list[str] = []

    def read() -> str:
        seen.append("read")
        if seen.count("read") <= gone:
            raise InstantGoneError("archived")
        return "found"

    assert retried(read, lambda: seen.append("refresh"), 2) == "found"
    assert seen == [*["read", "refresh"] * gone, "read"]


@pytest.mark.parametrize("error", [InstantGoneError("archived"), StorageError("the disk is gone")])
def test_an_error_counts_that_stays_or_is_of_another_kind(error: StorageError) -> None:
    seen: list[str] = []

    def read() -> None:
        seen.append("read")
        raise error

    with pytest.raises(StorageError, match=error.what):
        retried(read, lambda: None, 2)
    assert len(seen) == (3 if isinstance(error, InstantGoneError) else 1)
    seen.clear()
    with pytest.raises(StorageError):
        retried(read, lambda: None, 1, is_gone=lambda failure: True)
    assert len(seen) == 2
