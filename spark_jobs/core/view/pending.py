"""What plans on the timeline hold, read into one value (Hudi: CompactionUtils, ClusteringUtils)."""

from __future__ import annotations

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage import RelativePath
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.plans.rewriting import RequestedClustering, RequestedCompaction
from spark_jobs.core.view.file_system_view import GroupKey, PendingServices


def read_pending_services(timeline: ActiveTimeline, clock: Clock) -> PendingServices:
    """Pending compactions and clusterings, and what completed replace commits replaced (the latest wins).

    :raises CorruptTableError: a plan or a replace commit is unreadable. One that is empty replaced file groups too.
    """
    compaction: dict[GroupKey, str] = {}
    clustering: dict[GroupKey, str] = {}
    replaced: dict[GroupKey, str] = {}
    for instant in timeline.instants:
        if instant.action is Action.REPLACE_COMMIT and instant.is_completed:
            metadata = timeline.commit_metadata(instant, clock)
            if metadata.is_empty:
                raise CorruptTableError(
                    f"{timeline.name_of(instant)} is empty, and does not say which file groups it replaced",
                    todo=RESTORE_FILE,
                    instant=instant.timestamp,
                )
            for partition, file_ids in (metadata.replaced_file_ids or {}).items():
                replaced.update({(partition, file_id): instant.timestamp for file_id in file_ids})
        elif instant.action is Action.COMPACTION:
            compaction.update(dict.fromkeys(compaction_groups(timeline, instant, clock), instant.timestamp))
        elif instant.action is Action.REPLACE_COMMIT:
            clustering.update(dict.fromkeys(replaced_by_plan(timeline, instant, clock), instant.timestamp))
    return PendingServices(compaction=compaction, clustering=clustering, replaced=replaced)


def being_cleaned(timeline: ActiveTimeline, clock: Clock) -> frozenset[str]:
    """Relative paths that cleans delete which have begun and are not completed: they may be gone or not."""
    begun = (one for one in timeline.pending({Action.CLEAN}) if one.state is State.INFLIGHT)
    return frozenset().union(*(deleted_by(timeline, clean, clock) for clean in begun))


def deleted_by(timeline: ActiveTimeline, clean: Instant, clock: Clock) -> frozenset[RelativePath]:
    """Relative paths that a clean deletes by its plan; none where that was never written."""
    if not timeline.has_content(clean.at(State.REQUESTED)):
        return frozenset()
    return frozenset(RequestedClean.read(timeline, clean, clock).paths)


def compaction_groups(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> list[GroupKey]:
    """(partition, file id) of each operation of a compaction plan, in its order."""
    return [one.key for one in RequestedCompaction.read(timeline, instant, clock).slices]


def replaced_by_plan(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> list[GroupKey]:
    """(partition, file id) of each slice in a clustering plan; empty for a requested overwrite."""
    return [one.key for one in RequestedClustering.read(timeline, instant, clock).slices]


def read_by_plan(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> frozenset[str]:
    """Names of the base and log files that a clustering plan rewrites; empty for a requested overwrite."""
    return frozenset(name for one in RequestedClustering.read(timeline, instant, clock).slices for name in one.names)
