"""The key of a write whose name goes through generations, on a real table."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.services.run_generation import FOLDER, Attempt, RunRecord
from spark_jobs.write.generation import current_generation
from tests.faults import local_table as local
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

NAME = "dag/task/run/-1"


class Run:
    """A task under its name: tries that write one row each, and what Airflow makes of them."""

    def __init__(self, path: Folder) -> None:
        self.path = path
        self.settings = local.create(path, "COPY_ON_WRITE").transaction_settings(local.AT_ONCE)
        self.told: list[str] = []

    def current(self, attempt: str, *, may_repeat: bool = True) -> str:
        now = Attempt.parse(attempt)
        found = current_generation(self.settings, NAME, now, may_repeat=may_repeat, notify=self.told.append)
        return found.key

    def write(self, key: str, attempt: str = "") -> None:
        local.write(self.path, local.batch(self._commits() + 1, 1, "x", 1), key, attempt)

    def keep(self, record: RunRecord) -> None:
        record.write(self.settings.storage, self.settings.base_path, NAME)

    def record(self) -> RunRecord:
        return RunRecord.read(self.settings.storage, self.settings.base_path, NAME)

    def _commits(self) -> int:
        return len(self.path.table().timeline.completed_commits())


@pytest.fixture
def run(root: Folder) -> Run:
    return Run(root / "t")


def test_a_try_that_committed_and_died_is_found_by_a_retry_and_after_a_clear(run: Run) -> None:
    assert run.current("1/1/1") == NAME
    run.write(NAME, "1/1/1")
    assert run.current("2/1/1") == NAME
    assert run.current("2/2/1") == NAME  # cleared
    assert run.current("2/5/5") == NAME  # retries edited
    assert run.told == []


def test_a_clear_of_a_success_writes_anew_each_time(run: Run) -> None:
    run.write(NAME, "1/0/0")
    run.keep(RunRecord().coming_back(0).succeeded(0))
    assert run.current("2/1/0", may_repeat=False) == f"{NAME}#1"
    run.write(f"{NAME}#1", "2/1/0")
    assert run.current("2/1/0", may_repeat=False) == f"{NAME}#1"
    run.keep(RunRecord(ended=2))
    assert run.current("3/2/0", may_repeat=False) == f"{NAME}#2"


def test_what_cannot_be_known_is_upserted_once_more_and_not_inserted(run: Run) -> None:
    run.write(NAME, "1/0/0")
    run.keep(RunRecord().coming_back(0))
    instant = run.path.table().timeline.completed_commits()[-1].timestamp
    with pytest.raises(
        ConfigError, match=rf"instant {instant} wrote under {NAME}.*give an --idempotency-key"
    ) as caught:
        run.current("2/1/0", may_repeat=False)
    assert caught.value.exit_code == 2
    assert run.current("2/1/0") == f"{NAME}#1"
    assert run.told == [
        f"instant {instant} wrote under this name, its task may have succeeded: it is written once more"
    ]
    run.write(f"{NAME}#1", "2/1/0")
    assert run.current("2/1/0") == f"{NAME}#1"  # a second one of the same try
    assert run.current("1/0/0") == NAME  # the first try itself, whose process came back late


def test_a_run_in_flight_under_an_older_release_is_found(run: Run) -> None:
    run.write(NAME)
    assert run.current("2/2/2", may_repeat=False) == NAME


def test_a_try_that_was_given_up_adds_nothing_to_the_one_that_succeeded(run: Run) -> None:
    """It slept before it looked at the record, or waited for its cluster, while another try did its work."""
    run.write(NAME, "2/1/1/after=0")
    run.keep(RunRecord().coming_back(0).succeeded(0))
    assert run.current("1/1/1/after=0", may_repeat=False) == NAME
    assert run.current("1/1/1/after=0") == NAME
    assert run.current("3/3/1/after=1") == f"{NAME}#1"  # a clear knows of the success
    run.keep(RunRecord(ended=2))
    with pytest.raises(WriteConflictError, match=f"another try of {NAME} has succeeded since this one began"):
        run.current("3/3/1/after=1")


def test_a_success_after_what_could_not_be_known_ends_its_generation(run: Run) -> None:
    run.write(NAME, "1/0/0")
    run.keep(RunRecord().coming_back(0))
    key = run.current("2/1/0")
    run.write(key, "2/1/0")
    run.keep(run.record().coming_back(1).failed(1))
    assert run.current("3/2/0") == key == f"{NAME}#1"
    run.keep(run.record().coming_back(1).succeeded(1))
    assert run.current("4/3/0") == f"{NAME}#2"


def test_after_a_record_was_spoilt_nothing_can_be_known(run: Run) -> None:
    run.write(NAME, "1/0/0")
    run.keep(RunRecord().coming_back(0).succeeded(0))
    next((run.path / FOLDER).glob("*.json")).write_text("")
    assert run.current("2/1/0") == f"{NAME}#1"
    with pytest.raises(ConfigError, match="it can't be known whether that task succeeded"):
        run.current("2/1/0", may_repeat=False)
    assert run.current("2/0/0", may_repeat=False) == NAME  # a retry needs no record


def test_an_attempt_that_no_release_wrote_is_none(run: Run) -> None:
    run.write(NAME, "nonsense")
    assert run.current("2/1/1") == NAME
    assert run.current("2/1/0") == f"{NAME}#1"
