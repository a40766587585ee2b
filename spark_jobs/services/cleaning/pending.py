"""Cleans that were left pending: by a worker that died, or by a budget that was spent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY, PlanFacts, digest_of, refuse_other_plan
from spark_jobs.services.cleaning.plan import ACTION, CleanPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingClean:
    """``there`` are bytes by relative path of the plan's files that are there still."""

    instant: Instant
    plan: CleanPlan
    there: Mapping[str, int]
    note: Mapping[str, str]

    @property
    def facts(self) -> PlanFacts:
        """Of what is left; the plan stands on the timeline, so that its instant is enough of a name."""
        content = {"finishes": self.instant.timestamp}
        return PlanFacts(service=ACTION, content=content, files=len(self.there), bytes=sum(self.there.values()))

    def is_requested_by(self, asked: str) -> bool:
        """Whether a hash was printed for this plan: before it was on the timeline, or since."""
        names = (self.note.get(PLAN_HASH_KEY), self.plan.facts.digest, self.facts.digest)
        return digest_of(asked) in names

    def refuse_other(self, asked: str, table: HudiTable) -> None:
        """
        :raises WriteConflictError: the hash means another plan.
        """
        if not self.is_requested_by(asked):
            refuse_other_plan(asked, self.facts, table.timeline)


def pending_clean(table: HudiTable) -> PendingClean | None:
    """The first clean that was left pending with a plan."""
    for pending in table.timeline.pending({Action.CLEAN}):
        if table.timeline.has_content(pending.at(State.REQUESTED)):
            return read_pending(table, pending)
    return None


def read_pending(table: HudiTable, pending: Instant) -> PendingClean:
    requested = RequestedClean.read(table.timeline, pending, table.clock)
    plan, there = _plan_of(table, requested)
    return PendingClean(instant=pending, plan=plan, there=there, note=requested.note)


def done_before(table: HudiTable, asked: str) -> Instant | None:
    """The completed clean that was done by this hash: a retry finds it done."""
    digest = digest_of(asked)
    for done in reversed(table.timeline.completed(Action.CLEAN)):
        with suppress(CorruptTableError, StorageError):  # Hudi leaves one unreadable when it dies
            if table.timeline.clean_result(done, table.clock).note.get(PLAN_HASH_KEY) == digest:
                return done
    return None


def _plan_of(table: HudiTable, requested: RequestedClean) -> tuple[CleanPlan, dict[str, int]]:
    """The plan, and bytes by relative path of its files that are there; those that are gone count 0 in the plan."""
    found: dict[str, int] = {}
    for partition in requested.deletions:
        listed = table.storage.list(resolve(table.base_path, RelativePath(partition)))
        found.update({join(partition, status.name): status.size for status in listed})
    plan = CleanPlan.of(requested, lambda path: found.get(path, 0))
    return plan, {path: found[path] for path in plan.sizes if path in found}
