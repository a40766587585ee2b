"""Cleans that were left pending: by a worker that died, or by a budget that was spent."""

from __future__ import annotations

from spark_jobs.core.files.names import join
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.services.cleaning.plan import CleanPlan
from spark_jobs.services.plan_hash import PLAN_HASH_KEY, digest_of


def pending_plan(table: HudiTable) -> tuple[Instant, CleanPlan] | None:
    """The first clean that was left pending with a plan."""
    for pending in table.timeline.pending({Action.CLEAN}):
        if table.timeline.has_content(pending.at(State.REQUESTED)):
            return pending, plan_on_timeline(table, pending)[0]
    return None


def plan_on_timeline(table: HudiTable, pending: Instant) -> tuple[CleanPlan, dict[str, int]]:
    """The plan, and bytes by relative path of its files that are there; those that are gone count 0 in the plan."""
    raw = table.timeline.payload(pending.at(State.REQUESTED), table.clock)
    found: dict[str, int] = {}
    for partition in raw["filePathsToBeDeletedPerPartition"] or {}:
        listed = table.storage.list(join(table.base_path, partition).rstrip("/"))
        found.update({join(partition, status.name): status.size for status in listed})
    plan = CleanPlan.from_avro(raw, lambda path: found.get(path, 0))
    return plan, {path: found[path] for path in plan.sizes if path in found}


def is_meant(table: HudiTable, pending: Instant, plan_hash: str) -> bool:
    """Whether a pending clean was planned by this hash: an earlier run by it did a part."""
    raw = table.timeline.payload(pending.at(State.REQUESTED), table.clock)
    return bool((raw.get("extraMetadata") or {}).get(PLAN_HASH_KEY) == digest_of(plan_hash))
