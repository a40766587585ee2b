"""A metadata table that a crash left in between, or that somebody wrote past."""

from __future__ import annotations

from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.format.order import is_from
from spark_jobs.core.metadata_table.commit import commits_at, finish_undo, undo_commit
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.timeline.plans.rollback import RequestedRollback


def recover(table: MetadataTable, own: str) -> MetadataTable:
    """Bring a metadata table that a crash left in between to a state that can be written to.

    Pending rollbacks are finished, pending delta commits rolled back, and so is a delta commit of ``own``: an earlier
    attempt of the action got as far as here. Pending compactions stay: logs go on top of them.
    """
    for pending in table.timeline.pending({Action.ROLLBACK}):
        planned = RequestedRollback.read(table.timeline, pending, table.clock).target
        if planned is None:
            name = table.timeline.name_of(pending.at(State.REQUESTED))
            raise CorruptTableError(f"{name} of the metadata table does not say what it takes back", todo=RESTORE_FILE)
        found = commits_at(table, planned.time)
        target = found[0] if found else planned.at(State.INFLIGHT)
        finish_undo(table, pending, target)
        table = table.reloaded()
    for left in table.timeline.instants:
        if left.action is Action.DELTA_COMMIT and (not left.is_completed or left.timestamp == own):
            time = next_instant_time(table.clock.now(), table.config.timezone, table.timeline.last_time)
            undo_commit(table, left, time)
            table = table.reloaded()
    return table


def is_compacted(table: MetadataTable, instant: str) -> bool:
    """Whether a compaction has merged the delta commit of an instant, so that it can't be taken back any more."""
    compactions = table.timeline.completed(Action.COMMIT)
    return any(one.follows(instant) for one in compactions) and bool(commits_at(table, instant))


def is_built_in(table: MetadataTable, instant: str) -> bool:
    """Whether a partition was made from the table as it was with an instant completed, so that taking the instant's own
    delta commit back leaves what the partition has of it.

    An instant that the metadata table has no delta commit of is in there if all partitions are as new.
    """
    layout = table.timeline.format.metadata
    found = [layout.stands_behind(one.timestamp) for one in table.timeline.completed(Action.DELTA_COMMIT)]
    seen = [is_from(time, instant) for time in found if time is not None]
    return any(seen) and (all(seen) or bool(commits_at(table, instant)))
