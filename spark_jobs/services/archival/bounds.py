"""Who still needs instants on the active timeline (Hudi: HoodieTimelineArchiver.getCommitInstantsToArchive,
CompactionUtils.getOldestInstantToRetainForCompaction, ClusteringUtils.getOldestInstantToRetainForClustering).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from spark_jobs.core.config.keys.compact import COMPACT_MAX_DELTA_COMMITS, COMPACT_TRIGGER, CompactionTrigger
from spark_jobs.core.errors import CorruptTableError, StorageError, TableNotFoundError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.order import earliest
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.services.archival.plan import Bound

_COUNTED = frozenset({CompactionTrigger.NUM_COMMITS, CompactionTrigger.NUM_AND_TIME})
"""Triggers of compaction that count delta commits and need to find them."""


def bounds_of(table: HudiTable, properties: Mapping[str, str]) -> tuple[Bound, ...]:
    """What is needed beside what the instants of the timeline tell themselves (pending writes, savepoints)."""
    timeline = table.timeline
    retained, clean = last_retained(table)
    counted = [
        _for_cleaning(timeline, retained, clean),
        _for_compaction(timeline, properties) if table.config.is_merge_on_read else None,
    ]
    return (*(one for one in counted if one is not None), *bounds_of_readers(table, retained, clean))


def bounds_of_readers(table: HudiTable, retained: str, clean: Instant | None) -> tuple[Bound, ...]:
    """Those without which readers would see other rows.

    :param retained: with ``clean``, what :func:`last_retained` found.
    """
    found = [
        _for_replaced_by(table.timeline, retained, clean),
        _for_files_of_replaced(table),
        _for_metadata_table(table),
    ]
    return tuple(one for one in found if one is not None)


def last_retained(table: HudiTable) -> tuple[str, Instant | None]:
    """The earliest commit that the last completed clean retained (empty where its policy has none), and that clean."""
    cleans = table.timeline.completed(Action.CLEAN)
    if not cleans:
        return "", None
    for state in (State.REQUESTED, State.COMPLETED):
        with suppress(CorruptTableError, StorageError):  # Hudi may have died while it wrote one of the two
            if state is State.COMPLETED:
                return table.timeline.clean_result(cleans[-1], table.clock).retained_from, cleans[-1]
            return RequestedClean.read(table.timeline, cleans[-1], table.clock).retained_from, cleans[-1]
    return "", cleans[-1]


def _for_cleaning(timeline: ActiveTimeline, retained: str, clean: Instant | None) -> Bound | None:
    """What the last clean retains stays, so that the next one finds the partitions that changed since."""
    if clean is None or not retained:
        return None
    return Bound(before=retained, why=f"clean {clean.timestamp}, the last, which retains from {retained}: clean again")


def _for_compaction(timeline: ActiveTimeline, properties: Mapping[str, str]) -> Bound | None:
    """Delta commits that the next compaction counts."""
    if COMPACT_TRIGGER.of(properties) not in _COUNTED:
        return None
    needed = COMPACT_MAX_DELTA_COMMITS.of(properties)
    compactions = timeline.completed(Action.COMMIT)
    deltas = timeline.filter(lambda one: one.action is Action.DELTA_COMMIT)
    since = [one for one in deltas if not compactions or one.follows(compactions[-1].timestamp)]
    if not compactions and not deltas:
        return None
    if len(since) >= needed:
        oldest = since[len(since) - needed].timestamp
    else:
        oldest = (compactions[-1] if compactions else deltas[0]).timestamp
    return Bound(before=oldest, why=f"the next compaction, which counts {needed} delta commit(s)")


def _for_replaced_by(timeline: ActiveTimeline, retained: str, clean: Instant | None) -> Bound | None:
    """Replace commits whose replaced files no clean took yet: without them readers would see these again. And the
    commit before the first pending one.
    """
    replaces = timeline.filter(lambda one: one.action is Action.REPLACE_COMMIT)
    lower = (retained or clean.timestamp) if clean is not None else ""
    kept = [one.timestamp for one in replaces if one.is_from(lower)]
    pending = [one.timestamp for one in replaces if not one.is_completed]
    if pending:
        kept += [one.timestamp for one in timeline.commits_before(pending[0])[-1:]]
    if not kept:
        return None
    first = earliest(kept)
    return Bound(before=first, why=f"replace commit {first}, which the last clean did not reach: clean again")


def _for_files_of_replaced(table: HudiTable) -> Bound | None:
    """The first replace commit of which a replaced file group has files still, as of those that a savepoint keeps."""
    replaced = table.pending.replaced
    partitions = sorted({partition for partition, _ in replaced})
    if not partitions:
        return None
    left = [replaced[group.key] for group in table.view(partitions).all_groups() if group.key in replaced]
    if not left:
        return None
    first = earliest(left)
    return Bound(before=first, why=f"replace commit {first}, whose replaced files are there still: clean again")


def _for_metadata_table(table: HudiTable) -> Bound | None:
    """Nothing goes that the metadata table has in logs alone: a reader asks the timeline whether they hold."""
    if not table.config.lists(MetadataPartition.FILES):
        return None
    try:
        metadata = MetadataTable.open(table.storage, table.base_path, table.timeline, table.clock)
    except (CorruptTableError, TableNotFoundError) as error:
        return Bound(before="", why=f"the metadata table, which is unreadable ({error.what})", for_all=True)
    compactions = metadata.timeline.completed(Action.COMMIT)
    if not compactions:
        return Bound(before="", why="the metadata table, which was not compacted yet,", for_all=True)
    last = compactions[-1].timestamp
    return Bound(before=last, why=f"the metadata table, last compacted at {last},", for_all=True)
