"""Services that hold no table lock while they plan and work: each step takes it for as long as it needs it, and looks
there whether what was planned still holds.
"""

from __future__ import annotations

from abc import abstractmethod

from spark_jobs.engine.progress import Progress
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.service import P, Service, T
from spark_jobs.options.result import JobResult


class ServiceInSteps(Service[T, P]):
    """What such a service knows."""

    __slots__ = ()

    def without_plan(self, table: T, found: Nothing, progress: Progress) -> None:
        """Where nothing is to be done: what an earlier run that broke off left to do beside its plan."""

    @abstractmethod
    def shown(self, table: T, plan: P, progress: Progress) -> JobResult:
        """Of a dry run."""

    @abstractmethod
    def carry_out(self, table: T, plan: P, progress: Progress) -> JobResult:
        """Do exactly this, or less where the table has changed since."""


def run_in_steps(
    service: ServiceInSteps[T, P], table: T, progress: Progress, *, dry_run: bool, plan_hash: str | None = None
) -> JobResult:
    """Plan and carry the plan out; a dry run shows it.

    :param plan_hash: of the only plan that is to be carried out.
    :raises WriteConflictError: the plan is another one; nothing was done.
    """
    plan = service.plan(table) if plan_hash is None else service.requested(table, plan_hash)
    if isinstance(plan, JobResult):
        return plan
    if isinstance(plan, Nothing):
        if not dry_run:
            service.without_plan(table, plan, progress)
        return plan.result(service.action, table)
    return service.shown(table, plan, progress) if dry_run else service.carry_out(table, plan, progress)
