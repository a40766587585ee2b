"""What a writer may not publish, or not begin, beside what others did or do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import InstantGoneError, WriteConflictError
from spark_jobs.core.files.markers import read_markers
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.transaction.conflict import (
    Baseline,
    FileGroupKey,
    PlaceOf,
    as_it_is,
    candidates,
    find_conflict,
)
from spark_jobs.core.transaction.rules import Change, ConflictRules
from spark_jobs.core.view.pending import compaction_groups, replaced_by_plan

NONE: frozenset[FileGroupKey] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """What other instants of a table change, as its timeline says and their markers."""

    timeline: ActiveTimeline
    base_path: str
    clock: Clock

    def groups(self, other: Instant, shared: frozenset[FileGroupKey] = NONE) -> frozenset[FileGroupKey]:
        """Of a completed commit, of a plan, or of a write that is inflight, as far as it says.

        :param shared: left out where a completed upsert only appended to them.
        """
        if other.is_completed:
            metadata = self.timeline.commit_metadata(other, self.clock)
            appended = shared & appended_groups(metadata, self.timeline.format) if shared else NONE
            return metadata.touched_file_groups() - appended
        if other.action is Action.COMPACTION:
            return frozenset(compaction_groups(self.timeline, other, self.clock))
        if other.action is Action.REPLACE_COMMIT:
            return frozenset(replaced_by_plan(self.timeline, other, self.clock))
        return frozenset(self._begun(other))

    def is_compaction(self, other: Instant) -> bool:
        if other.action is Action.COMPACTION:
            return True
        if not other.is_completed or other.action is not Action.COMMIT:
            return False
        return self.timeline.commit_metadata(other, self.clock).operation_type is OperationType.COMPACT

    def change(self, other: Instant) -> Change:
        return Change(
            instant=other.timestamp,
            action=other.action.value,
            is_completed=other.is_completed,
            file_groups=self.groups(other),
        )

    def _begun(self, other: Instant) -> Iterator[FileGroupKey]:
        """A new file group has no id in an inflight file."""
        timeline = self.timeline
        if other.state is State.INFLIGHT:
            with suppress(InstantGoneError):
                for stat in timeline.commit_metadata(other, self.clock).write_stats:
                    if stat.file_id:
                        yield stat.partition_path, stat.file_id
        for marker in read_markers(timeline.storage, self.base_path, other.timestamp) or ():
            file = timeline.format.parse_base_file(marker.file_name) or timeline.format.parse_log_file(marker.file_name)
            if file is not None:
                yield marker.partition, file.file_id


def appended_groups(metadata: CommitMetadata, format: TableFormat) -> frozenset[FileGroupKey]:
    """File groups to which an upsert appended records to logs, and deletes none: in whatever order two of them are
    read, a record of the greatest ordering value is the same. A delete is forgotten in Hudi by a later record of a
    smaller value.
    """
    if metadata.operation_type is not OperationType.UPSERT:
        return NONE
    groups = {(stat.partition_path, stat.file_id) for stat in metadata.write_stats}
    others = {
        (stat.partition_path, stat.file_id)
        for stat in metadata.write_stats
        if stat.num_deletes or format.parse_log_file((stat.path or "").rpartition("/")[2]) is None
    }
    return frozenset(groups - others)


def refuse_conflicts(
    others: Others,
    own: Instant,
    baseline: Baseline,
    touched: frozenset[FileGroupKey],
    rules: ConflictRules,
    place_of: PlaceOf = as_it_is,
    shared: frozenset[FileGroupKey] = NONE,
) -> None:
    """
    :param shared: touched file groups that others may append to at the same time.
    :raises WriteConflictError: another writer has a touched file group, or the rules refuse both.
    """
    is_rewriting = own.action is Action.REPLACE_COMMIT
    found = candidates(
        others.timeline,
        own,
        baseline,
        yields_to_clusterings=rules.yields_to_clusterings or is_rewriting,
        yields_to_writes=rules.yields_to_writes and is_rewriting,
    )
    conflict = find_conflict(
        found,
        own,
        touched,
        lambda other: others.groups(other, shared),
        others.is_compaction,
        place_of,
    )
    if conflict is not None:
        raise _conflict(own, *conflict)
    mine = Change(instant=own.timestamp, action=own.action.value, is_completed=False, file_groups=touched)
    for other in found if rules.own else ():
        if rules.refuses(mine, others.change(other)):
            raise WriteConflictError(
                f"instant {own.timestamp} may not be published beside {other}, says {rules.own}",
                todo=_again(other),
                instant=own.timestamp,
                other=other.timestamp,
            )


def refuse_earlier(
    others: Others,
    own: Instant,
    touched: frozenset[FileGroupKey],
    is_alive: Callable[[Instant], bool],
    place_of: PlaceOf = as_it_is,
) -> None:
    """Asked before the first file is made: of two writes of one file group the later one ends, as it would at its end
    (Hudi: MarkerUtils.getCandidateInstants, which asks at each file, and the later one alone).

    :raises WriteConflictError: an earlier write that is under way has a touched file group.
    """
    mine = {place_of(group): group for group in touched}
    for other in others.timeline.pending({Action.COMMIT, Action.DELTA_COMMIT}):
        if other.precedes(own.timestamp) and is_alive(other):
            common = frozenset(mine[place] for place in map(place_of, others.groups(other)) if place in mine)
            if common:
                raise _conflict(own, other, common)


def _conflict(own: Instant, other: Instant, common: frozenset[FileGroupKey]) -> WriteConflictError:
    partition, file_id = min(common)
    is_outdated = own.action is Action.REPLACE_COMMIT and other.follows(own.timestamp)
    return WriteConflictError(
        f"instant {own.timestamp} and {other} both changed {len(common)} file group(s), "
        f"such as {file_id} in partition {partition!r}",
        todo=f"take the plan back (`--mode cancel --instant-time {own.timestamp}`), it is out of date"
        if is_outdated
        else _again(other),
        instant=own.timestamp,
        other=other.timestamp,
    )


def _again(other: Instant) -> str:
    return "run it again" if other.is_completed else f"run it again when {other.timestamp} is completed"
