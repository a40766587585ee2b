"""Plans that are taken back while a writer appends to their slices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.options.result import JobState
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.execute import roll_back
from tests.faults import local_table as local
from tests.faults.local_table import batch
from tests.support.folder import Where, as_folder, lake_of
from tests.support.jobs import job_context


def logs_of(path: Where) -> list[str]:
    folder = as_folder(path)
    return sorted(str(one.relative_to(folder)) for one in folder.glob("?/.*.log.*") if not one.name.endswith(".crc"))


def compact(path: Where, mode: str, **more: str) -> str:
    options = CompactionOptions(base_path=str(path), hoodie_conf=tuple(local.AT_ONCE.items()), mode=mode, **more)  # type: ignore[arg-type]
    done = run_compaction(options, job_context(lake=lake_of(path)))
    assert done.state in (JobState.SCHEDULED, JobState.COMPLETED)
    return str(done.instant)


def take_back(path: Where, plan: str) -> None:
    """As Hudi, or anybody who doesn't ask for living writers, rolls a plan back."""
    settings = as_folder(path).table().transaction_settings(local.AT_ONCE)
    with settings.new_lock():
        roll_back(settings, settings.load_timeline(), Instant(plan, Action.COMPACTION, State.REQUESTED))


def beside(path: Where, act: Callable[[], None], key: str = "k3") -> str:
    """Upsert, and do ``act`` when the logs are written and not published; the instant."""
    publish = Transaction.publish

    patched = pytest.MonkeyPatch()

    def interrupted(self: Transaction, *given: object, **named: object) -> Instant:
        patched.undo()  # what is done beside it publishes too
        act()
        return publish(self, *given, **named)  # type: ignore[arg-type]

    patched.setattr(Transaction, "publish", interrupted)
    return local.write(path, batch(0, 2, "three", 3), key)
