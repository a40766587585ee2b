"""Which partitions a clean has to look at: those that changed since the last one (Hudi:
CleanPlanner.getPartitionPathsForIncrementalCleaning).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.results import CleanResult

_SAVEPOINTS = "savepointed_timestamps"
"""In the extra metadata of a clean: what it spared for savepoints."""


def partitions_to_clean(table: HudiTable, retain: Instant | None, savepoints: Sequence[Instant]) -> list[str] | None:
    """Sorted; None for all, as where the last clean does not say what it retained, its instants are archived, or a
    savepoint went since, whose files may be in any partition.

    :param retain: the earliest commit that is retained from now on.
    """
    if retain is None:
        return []
    last = _last_result(table)
    if last is None:
        return None
    since = last.retained_from
    commits = table.timeline.completed_commits()
    if not since or not commits or commits[0].follows(since):
        return None
    spared = {one for one in (last.note.get(_SAVEPOINTS) or "").split(",") if one}
    if spared - {one.timestamp for one in savepoints}:
        return None
    found: set[str] = set()
    for one in commits:
        if one.is_from(since) and one.precedes(retain.timestamp):
            metadata = table.timeline.commit_metadata(one, table.clock)
            found.update(stat.partition_path for stat in metadata.write_stats)
            found.update(metadata.replaced_file_ids or {})
    return sorted(found)


def _last_result(table: HudiTable) -> CleanResult | None:
    """Of the newest completed clean; None where there is none, or it is unreadable, as Hudi leaves one when it dies."""
    cleans = table.timeline.completed(Action.CLEAN)
    if cleans:
        with suppress(CorruptTableError, StorageError):
            return table.timeline.clean_result(cleans[-1], table.clock)
    return None
