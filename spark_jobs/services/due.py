"""When a service is due, or the reason why it is not; pure."""

from __future__ import annotations

from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.instant import Action, Instant, State


def delta_commits_since_compaction(timeline: ActiveTimeline) -> list[Instant]:
    """Completed delta commits after the newest compaction that completed, all of them where none did."""
    last = max((one.timestamp for one in timeline.completed(Action.COMMIT)), default="")
    return [one for one in timeline.completed(Action.DELTA_COMMIT) if one.timestamp > last]


def commits_since(timeline: ActiveTimeline, after: str) -> list[Instant]:
    """Completed writes later than an instant (exclusive)."""
    return [one for one in timeline.completed_commits() if one.timestamp > after]


def pending_plans(timeline: ActiveTimeline, action: Action) -> list[Instant]:
    """Plans on the timeline that nobody carried out, oldest first."""
    return [one for one in timeline.instants if one.action is action and one.state is not State.COMPLETED]
