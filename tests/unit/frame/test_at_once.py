"""The driver of services that carry their plan out at once: what it asks of one, in which order, under which lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from spark_jobs.core.errors import InstantGoneError, WriteConflictError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.at_once import ServiceAtOnce, run_at_once
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import Opened, open_to_change
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.options import ArchiveOptions, JobResult, JobState
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.support.locks import is_locked

pytestmark = pytest.mark.unit

DEAD = Instant("20200101000000000", Action.COMMIT, State.REQUESTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting(ServiceAtOnce[int]):
    """Plans the number of pending writes that it sees; ``asked`` has what it was asked for."""

    path: Folder
    nothing: bool = False
    vanishes: bool = False
    asked: list[str] = field(default_factory=list)
    action: ClassVar[str] = "count"

    def _note(self, name: str) -> None:
        locked = is_locked(self.path.storage, self.path.table().transaction_settings({}).lock)
        self.asked.append(f"{name}{' under the lock' if locked else ''}")

    def rolls_back_failed_writes(self) -> bool:
        return True

    def failed_writes(self, table: HudiTable) -> Sequence[Instant]:
        return [one for one in table.timeline.instants if one.timestamp == DEAD.timestamp]

    def roll_back_failed_writes(self, progress: Progress) -> None:
        self._note("roll back")
        (self.path / ".hoodie" / f"{DEAD.timestamp}.commit.requested").unlink(missing_ok=True)

    def settle(self, locked: TransactionSettings, table: HudiTable, progress: Progress) -> HudiTable:
        self._note("settle")
        return table

    def plan(self, table: HudiTable) -> int | Nothing:
        self._note("plan")
        if self.vanishes and self.asked == ["plan"]:
            raise InstantGoneError("another process archived it")
        return Nothing("asked for nothing") if self.nothing else len(table.timeline.pending_writes())

    def facts(self, table: HudiTable, plan: int) -> PlanFacts:
        return PlanFacts(service=self.action, content={"pending": plan}, files=plan, bytes=0)

    def without_plan(
        self, locked: TransactionSettings, table: HudiTable, found: Nothing | JobResult, progress: Progress
    ) -> None:
        self._note("without a plan")

    def carry_out(self, locked: TransactionSettings, table: HudiTable, plan: int, progress: Progress) -> JobResult:
        self._note("carry out")
        return JobResult(action=self.action, state=JobState.COMPLETED, files_in=plan)

    def shown(self, table: HudiTable, plan: int, progress: Progress) -> JobResult:
        hashed = self.facts(table, plan).hash_at(table.timeline)
        return JobResult(action=self.action, state=JobState.DRY_RUN, files_in=plan, extra={"plan_hash": hashed})


@pytest.fixture
def path(root: Folder) -> Folder:
    """A table with a write that died."""
    made = root / "t"
    local.create(made, "COPY_ON_WRITE")
    request(made.table().timeline, DEAD.timestamp, DEAD.action)
    return made


def opened(path: Folder) -> Opened:
    return open_to_change(ArchiveOptions(base_path=str(path), hoodie_conf=local.AT_ONCE), job_context(lake=path.lake))


def run(service: Counting, *, dry_run: bool = False, plan_hash: str | None = None) -> JobResult:
    return run_at_once(service, opened(service.path), Progress.silent("count"), dry_run=dry_run, plan_hash=plan_hash)


UNDER_LOCK = ["settle under the lock", "plan under the lock"]


def test_a_plan_is_made_and_carried_out_under_one_lock(path: Folder) -> None:
    service = Counting(path=path)
    assert run(service).files_in == 0  # pending writes: the dead one was undone before
    assert service.asked == ["roll back", *UNDER_LOCK, "carry out under the lock"]


def test_a_dry_run_plans_as_if_dead_writes_were_gone_and_changes_nothing(path: Folder) -> None:
    service = Counting(path=path)
    look = run(service, dry_run=True)
    assert (look.state, look.files_in, look.extra["rolls_back"]) == (JobState.DRY_RUN, 0, [DEAD.timestamp])
    assert service.asked == ["plan"]
    assert len(path.table().timeline.pending_writes()) == 1


def test_a_dry_run_plans_again_where_the_timeline_changed_under_it(path: Folder) -> None:
    service = Counting(path=path, vanishes=True)
    assert run(service, dry_run=True).state is JobState.DRY_RUN
    assert service.asked == ["plan", "plan"]


def test_another_plan_is_refused_before_a_failed_write_is_rolled_back(path: Folder) -> None:
    service = Counting(path=path)
    with pytest.raises(WriteConflictError, match="the plan is not"):
        run(service, plan_hash=f"{'0' * 24}-1-1-1")
    assert service.asked == ["plan"]
    shown = run(Counting(path=path), dry_run=True).extra["plan_hash"]
    assert run(Counting(path=path), plan_hash=shown).state is JobState.COMPLETED


def test_nothing_to_do_is_settled_under_the_lock_too(path: Folder) -> None:
    service = Counting(path=path, nothing=True)
    assert (run(service).state, run(service).reason) == (JobState.NOTHING_TO_DO, "asked for nothing")
    assert service.asked[:4] == ["roll back", *UNDER_LOCK, "without a plan under the lock"]


def test_a_pending_restore_is_ended_first(path: Folder) -> None:
    request(path.table().timeline, "20300101000000000", Action.RESTORE, b"")
    service = Counting(path=path)
    with pytest.raises(WriteConflictError, match="restore"):
        run(service)
    assert service.asked == ["roll back"]
