"""Which instants leave the active timeline now, and what keeps the others there (Hudi: HoodieTimelineArchiver,
ArchivalUtils).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.config.keys import archive as keys
from spark_jobs.core.format.instant import COMMITS, WRITES, Action, Instant
from spark_jobs.core.format.order import earliest, follows, latest, precedes
from spark_jobs.core.timeline.archive_plan import ArchiveLimits, instants_to_archive
from spark_jobs.frame.nothing import Nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No commit goes that is not older than ``before`` (with ``for_all``: no instant of any action); ``why`` says whose
    need it is.
    """

    before: str
    why: str
    for_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How many commits stay: more than ``most`` make an archival due, which leaves ``least``.

    ``raised_for`` is the earliest commit that cleaning retains, where that asks for more than was configured;
    ``held_back_by`` is the pending write without which it would retain less.
    """

    least: int
    most: int
    raised_for: str = ""
    held_back_by: str = ""

    @staticmethod
    def of(
        properties: Mapping[str, str], commits: list[str], retained_from: str | None, held_back_by: str = ""
    ) -> Keep:
        """
        :param commits: times of the completed commits, oldest first.
        :param retained_from: what cleaning by the same configuration would retain from now on.
        """
        least, most = keys.KEEP_MIN_COMMITS.of(properties), keys.KEEP_MAX_COMMITS.of(properties)
        needed = sum(follows(time, retained_from) for time in commits) + 2 if retained_from else 0
        if needed <= least:
            return Keep(least=least, most=most)
        raised_for = retained_from or ""
        return Keep(least=needed, most=needed + most - least, raised_for=raised_for, held_back_by=held_back_by)

    @property
    def text(self) -> str:
        if self.raised_for:
            held = f", held back by {self.held_back_by}, which is pending" if self.held_back_by else ""
            return f"{self.most} (since cleaning retains from {self.raised_for}{held})"
        return f"{self.most} ({keys.KEEP_MAX_COMMITS.name})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalPlan:
    """``instants`` go, in the order in which Hudi archives them."""

    instants: tuple[Instant, ...]
    keep: Keep
    held_by: Bound | None = None
    """What kept more commits from going, if anything."""

    @property
    def blocker(self) -> str | None:
        """The same in words; also what holds cleaning back, for which more commits have to stay."""
        held_back = f"{self.keep.held_back_by}, which is pending" if self.keep.held_back_by else None
        return self.held_by.why if self.held_by else held_back


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineFacts:
    """The active timeline, each instant in its highest state, sorted by time; and who needs what of it."""

    instants: tuple[Instant, ...]
    bounds: tuple[Bound, ...]
    beyond_savepoints: bool = False

    @property
    def commits(self) -> list[str]:
        return [one.timestamp for one in self.instants if one.is_completed and one.action in COMMITS]

    def count(self, actions: Collection[Action]) -> int:
        """Of completed instants."""
        return sum(one.is_completed and one.action in actions for one in self.instants)

    @property
    def all_bounds(self) -> list[Bound]:
        """With those of pending writes and savepoints, which the timeline itself tells."""
        found = list(self.bounds)
        pending = [one for one in self.instants if not one.is_completed and one.action in WRITES]
        if pending:
            first = pending[0].timestamp
            before = latest((time for time in self.commits if precedes(time, first)), first)
            found.append(Bound(before=before, why=f"{pending[0]}, which is pending"))
        saved = [one for one in self.instants if one.is_completed and one.action is Action.SAVEPOINT]
        if saved and not self.beyond_savepoints:
            found.append(Bound(before=saved[0].timestamp, why=f"savepoint {saved[0].timestamp}"))
        return found


def plan_archival(facts: TimelineFacts, keep: Keep) -> tuple[tuple[Instant, ...], Bound | None]:
    """The instants that go, and the bound that kept more commits from going (None: only the number that stays did)."""
    limits = ArchiveLimits(
        keep_min=keep.least,
        keep_max=keep.most,
        commits_before=tuple(one.before for one in facts.bounds if not one.for_all),
        all_before=tuple(one.before for one in facts.bounds if one.for_all),
        beyond_savepoints=facts.beyond_savepoints,
    )
    chosen = instants_to_archive(facts.instants, limits)
    if _held(facts, keep, chosen, COMMITS):
        return chosen, _first(facts.all_bounds)
    if any(_held(facts, keep, chosen, {action}) for action in _SERVICES):
        return chosen, _first([one for one in facts.bounds if one.for_all])
    return chosen, None


_SERVICES = (Action.CLEAN, Action.ROLLBACK)


def _first(bounds: Sequence[Bound]) -> Bound | None:
    """The one that keeps the most."""
    before = earliest(one.before for one in bounds)
    return next((one for one in bounds if one.before == before), None)


def _held(facts: TimelineFacts, keep: Keep, chosen: Collection[Instant], actions: Collection[Action]) -> bool:
    """Whether more instants of these actions would go, were it by their number."""
    count, going = facts.count(actions), sum(one.action in actions for one in chosen)
    return count > keep.most and going < count - keep.least


def why_nothing(facts: TimelineFacts, keep: Keep, held_by: Bound | None) -> Nothing:
    """With the numbers that decided, and what is in the way."""
    counts = [f"{len(facts.commits)} completed commit(s)"]
    counts += [f"{count} {action.value}(s)" for action in _SERVICES if (count := facts.count({action}))]
    text = ", ".join(counts)
    if held_by is not None:
        since = f"all from {held_by.before} on" if held_by.before else "all"
        return Nothing(f"{text}; {keep.least} of one kind are to stay, but {held_by.why} keeps {since}")
    return Nothing(f"{text}; more than {keep.text} of one kind make it due")
