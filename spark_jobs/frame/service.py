"""What every service knows, whichever driver runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from spark_jobs.core.table import HudiTable
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.options.result import JobResult

T = TypeVar("T", bound=HudiTable | None)
P = TypeVar("P")


class Service(ABC, Generic[T, P]):
    """``T`` is the table, or None where none is there yet; ``P`` the plan, which holds all that is going to be done."""

    __slots__ = ()
    action: ClassVar[str]
    """Of its results."""

    @abstractmethod
    def plan(self, table: T) -> P | Nothing:
        """What there is to do; nothing is changed by it.

        :raises ConfigError: what is asked for can't be done.
        :raises WriteConflictError: not now.
        """

    def facts(self, table: T, plan: P) -> PlanFacts | None:
        """What the hash of a plan is made of; None where the options take no hash."""
        return None

    def requested(self, table: T, plan_hash: str) -> P | Nothing | JobResult:
        """The plan of a hash: the one that is made now, or what an earlier run by the hash left of its own; the result
        of that run, where it left nothing.

        :raises WriteConflictError: the hash means another plan.
        """
        plan = self.plan(table)
        now = plan if isinstance(plan, Nothing) else self.facts(table, plan)
        if now is not None:
            refuse_other_plan(plan_hash, now, None if table is None else table.timeline)
        return plan
