"""What plans on the timeline hold, read into one value (Hudi: CompactionUtils, ClusteringUtils)."""

from __future__ import annotations

from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage import RelativePath, join
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payload_paths import files_of_clean
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
    requested = clean.at(State.REQUESTED)
    if not timeline.has_content(requested):
        return frozenset()
    planned = files_of_clean(timeline.payload(requested, clock))
    return frozenset(join(partition, name) for partition, names in planned.items() for name in names)


def compaction_groups(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> list[GroupKey]:
    """(partition, file id) of each operation of a compaction plan, in its order."""
    plan = timeline.plan(instant, clock)
    return [(one["partitionPath"] or "", one["fileId"] or "") for one in plan["operations"] or []]


def replaced_by_plan(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> list[GroupKey]:
    """(partition, file id) of each slice in a clustering plan; empty for a requested overwrite."""
    return [(one["partitionPath"] or "", one["fileId"] or "") for one in _clustered_slices(timeline, instant, clock)]


def read_by_plan(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> frozenset[str]:
    """Names of the base and log files that a clustering plan rewrites; empty for a requested overwrite."""
    slices = _clustered_slices(timeline, instant, clock)
    paths = [path for one in slices for path in (one.get("dataFilePath"), *(one.get("deltaFilePaths") or ()))]
    return frozenset(path.rsplit("/", 1)[-1] for path in paths if path)


def _clustered_slices(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> list[dict[str, Any]]:
    requested = instant.at(State.REQUESTED)
    if not timeline.has_content(requested):
        return []
    plan = timeline.payload(requested, clock).get("clusteringPlan") or {}
    return [one for group in plan.get("inputGroups") or [] for one in group["slices"] or []]
