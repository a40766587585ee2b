"""The driver of services that hold no lock from plan to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.in_steps import ServiceInSteps, run_in_steps
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.options import JobResult, JobState
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.locks import is_locked

pytestmark = pytest.mark.unit


@dataclass(frozen=True, slots=True)
class Numbered(ServiceInSteps[HudiTable, int]):
    number: int
    action: ClassVar[str] = "number"

    def plan(self, table: HudiTable) -> int | Nothing:
        return self.number or Nothing("it is zero")

    def facts(self, table: HudiTable, plan: int) -> PlanFacts:
        return PlanFacts(service=self.action, content={"number": plan}, files=0, bytes=0)

    def shown(self, table: HudiTable, plan: int, progress: Progress) -> JobResult:
        hashed = self.facts(table, plan).hash_at(table.timeline)
        return JobResult(action=self.action, state=JobState.DRY_RUN, extra={"plan_hash": hashed})

    def carry_out(self, table: HudiTable, plan: int, progress: Progress) -> JobResult:
        assert not is_locked(table.storage, table.transaction_settings({}).lock)
        return JobResult(action=self.action, state=JobState.COMPLETED, files_in=plan)


def test_a_plan_is_shown_or_carried_out_or_there_is_none(root: Folder) -> None:
    local.create(root / "t", "COPY_ON_WRITE")
    table, progress = (root / "t").table(), Progress.silent("number")
    look = run_in_steps(Numbered(3), table, progress, dry_run=True)
    done = run_in_steps(Numbered(3), table, progress, dry_run=False, plan_hash=look.extra["plan_hash"])
    assert (look.state, done.state, done.files_in) == (JobState.DRY_RUN, JobState.COMPLETED, 3)
    nothing = run_in_steps(Numbered(0), table, progress, dry_run=False)
    assert (nothing.state, nothing.reason) == (JobState.NOTHING_TO_DO, "it is zero")
    for number in (0, 4):
        with pytest.raises(WriteConflictError, match="the plan is not"):
            run_in_steps(Numbered(number), table, progress, dry_run=False, plan_hash=look.extra["plan_hash"])
