"""Files beside a table that the tasks of one write make for each other, and which are gone with the write.

They stand in ``.aux``, which Hudi leaves alone, below a folder for each instant. Of a task that is run again the file
of the attempt counts whose outcome is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.folders import SOURCE_FOLDER
from spark_jobs.core.handles.context import WriteContext


class HeldFiles:
    """Those of the write of a context; in the process that leads it."""

    def __init__(self, context: WriteContext) -> None:
        self.storage = context.storage.relaxed()
        self._of_all = f"{context.base_path}/{SOURCE_FOLDER}"
        self._instant = context.instant
        self._is_used = False

    def folder(self) -> str:
        """Where tasks make theirs."""
        self._is_used = True
        return f"{self._of_all}/{self._instant}"

    def clear(self) -> None:
        """Remove them; what can't be removed now, and what tasks make that outlive the write, the next write removes
        before it begins (``services/rollback/failed_writes.py``).
        """
        if self._is_used:
            with suppress(StorageError):
                self.storage.delete_tree(f"{self._of_all}/{self._instant}")
                self.storage.remove_empty_directory(self._of_all)


@contextmanager
def held_files(context: WriteContext, *, let_tasks_end: Callable[[], None] = lambda: None) -> Iterator[HeldFiles]:
    """
    :param let_tasks_end: waits for those of a failed write that may still make files.
    """
    held = HeldFiles(context)
    try:
        yield held
    except Exception:  # who interrupts the job doesn't wait
        let_tasks_end()
        raise
    finally:
        held.clear()
