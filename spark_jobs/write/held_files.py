"""Files beside a table that the tasks of one write make for each other, and which are gone with the write.

They stand in ``.aux``, which Hudi leaves alone, below a folder for each instant. Of a task that is run again the file
of the attempt counts whose outcome is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.folders import SOURCE_FOLDER
from spark_jobs.core.format.order import precedes
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.timeline.active import ActiveTimeline


class HeldFiles:
    """Those of the write of a context; in the process that leads it."""

    def __init__(self, context: WriteContext, timeline: ActiveTimeline) -> None:
        self.storage = context.storage.relaxed()
        self._of_all = f"{context.base_path}/{SOURCE_FOLDER}"
        self._instant = context.instant
        self._timeline = timeline
        self._is_used = False

    def folder(self) -> str:
        """Where tasks make theirs. The first call removes what dead writes left, and tasks that went on after the end
        of theirs: of all earlier instants that are not pending.
        """
        if not self._is_used:
            self._is_used = True
            pending = {one.timestamp for one in self._timeline.instants if not one.is_completed}
            for status in self.storage.list(self._of_all):
                if precedes(status.name, self._instant) and status.name not in pending:
                    self.storage.delete_tree(status.path)
        return f"{self._of_all}/{self._instant}"

    def clear(self) -> None:
        """Remove them; what can't be removed now is left to a later write."""
        if self._is_used:
            with suppress(StorageError):
                self.storage.delete_tree(f"{self._of_all}/{self._instant}")
                self.storage.remove_empty_directory(self._of_all)


@contextmanager
def held_files(
    context: WriteContext, timeline: ActiveTimeline, *, let_tasks_end: Callable[[], None] = lambda: None
) -> Iterator[HeldFiles]:
    """
    :param let_tasks_end: waits for those of a failed write that may still make files.
    """
    held = HeldFiles(context, timeline)
    try:
        yield held
    except Exception:  # who interrupts the job doesn't wait
        let_tasks_end()
        raise
    finally:
        held.clear()
