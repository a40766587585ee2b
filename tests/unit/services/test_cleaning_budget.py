"""Cleans in parts: what fits the budget is deleted, the plan stays pending as it is, and the next run goes on."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError, StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options import IndexingOptions
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services import deletions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.indexing.job import run_indexing
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.engines import StopsAfter
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import overwrite

pytestmark = pytest.mark.unit

CONF = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.max.commits": "1"}
VERSIONS = 5


def clean(table: HudiTable, engine: LocalEngine | None = None, **options: Any) -> JobResult:
    given = CleanOptions(base_path=table.base_path, hoodie_conf=CONF, **options)
    return run_cleaning(given, job_context(engine=engine, lake=table.lake))


def base_files(table: HudiTable) -> list[Folder]:
    return sorted(file_at(table.storage, table.base_path).glob("p/*.parquet"))


def metadata_of_clean(table: HudiTable) -> dict[str, Any]:
    (done,) = table.refreshed().timeline.completed(Action.CLEAN)
    return table.refreshed().timeline.payload(done, table.clock)


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """One partition with a file group for each of six commits, each of which replaced the one before: four can go."""
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    for _ in range(VERSIONS + 1):
        overwrite(made)
    return made


def test_bytes_bound_a_run_and_the_next_goes_on(table: HudiTable) -> None:
    planned = clean(table, dry_run=True)
    doomed = planned.extra["deleted_files"]
    assert doomed == VERSIONS - 1
    budget = planned.bytes_in * 5 // 8  # two of four files that differ by a few bytes
    first = clean(table, max_bytes=budget)
    assert (first.state, first.extra["engine"]) == (JobState.SCHEDULED, "local")
    assert (first.extra["deleted_files"], first.extra["left_files"], first.extra["gone_before"]) == (2, 2, 0)
    assert first.extra["deleted_bytes"] + first.extra["left_bytes"] == planned.bytes_in
    assert first.reason == (
        f"2 of 4 file(s) are deleted, 2 of {first.extra['left_bytes']} bytes are left for a later run "
        f"(--max-bytes {budget}); the clean stays pending until all are"
    )
    (pending,) = table.refreshed().timeline.pending({Action.CLEAN})
    assert (pending.timestamp, pending.state) == (first.instant, State.INFLIGHT)
    assert validate(table, deep=True, lake=table.lake) == []
    overwrite(table)  # writers go on meanwhile
    last = clean(table, max_bytes=planned.bytes_in)
    assert (last.state, last.instant, last.extra["gone_before"]) == (JobState.COMPLETED, first.instant, 2)
    assert len(base_files(table)) == VERSIONS + 2 - doomed
    metadata = metadata_of_clean(table)
    assert metadata["totalFilesDeleted"] == doomed  # of the whole plan
    assert metadata["earliestCommitToRetain"] == planned.extra["retain_from"]
    assert validate(table, deep=True, lake=table.lake) == []


def test_moments_that_a_begun_clean_takes_are_refused(table: HudiTable) -> None:
    """A listing without the deleted slices would pass others off for them."""
    commits = [one.timestamp for one in table.refreshed().timeline.completed_commits()]
    planned = clean(table, dry_run=True)
    assert table.refreshed().scan(as_of=commits[1]).to_arrow().num_rows == 1
    clean(table, max_bytes=planned.bytes_in * 5 // 8)
    for each in commits[:-1]:
        with pytest.raises(ConfigError, match=f"read as of {commits[-1]} or later"):
            table.refreshed().scan(as_of=each)
    assert table.refreshed().scan(as_of=commits[-1]).to_arrow().num_rows == 1


def test_indexes_are_built_beside_a_clean_in_parts(root: Folder) -> None:
    """Their files are those that the metadata table lists: some of them are gone by now."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    for ts in range(1, 5):
        local.write(path, local.batch(0, 8, f"v{ts}", ts), str(ts))
    table = path.table()
    assert clean(table, max_bytes=clean(table, dry_run=True).bytes_in * 5 // 8).state is JobState.SCHEDULED
    for kind in ("COLUMN_STATS", "BLOOM_FILTERS"):
        given = IndexingOptions(base_path=str(path), index_types=(kind,), hoodie_conf=local.AT_ONCE)
        assert run_indexing(given, job_context(lake=root.lake)).state is JobState.COMPLETED
    assert validate(str(path), deep=True, lake=path.lake) == []
    assert clean(table).state is JobState.COMPLETED
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_seconds_bound_a_run_but_not_its_first_piece(table: HudiTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "PIECE", 1)
    ticks = iter(range(10_000))
    monkeypatch.setattr(type(table.clock), "monotonic", lambda self: float(next(ticks)))
    first = clean(table, max_seconds=1)
    assert (first.state, first.extra["deleted_files"], first.extra["left_files"]) == (JobState.SCHEDULED, 1, 3)
    assert clean(table, max_seconds=100_000).state is JobState.COMPLETED


def test_a_budget_that_no_file_fits_begins_nothing(table: HudiTable) -> None:
    nothing = clean(table, max_bytes=1)
    assert nothing.state is JobState.NOTHING_TO_DO
    assert str(nothing.reason).startswith("the smallest of 4 file(s) has ")
    assert str(nothing.reason).endswith(" bytes, more than --max-bytes 1")
    assert not table.refreshed().timeline.pending({Action.CLEAN})
    part = clean(table, max_bytes=clean(table, dry_run=True).bytes_in * 5 // 8)
    again = clean(table, max_bytes=1)
    assert str(again.reason).startswith(f"of clean {part.instant}, which is pending, the smallest of 2 file(s) has ")
    with pytest.raises(ConfigError, match="--max-bytes=0 is not valid"):
        clean(table, max_bytes=0)


def test_a_budget_does_one_clean_a_run_and_none_all(table: HudiTable) -> None:
    part = clean(table, max_bytes=clean(table, dry_run=True).bytes_in * 5 // 8)
    overwrite(table)
    overwrite(table)
    assert clean(table, max_seconds=600).instant == part.instant
    following = clean(table)
    assert following.state is JobState.COMPLETED
    assert following.instant != part.instant


def test_a_run_by_the_hash_of_the_plan_goes_on_with_its_part(table: HudiTable) -> None:
    planned = clean(table, dry_run=True)
    shown = planned.extra["plan_hash"]
    assert clean(table, plan_hash=shown, max_bytes=planned.bytes_in * 5 // 8).state is JobState.SCHEDULED
    now = clean(table, dry_run=True).extra["plan_hash"]  # what is left has a hash of its own
    assert now != shown
    with pytest.raises(WriteConflictError, match="the plan is not "):
        clean(table, plan_hash=f"{'0' * 24}-1-1-{planned.extra['retain_from']}")
    assert clean(table, plan_hash=shown).state is JobState.COMPLETED
    assert not table.refreshed().timeline.pending({Action.CLEAN})


def test_a_clean_that_broke_off_goes_on(table: HudiTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "PIECE", 1)
    with pytest.raises(StorageError, match="the disk is full"):
        clean(table, StopsAfter(3))
    done = clean(table)
    assert (done.state, done.extra["gone_before"], done.extra["deleted_files"]) == (JobState.COMPLETED, 3, 4)
    assert metadata_of_clean(table)["totalFilesDeleted"] == 4
