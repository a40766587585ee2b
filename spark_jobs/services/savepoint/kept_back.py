"""Completed writes that a savepoint alone keeps on the timeline, since archival went on beyond it.

Without it the timeline would seem unbroken from them on, and a reader could not know that writes between are archived,
whose files it has to miss when they are lost. So they are archived first.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.config.keys import archive as keys
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.rolled_back import archived_after
from spark_jobs.services.archival.bounds import bounds_of_readers, last_retained


def kept_back(timeline: ActiveTimeline, saved: str) -> tuple[Instant, ...]:
    """The completed writes that are older than an archived one, and that no savepoint but this one keeps, oldest first;
    none where nothing newer than ``saved`` is archived.

    :raises CorruptTableError: an archive file that may tell is damaged.
    """
    archived = archived_after(timeline, saved) if timeline.has_archive else []
    if not archived:
        return ()
    others = {one.timestamp for one in timeline.instants if one.action is Action.SAVEPOINT} - {saved}
    done = timeline.completed_commits()
    return tuple(one for one in done if one.precedes(archived[-1]) and one.timestamp not in others)


def refuse_needed(table: HudiTable, going: tuple[Instant, ...], saved: str) -> None:
    """
    :param going: what :func:`kept_back` found.
    :raises WriteConflictError: one of them can't be archived yet.
    """
    if not going:
        return
    last, bounds = going[-1], bounds_of_readers(table, *last_retained(table))
    needed = [one for one in bounds if not last.precedes(one.before)]
    if last == table.timeline.last_completed():
        why, todo = f"{last.timestamp} is the newest that is not archived", "write to the table first"
    elif needed:
        why, todo = f"{needed[0].why} keeps {last.timestamp} on the timeline", "see to that first"
    else:
        return
    raise WriteConflictError(
        f"commits behind savepoint {saved} are archived, and so has to be what it keeps; but {why}",
        todo=f"{todo}, then delete the savepoint",
        instant=saved,
    )


def archive_kept_back(table: HudiTable, going: tuple[Instant, ...], properties: Mapping[str, str]) -> None:
    """The caller holds the table lock; the savepoint is there still, so that a crash leaves no such timeline."""
    if going:
        archive(table.timeline, table.base_path, going, batch_size=keys.ARCHIVE_BATCH.of(properties))
