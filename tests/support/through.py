"""A storage in front of another one: what a test counts or changes of its calls is a method of a subclass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_jobs.core.storage import Storage


class Through:
    """All calls go to ``inner``, but for those that a subclass has."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        return [self.delete(path) for path in paths]

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # asked for before it is there, by who unpickles
            raise AttributeError(name)
        return getattr(self.inner, name)
