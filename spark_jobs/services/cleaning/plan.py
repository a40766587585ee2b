"""Which files no retained instant needs (Hudi: CleanPlanner); pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from spark_jobs.core.config.keys.clean import CleaningPolicy
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.order import AFTER_ALL, earliest, follows, is_up_to, latest, precedes
from spark_jobs.core.storage import join
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.view.file_slice import FileGroup, FileSlice
from spark_jobs.frame.plan_hash import PlanFacts

ACTION = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSettings:
    """``retained`` commits, file slices or hours, by the policy; of hours, ``since`` is the instant at which they
    begin.
    """

    policy: CleaningPolicy
    retained: int
    since: str = ""

    @property
    def by_versions(self) -> bool:
        return self.policy is CleaningPolicy.KEEP_LATEST_FILE_VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPlan:
    """``deletions`` maps a partition to (file name, bytes); ``retain_from`` is the earliest instant whose slices all
    stay; ``held`` counts files that only a savepoint or a pending plan keeps.
    """

    settings: CleanSettings
    retain_from: Instant | None
    last_completed: str
    deletions: Mapping[str, tuple[tuple[str, int], ...]]
    empty_partitions: tuple[str, ...] = ()
    savepoints: tuple[str, ...] = field(default=())
    held: int = 0

    @property
    def files(self) -> int:
        return sum(len(names) for names in self.deletions.values())

    @property
    def bytes(self) -> int:
        return sum(size for names in self.deletions.values() for _, size in names)

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file by its relative path."""
        return {join(partition, name): size for partition, names in self.deletions.items() for name, size in names}

    def requested(self, note: Mapping[str, str] = MappingProxyType({})) -> RequestedClean:
        """As it stands on the timeline.

        :param note: extra metadata of the plan.
        """
        retain = self.retain_from
        saved = {"savepointed_timestamps": ",".join(self.savepoints)} if self.savepoints else {}
        return RequestedClean(
            policy=self.settings.policy.value,
            deletions={partition: tuple(name for name, _ in names) for partition, names in self.deletions.items()},
            retained_from=retain.timestamp if retain else "",
            retained_action=retain.action.value if retain else "",
            last_completed=self.last_completed,
            emptied=self.empty_partitions,
            note={**saved, **note},
        )

    @staticmethod
    def of(requested: RequestedClean, size_of: Callable[[str], int]) -> CleanPlan:
        """A plan on the timeline, this project's or Hudi's.

        :param size_of: bytes of a file by its relative path.
        """
        retain = None
        if requested.retained_from:
            retain = Instant(requested.retained_from, Action(requested.retained_action), State.COMPLETED)
        names = {partition: sorted(files) for partition, files in requested.deletions.items()}
        return CleanPlan(
            settings=CleanSettings(policy=CleaningPolicy(requested.policy), retained=0),
            retain_from=retain,
            last_completed=requested.last_completed,
            deletions={
                partition: tuple((name, size_of(join(partition, name))) for name in found)
                for partition, found in names.items()
                if found
            },
            empty_partitions=tuple(sorted(requested.emptied)),
        )

    @property
    def facts(self) -> PlanFacts:
        content = {
            "policy": self.settings.policy.value,
            "retain_from": self.retain_from.timestamp if self.retain_from else None,
            "deletions": {partition: [list(one) for one in names] for partition, names in self.deletions.items()},
            "empty_partitions": list(self.empty_partitions),
        }
        return PlanFacts(service=ACTION, content=content, files=self.files, bytes=self.bytes)

    def to_json(self) -> dict[str, Any]:
        """For a person: the exact deletions."""
        return {
            "policy": self.settings.policy.value,
            "retain_from": self.retain_from.timestamp if self.retain_from else None,
            "deletions": {partition: [name for name, _ in names] for partition, names in self.deletions.items()},
            "bytes": {partition: sum(size for _, size in names) for partition, names in self.deletions.items()},
            "empty_partitions": list(self.empty_partitions),
        }


def earliest_retained(completed: Sequence[Instant], pending: Iterable[str], retained: int) -> Instant | None:
    """The instant from which on every file slice stays; None while there are no more than ``retained`` completed
    commits. Never past a pending write.
    """
    if len(completed) <= retained:
        return None
    return _not_past_pending(completed[-retained], completed, pending)


def earliest_since(completed: Sequence[Instant], pending: Iterable[str], since: str) -> Instant | None:
    """The first completed commit from an instant on (inclusive), but never past a pending write; None where none is as
    young. (Hudi does not look at pending writes here.)
    """
    first = next((one for one in completed if one.is_from(since)), None)
    return None if first is None else _not_past_pending(first, completed, pending)


def _not_past_pending(wanted: Instant, completed: Sequence[Instant], pending: Iterable[str]) -> Instant | None:
    """Or the last commit completed before the earliest pending write."""
    earliest_pending = earliest(pending, AFTER_ALL)
    if not wanted.follows(earliest_pending):
        return wanted
    before = [one for one in completed if one.precedes(earliest_pending)]
    return before[-1] if before else None


def retained_by(settings: CleanSettings, completed: Sequence[Instant], pending: Iterable[str]) -> Instant | None:
    """The instant from which on every file slice stays; None where the policy counts versions, or nothing is to go."""
    if settings.by_versions:
        return None
    if settings.policy is CleaningPolicy.KEEP_LATEST_BY_HOURS:
        return earliest_since(completed, pending, settings.since)
    return earliest_retained(completed, pending, settings.retained)


def plan_cleaning(
    groups: Iterable[FileGroup],
    settings: CleanSettings,
    *,
    completed: Sequence[Instant],
    pending: Iterable[str],
    protected: frozenset[str],
    savepoints: tuple[str, ...] = (),
) -> CleanPlan:
    """Which files go.

    :param groups: with all their slices, replaced ones too.
    :param completed: completed commits, oldest first.
    :param pending: times of pending writes and plans.
    :param protected: names of files that a savepoint or a pending plan needs.
    """
    retain = retained_by(settings, completed, pending)
    deletions: dict[str, list[tuple[str, int]]] = {}
    kept: set[str] = set()
    held = 0
    for group in groups:
        deletable = _by_versions(group, settings.retained) if settings.by_versions else _by_commits(group, retain)
        free = [one for one in deletable if not protected.intersection(path.rsplit("/", 1)[-1] for path in one.paths)]
        held += sum(len(one.paths) for one in deletable) - sum(len(one.paths) for one in free)
        gone = [(path.rsplit("/", 1)[-1], size) for one in free for path, size in one.sizes]
        deletions.setdefault(group.partition, []).extend(gone)
        if len(gone) < sum(len(one.paths) for one in group.slices):
            kept.add(group.partition)
    chosen = {partition: tuple(sorted(names)) for partition, names in deletions.items() if names}
    return CleanPlan(
        settings=settings,
        retain_from=retain,
        last_completed=completed[-1].timestamp if completed else "",
        deletions=chosen,
        empty_partitions=tuple(sorted(partition for partition in chosen if partition and partition not in kept)),
        savepoints=savepoints,
        held=held,
    )


def needed_as_of(groups: Iterable[FileGroup], moments: Sequence[str]) -> frozenset[str]:
    """Names of the files that readers of these moments need now. A savepoint names those that were there when it was
    made, and not what older writes and plans made that were pending then (Hudi's cleaning takes that).

    :param groups: with all their slices, replaced ones too.
    """
    names: set[str] = set()
    for group in groups:
        for moment in moments:
            if group.replaced_at is not None and is_up_to(group.replaced_at, moment):
                continue
            for one in group.slices:
                if follows(one.base_instant, moment):
                    continue
                names.update(path.rsplit("/", 1)[-1] for path in one.paths)
                if one.base_file is not None:  # logs alone stand on the slice before them
                    break
    return frozenset(names)


def _by_commits(group: FileGroup, retain: Instant | None) -> list[FileSlice]:
    """Slices older than the one that the earliest retained instant reads; of a group replaced before it, all."""
    if retain is None:
        return []
    if group.replaced_at is not None and precedes(group.replaced_at, retain.timestamp):
        return list(group.slices)
    older = [one for one in group.slices if precedes(one.base_instant, retain.timestamp)]
    return _without_pending(group, [one for one in older[1:] if one is not group.slices[0]])


def _by_versions(group: FileGroup, retained: int) -> list[FileSlice]:
    if group.replaced_at is not None:
        return list(group.slices)
    if group.pending_compaction is None:
        return list(group.slices[max(retained, 1) :])
    # what the compaction needs is one version together, as its result will be
    free = _without_pending(group, list(group.slices))
    return free[max(retained - 1, 0) :]


def _without_pending(group: FileGroup, deletable: list[FileSlice]) -> list[FileSlice]:
    """A pending compaction reads the newest slice below its own instant: that one and all later ones stay."""
    if group.pending_compaction is None:
        return deletable
    sources = [one.base_instant for one in group.slices if precedes(one.base_instant, group.pending_compaction)]
    oldest_needed = latest(sources)
    return [one for one in deletable if precedes(one.base_instant, oldest_needed)]
