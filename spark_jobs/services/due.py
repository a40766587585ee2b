"""When a service is due, or the reason why it is not; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from spark_jobs.core.clock import Clock
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.order import latest, oldest_first
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.pending import compaction_groups

GroupKey = tuple[str, str]


def delta_commits_since_compaction(timeline: ActiveTimeline) -> list[Instant]:
    """Completed delta commits after the newest compaction that completed, all of them where none did."""
    last = latest(one.timestamp for one in timeline.completed(Action.COMMIT))
    return [one for one in timeline.completed(Action.DELTA_COMMIT) if one.follows(last)]


def commits_since(timeline: ActiveTimeline, after: str) -> list[Instant]:
    """Completed writes later than an instant (exclusive)."""
    return list(timeline.commits_after(after))


def pending_plans(timeline: ActiveTimeline, action: Action) -> list[Instant]:
    """Pending plans on the timeline, oldest first."""
    return [one for one in timeline.instants if one.action is action and one.state is not State.COMPLETED]


def log_compacted(timeline: ActiveTimeline, clock: Clock) -> dict[GroupKey, str]:
    """(partition, file id) -> instant, of the file groups of pending log compactions."""
    found: dict[GroupKey, str] = {}
    for instant in pending_plans(timeline, Action.LOG_COMPACTION):
        found.update(dict.fromkeys(compaction_groups(timeline, instant, clock), instant.timestamp))
    return found


def under_way(timeline: ActiveTimeline, clock: Clock, is_alive: Callable[[Instant], bool]) -> dict[GroupKey, str]:
    """(partition, file id) -> instant, of the living writes that are inflight and say what they change.

    What such a write appends would come to the slice that a new plan replaces: one of the two would have to fail.
    """
    found: dict[GroupKey, str] = {}
    for one in timeline.pending({Action.DELTA_COMMIT, Action.COMMIT}):
        if one.state is State.INFLIGHT and is_alive(one):
            touched = timeline.commit_metadata(one, clock).touched_file_groups()
            found.update(dict.fromkeys(touched, one.timestamp))
    return found


def what_blocks(slices: Iterable[FileSlice], busy: Mapping[GroupKey, str], kinds: Mapping[str, str]) -> str:
    """How many of the slices wait for which instant; empty where none does.

    :param kinds: what an instant is, by its time.
    """
    counted = Counter(busy[key] for one in slices if (key := (one.partition, one.file_id)) in busy)
    return ", ".join(f"{counted[one]} in {kinds.get(one, 'instant')} {one}" for one in oldest_first(counted))


def kinds_of(timeline: ActiveTimeline, instants: Collection[str]) -> dict[str, str]:
    """``pending compaction`` and the like, by instant."""
    names = {Action.REPLACE_COMMIT: "clustering", Action.LOG_COMPACTION: "log compaction"}
    return {
        one.timestamp: f"pending {names.get(one.action, one.action.value)}"
        for one in timeline.instants
        if one.timestamp in instants and not one.is_completed
    }
