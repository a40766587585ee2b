"""When a compaction is due (Hudi: ScheduleCompactionActionExecutor.needCompact, CompactionUtils); pure."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys.compact import COMPACT_MAX_DELTA_SECONDS, CompactionTrigger
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.instant_time import parse_instant_time
from spark_jobs.core.timeline.active import ActiveTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSettings:
    """``delta_commits`` and ``delta_seconds`` that make a compaction due, both inclusive."""

    strategy: CompactionTrigger
    delta_commits: int
    delta_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SinceCompaction:
    """``commits`` completed delta commits came after ``since``: the last compaction that counts, or, where there is
    none, from the first delta commit on (which is counted).
    """

    commits: int
    since: Instant


def why_not_due(timeline: ActiveTimeline, settings: TriggerSettings, now: str) -> str | None:
    """None where a compaction is due, else the reason with its numbers.

    :param now: the instant that the compaction would have.
    """
    since = _since(timeline, timeline.completed(Action.COMMIT))
    if since is None:
        return "the table has no delta commit"
    if settings.strategy is CompactionTrigger.NUM_COMMITS_AFTER_LAST_REQUEST:
        requested = timeline.pending({Action.COMPACTION}) or timeline.completed(Action.COMMIT)
        since = _since(timeline, requested)
        if since is None:
            return "the table has no delta commit"
        return _too_few(since, settings, "compaction, planned or done")
    few, soon = _too_few(since, settings, "compaction"), _too_soon(since, settings, now)
    if settings.strategy is CompactionTrigger.NUM_COMMITS:
        return few
    if settings.strategy is CompactionTrigger.TIME_ELAPSED:
        return soon
    if settings.strategy is CompactionTrigger.NUM_OR_TIME:
        return f"{few}; {soon}" if few and soon else None
    return "; ".join(filter(None, (few, soon))) or None


def _since(timeline: ActiveTimeline, compactions: tuple[Instant, ...]) -> SinceCompaction | None:
    deltas = timeline.completed(Action.DELTA_COMMIT)  # Hudi counts those under way too, which a plan can't take in
    if compactions:
        last = compactions[-1]
        return SinceCompaction(commits=sum(one.follows(last.timestamp) for one in deltas), since=last)
    return SinceCompaction(commits=len(deltas), since=deltas[0]) if deltas else None


def _too_few(since: SinceCompaction, settings: TriggerSettings, what: str) -> str | None:
    if since.commits >= settings.delta_commits:
        return None
    return (
        f"{since.commits} delta commit(s) since the last {what}, {settings.delta_commits} make it due "
        f"({compact_keys.COMPACT_MAX_DELTA_COMMITS.name})"
    )


def _too_soon(since: SinceCompaction, settings: TriggerSettings, now: str) -> str | None:
    seconds = _whole_seconds(now) - _whole_seconds(since.since.timestamp)
    if seconds >= settings.delta_seconds:
        return None
    return (
        f"{seconds} second(s) since {since.since}, {settings.delta_seconds} make it due "
        f"({COMPACT_MAX_DELTA_SECONDS.name})"
    )


def _whole_seconds(instant: str) -> int:
    moment = parse_instant_time(instant)
    return moment.toordinal() * 86400 + moment.hour * 3600 + moment.minute * 60 + moment.second
