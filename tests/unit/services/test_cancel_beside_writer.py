"""A compaction plan that is taken back beside a living writer, which puts its logs on the slices that it would make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.core.transaction import transaction
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobState
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import undo
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.local_table import batch, expected_rows, rows_of

pytestmark = pytest.mark.unit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t"
    local.create(path, "MERGE_ON_READ")
    local.write(path, batch(0, 4, "one", 1), "k1")
    local.write(path, batch(0, 4, "two", 2), "k2")
    return path


BEFORE = expected_rows(batch(0, 4, "two", 2))


def compact(path: Path, mode: str, **more: str) -> str:
    options = CompactionOptions(base_path=str(path), hoodie_conf=tuple(local.AT_ONCE.items()), mode=mode, **more)  # type: ignore[arg-type]
    done = run_compaction(LocalEngine(SYSTEM_CLOCK), options, Progress.silent("compact"))
    assert done.state in (JobState.SCHEDULED, JobState.COMPLETED)
    return str(done.instant)


def take_back(path: Path, plan: str) -> None:
    """As Hudi, or anybody who doesn't ask for living writers, rolls a plan back."""
    settings = HudiTable.open(str(path)).transaction_settings(local.AT_ONCE)
    with settings.new_lock():
        roll_back(settings, settings.load_timeline(), Instant(plan, Action.COMPACTION, State.REQUESTED))


def beside(path: Path, act: Callable[[], None], key: str = "k3") -> str:
    """Upsert, and do ``act`` when the logs are written and not published; the instant."""
    publish = Transaction.publish

    patched = pytest.MonkeyPatch()

    def interrupted(self: Transaction, *given: object, **named: object) -> Instant:
        patched.undo()  # what is done beside it publishes too
        act()
        return publish(self, *given, **named)  # type: ignore[arg-type]

    patched.setattr(Transaction, "publish", interrupted)
    return local.write(path, batch(0, 2, "three", 3), key)


def test_a_write_whose_logs_lost_their_slice_is_refused_and_rolled_back(path: Path) -> None:
    plan = compact(path, "schedule")
    with pytest.raises(WriteConflictError, match=f"lies on the slice of {plan}, which is no completed write") as raised:
        beside(path, lambda: take_back(path, plan))
    assert raised.value.exit_code == 3
    assert "\n" not in str(raised.value)
    assert rows_of(path) == BEFORE
    assert validate(str(path), deep=True) == []
    local.write(path, batch(0, 2, "three", 3), "k3")  # run again, it goes to the slices that there are
    assert rows_of(path) == expected_rows(batch(0, 4, "two", 2), batch(0, 2, "three", 3))
    compact(path, "scheduleAndExecute")
    assert rows_of(path) == expected_rows(batch(0, 4, "two", 2), batch(0, 2, "three", 3))
    assert validate(str(path), deep=True) == []


def test_a_plan_is_not_taken_back_while_a_later_write_is_alive(path: Path) -> None:
    plan = compact(path, "schedule")
    table = HudiTable.open(str(path))
    settings = table.transaction_settings(local.AT_ONCE)
    writer = begin(settings, Action.DELTA_COMMIT)
    assert writer is not None
    with pytest.raises(WriteConflictError, match=f"write {writer.time} is under way and may put logs on the slices"):
        compact(path, "cancel", instant_time=plan)
    writer.abandon()
    undo(settings, writer.time, print)
    compact(path, "cancel", instant_time=plan)
    assert rows_of(path) == BEFORE


def test_logs_on_a_planned_slice_are_published_whoever_completes_the_plan_meanwhile(path: Path) -> None:
    compact(path, "schedule")
    beside(path, lambda: None)
    compact(path, "execute")
    after = expected_rows(batch(0, 4, "two", 2), batch(0, 2, "three", 3))
    assert rows_of(path) == after
    executed: list[str] = []
    compact(path, "schedule")
    beside(path, lambda: executed.append(compact(path, "execute")), "k4")
    assert rows_of(path) == after
    assert validate(str(path), deep=True) == []


def test_validation_finds_a_log_of_a_completed_write_that_no_reader_opens(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = compact(path, "schedule")
    monkeypatch.setattr(transaction, "refuse_logs_of_no_slice", lambda *given: None)  # as a writer that doesn't ask
    instant = beside(path, lambda: take_back(path, plan))
    found, other = [one for one in validate(str(path)) if one.is_error]
    assert other.path.startswith("b/.")
    assert (found.invariant, found.path.startswith("a/.")) == (5, True)
    assert found.what == (
        f"instant {instant} wrote it on the slice of {plan}, which is no completed write and no pending compaction: "
        "no reader opens it"
    )
