"""Services that carry their plan out as soon as it is made, under the table lock.

Those whose plan stands on the timeline first, for a later run or another process, are in ``services/rewriting``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import Opened
from spark_jobs.frame.refresh import with_refresh
from spark_jobs.frame.service import P, Service
from spark_jobs.options.result import JobResult

_REFRESHES = 3


class ServiceAtOnce(Service[HudiTable, P]):
    """What such a service knows. A run goes through the methods in their order here, and plans after :meth:`settle`.
    Those that have a body are for services which need them.
    """

    __slots__ = ()
    beside_restores: ClassVar[bool] = False
    """Whether it runs while a restore is pending; the others wait for its end."""

    def rolls_back_failed_writes(self) -> bool:
        """Whether :meth:`roll_back_failed_writes` does anything."""
        return False

    def failed_writes(self, table: HudiTable) -> Sequence[Instant]:
        """Pending writes that it rolls back: plans are made as if these were gone."""
        return ()

    def done_before(self, table: HudiTable, plan_hash: str) -> JobResult | None:
        """The result of an earlier run by the hash that left nothing to do; None where there was none.

        :raises ConfigError: this is no hash of a plan.
        """
        return None

    def roll_back_failed_writes(self, progress: Progress) -> None:
        """Before the plan, and not under the table lock."""

    def settle(self, locked: TransactionSettings, table: HudiTable, progress: Progress) -> HudiTable:
        """End what earlier runs left pending, where that is no plan of a run of its own.

        :returns: the table as it stands then.
        """
        return table

    def without_plan(
        self, locked: TransactionSettings, table: HudiTable, found: Nothing | JobResult, progress: Progress
    ) -> None:
        """Where nothing is to be done: what an earlier run that broke off left to do beside its plan."""

    @abstractmethod
    def shown(self, table: HudiTable, plan: P, progress: Progress) -> JobResult:
        """Of a dry run."""

    @abstractmethod
    def carry_out(self, locked: TransactionSettings, table: HudiTable, plan: P, progress: Progress) -> JobResult:
        """Do exactly this; ``locked`` holds the table lock, and has since this was planned."""

    def with_rollbacks(self, result: JobResult, table: HudiTable, failed: Sequence[Instant]) -> JobResult:
        """The result of a dry run, which names the failed writes that are rolled back before the plan.

        :param table: as it stands before that.
        """
        return replace(result, extra={**result.extra, "rolls_back": [one.timestamp for one in failed]})


def run_at_once(
    service: ServiceAtOnce[P], opened: Opened, progress: Progress, *, dry_run: bool, plan_hash: str | None = None
) -> JobResult:
    """Plan under the table lock and carry the plan out; a dry run takes no lock and shows the plan.

    :param plan_hash: of the only plan that is to be carried out.
    :raises WriteConflictError: a restore is pending, or the plan is another one; nothing was done.
    """
    table = opened.table
    if dry_run:
        return with_refresh(table, lambda table: _shown(service, table, progress), _REFRESHES)
    if plan_hash is not None:
        done = service.done_before(table, plan_hash)
        if done is not None:
            return done
        if service.rolls_back_failed_writes():
            service.requested(_without(table, service.failed_writes(table)), plan_hash)  # refuses another plan before
    if service.rolls_back_failed_writes():
        service.roll_back_failed_writes(progress)
    with opened.settings.new_lock() as locked:
        return carry_out_at_once(service, locked, table.refreshed(locked.storage), progress, plan_hash=plan_hash)


def carry_out_at_once(
    service: ServiceAtOnce[P],
    locked: TransactionSettings,
    table: HudiTable,
    progress: Progress,
    *,
    plan_hash: str | None = None,
) -> JobResult:
    """As :func:`run_at_once`; ``locked`` holds the table lock, and no failed write is rolled back."""
    if not service.beside_restores:
        refuse_pending_restore(table.timeline)
    table = service.settle(locked, table, progress)
    with progress.phase("plan"):
        plan = service.plan(table) if plan_hash is None else service.requested(table, plan_hash)
    if isinstance(plan, Nothing | JobResult):
        service.without_plan(locked, table, plan, progress)
        return plan.result(service.action, table) if isinstance(plan, Nothing) else plan
    return service.carry_out(locked, table, plan, progress)


def _shown(service: ServiceAtOnce[P], table: HudiTable, progress: Progress) -> JobResult:
    failed = service.failed_writes(table)
    after = _without(table, failed)
    with progress.phase("plan"):
        plan = service.plan(after)
    if isinstance(plan, Nothing):
        result = plan.result(service.action, after)
    else:
        result = service.shown(after, plan, progress)
    return service.with_rollbacks(result, table, failed) if failed else result


def _without(table: HudiTable, failed: Sequence[Instant]) -> HudiTable:
    return table.without(failed) if failed else table
