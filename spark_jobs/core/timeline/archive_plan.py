"""Which instants may go to the archive: a pure function of the timeline (Hudi: HoodieTimelineArchiver)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import COMMITS, WRITES, Action, Instant
from spark_jobs.core.format.order import latest


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How many completed instants stay (``hoodie.keep.min.commits``, ``hoodie.keep.max.commits``): more than
    ``keep_max`` make an archival due, which leaves ``keep_min``.

    ``commits_before`` and ``all_before`` are instants, exclusive: no commit, and nothing at all, that is not older than
    every one of them goes (what compaction and clustering still count, what the last clean retains; the last compaction
    of the metadata table). ``beyond_savepoints`` is ``hoodie.archive.beyond.savepoint``: commits behind the first
    savepoint go, but for those that are saved.
    """

    keep_min: int
    keep_max: int
    commits_before: tuple[str, ...] = ()
    all_before: tuple[str, ...] = ()
    beyond_savepoints: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.keep_min < self.keep_max:
            raise ConfigError(
                f"hoodie.keep.min.commits={self.keep_min} is not below hoodie.keep.max.commits={self.keep_max}",
                todo="keep at least one commit, and a larger maximum than minimum",
            )


def instants_to_archive(instants: Sequence[Instant], limits: ArchiveLimits) -> tuple[Instant, ...]:
    """The completed instants that may go now, in the order in which Hudi archives them: rollbacks, cleans,
    commits, each oldest first.

    Restores, savepoints and indexing stay for good, and so do pending instants and the commit before the first pending
    write, so that the active timeline has no gap.

    :param instants: the active timeline, each in its highest state, sorted by time.
    """
    services = [
        one
        for action in (Action.ROLLBACK, Action.CLEAN)
        for one in _oldest([each for each in instants if each.is_completed and each.action is action], limits)
    ]
    return tuple(one for one in (*services, *_commits(instants, limits)) if _is_before(one, limits.all_before))


def _commits(instants: Sequence[Instant], limits: ArchiveLimits) -> list[Instant]:
    commits = [one for one in instants if one.is_completed and one.action in COMMITS]
    if len(commits) <= limits.keep_max:
        return []
    saved = [one.timestamp for one in instants if one.is_completed and one.action is Action.SAVEPOINT]
    bounds = [*limits.commits_before, *_pending_bound(instants, commits)]
    if saved and not limits.beyond_savepoints:
        bounds.append(saved[0])
    # the newest stay, saved or not: what began after the last commit of the timeline counts for nobody (Hudi's go where
    # enough older ones are saved)
    older = commits[: len(commits) - limits.keep_min]
    return [one for one in older if _is_before(one, bounds) and one.timestamp not in saved]


def _pending_bound(instants: Sequence[Instant], commits: Sequence[Instant]) -> list[str]:
    """The last commit before the oldest pending write, or that write itself."""
    first = next((one.timestamp for one in instants if not one.is_completed and one.action in WRITES), None)
    if first is None:
        return []
    return [latest((one.timestamp for one in commits if one.precedes(first)), first)]


def _oldest(completed: Sequence[Instant], limits: ArchiveLimits) -> Sequence[Instant]:
    return completed[: len(completed) - limits.keep_min] if len(completed) > limits.keep_max else ()


def _is_before(instant: Instant, bounds: Iterable[str]) -> bool:
    return all(instant.precedes(bound) for bound in bounds)
