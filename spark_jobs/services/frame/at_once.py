"""Services that carry their plan out as soon as it is made, under the table lock.

Those whose plan stands on the timeline first, for a later run or another process, are in ``services/rewriting``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.opening import Opened
from spark_jobs.services.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.services.frame.refresh import with_refresh

P = TypeVar("P")
_REFRESHES = 3


class ServiceAtOnce(ABC, Generic[P]):
    """What such a service knows; ``P`` is its plan, which holds all that is going to be done."""

    __slots__ = ()
    action: ClassVar[str]
    """Of its results."""

    @abstractmethod
    def plan(self, table: HudiTable) -> P | Nothing:
        """What there is to do; nothing is changed by it.

        :raises ConfigError: what is asked for can't be done.
        :raises WriteConflictError: not now.
        """

    def facts(self, plan: P) -> PlanFacts | None:
        """What the hash of a plan is made of; None where the options take no hash."""
        return None

    def requested(self, table: HudiTable, plan: P | Nothing, plan_hash: str) -> P | Nothing | JobResult:
        """The plan of a hash: the one that was made now, or what an earlier run by the hash left of its own; the result
        of that run, where it left nothing.

        :raises WriteConflictError: the hash means another plan.
        """
        now = plan if isinstance(plan, Nothing) else self.facts(plan)
        if now is not None:
            refuse_other_plan(plan_hash, now, table.timeline)
        return plan

    def finish_pending(self, locked: TransactionSettings, progress: Progress) -> None:
        """Where there is no plan: end what an earlier run left pending. Plans hold that themselves."""

    @abstractmethod
    def carry_out(self, locked: TransactionSettings, table: HudiTable, plan: P, progress: Progress) -> dict[str, Any]:
        """Do exactly this; ``locked`` holds the table lock, and has since this was planned.

        :returns: what :meth:`result` is to say of it, beside the plan.
        """

    @abstractmethod
    def result(self, table: HudiTable, plan: P, progress: Progress, done: dict[str, Any] | None) -> JobResult:
        """:param done: what was given back by :meth:`carry_out`; None for a dry run."""


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
        return carry_out_at_once(service, locked, opened.table.refreshed(locked.storage), progress, plan_hash=plan_hash)


def carry_out_at_once(
    service: ServiceAtOnce[P],
    locked: TransactionSettings,
    table: HudiTable,
    progress: Progress,
    *,
    plan_hash: str | None = None,
) -> JobResult:
    """As :func:`run_at_once`; ``locked`` holds the table lock."""
    refuse_pending_restore(table.timeline)
    with progress.phase("plan"):
        plan: P | Nothing | JobResult = service.plan(table)
    if plan_hash is not None and not isinstance(plan, JobResult):
        plan = service.requested(table, plan, plan_hash)
    if isinstance(plan, JobResult):
        return plan
    if isinstance(plan, Nothing):
        service.finish_pending(locked, progress)
        return plan.result(service.action, table)
    return service.result(table, plan, progress, service.carry_out(locked, table, plan, progress))


def _shown(service: ServiceAtOnce[P], table: HudiTable, progress: Progress) -> JobResult:
    with progress.phase("plan"):
        plan = service.plan(table)
    if isinstance(plan, Nothing):
        return plan.result(service.action, table)
    return service.result(table, plan, progress, None)
