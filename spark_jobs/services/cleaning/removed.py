"""Files that a clean took away while somebody read them.

A clean retains by instant times: where a plan of compaction or clustering that is commits old is carried out, what it
read is superseded by an old instant, and the next clean removes it, also from below those who began before."""

from __future__ import annotations

from spark_jobs.core.errors import CorruptTableError, StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.storage import RelativePath, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.pending import deleted_by


def removed_meanwhile(
    error: Exception, known: ActiveTimeline, settings: TransactionSettings
) -> WriteConflictError | None:
    """The conflict that an error is for whoever read by ``known``: it names a file that is gone, by a clean that was
    not completed there. None for any other error.
    """
    text = str(error)
    try:
        timeline = settings.load_timeline()
        for clean in reversed(timeline.filter(lambda one: one.action is Action.CLEAN and one not in known.instants)):
            for path in _files_of(timeline, clean, settings):
                if path.rsplit("/", 1)[-1] in text and settings.storage.stat(resolve(settings.base_path, path)) is None:
                    return WriteConflictError(
                        f"file {path} was removed by clean {clean.timestamp} while it was read",
                        todo="run it again",
                        instant=clean.timestamp,
                    )
    except StorageError:
        return None  # then the first error says what is wrong
    return None


def _files_of(timeline: ActiveTimeline, clean: Instant, settings: TransactionSettings) -> frozenset[RelativePath]:
    try:
        return deleted_by(timeline, clean, settings.clock)
    except CorruptTableError:
        return frozenset()
