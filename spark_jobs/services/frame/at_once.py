"""Services that carry their plan out as soon as it is made, under the table lock.

Those whose plan stands on the timeline first, for a later run or another process, are in ``services/rewriting``.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeVar

from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import refuse_pending_restore
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.opening import Opened
from spark_jobs.services.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.services.frame.refresh import with_refresh

P = TypeVar("P")
_REFRESHES = 3


class ServiceAtOnce(Protocol[P]):
    """What such a service knows; ``P`` is its plan, which holds all that is going to be done."""

    action: ClassVar[str]
    """Of its results."""

    def plan(self, table: HudiTable) -> P | Nothing:
        """What there is to do; nothing is changed by it.

        :raises ConfigError: what is asked for can't be done.
        :raises WriteConflictError: not now.
        """
        ...

    def facts(self, plan: P) -> PlanFacts | None:
        """What the hash of a plan is made of; None where the options take no hash."""
        ...

    def carry_out(self, table: HudiTable, plan: P, progress: Progress) -> None:
        """Do exactly this; the caller holds the table lock, and has since this was planned."""
        ...

    def result(self, table: HudiTable, plan: P, progress: Progress, *, dry_run: bool) -> JobResult:
        """Of what was done, or in a dry run would be."""
        ...


def run_at_once(
    service: ServiceAtOnce[P], opened: Opened, progress: Progress, *, dry_run: bool, plan_hash: str | None = None
) -> JobResult:
    """Plan under the table lock and carry the plan out; a dry run takes no lock and shows the plan.

    :param plan_hash: of the only plan that is to be carried out.
    :raises WriteConflictError: a restore is pending, or the plan is another one.
    """
    if dry_run:
        return with_refresh(opened.table, lambda table: _shown(service, table, progress), _REFRESHES)
    with opened.settings.new_lock() as locked:
        return carry_out_at_once(service, opened.table.refreshed(locked.storage), progress, plan_hash=plan_hash)


def carry_out_at_once(
    service: ServiceAtOnce[P], table: HudiTable, progress: Progress, *, plan_hash: str | None = None
) -> JobResult:
    """As :func:`run_at_once`; the caller holds the table lock."""
    refuse_pending_restore(table.timeline)
    with progress.phase("plan"):
        plan = service.plan(table)
    if plan_hash is not None:
        now = plan if isinstance(plan, Nothing) else service.facts(plan)
        if now is not None:
            refuse_other_plan(plan_hash, now, table.timeline)
    if isinstance(plan, Nothing):
        return plan.result(service.action, table)
    service.carry_out(table, plan, progress)
    return service.result(table, plan, progress, dry_run=False)


def _shown(service: ServiceAtOnce[P], table: HudiTable, progress: Progress) -> JobResult:
    plan = service.plan(table)
    if isinstance(plan, Nothing):
        return plan.result(service.action, table)
    return service.result(table, plan, progress, dry_run=True)
