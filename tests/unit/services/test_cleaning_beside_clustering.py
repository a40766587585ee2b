"""A clean leaves what a pending clustering is to read, also where a write that was let through went past it."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.view.pending import read_by_plan
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ClusteringOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.local_table import batch, expected_rows, rows_of
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

ALLOW = {"hoodie.clustering.updates.strategy": "SparkAllowUpdateStrategy"}
BY_VERSIONS = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}


def clean(path: Folder) -> JobResult:
    return run_cleaning(
        CleanOptions(base_path=str(path), hoodie_conf={**local.AT_ONCE, **BY_VERSIONS}), job_context(lake=path.lake)
    )


def cluster(path: Folder, mode: str, instant: str | None = None) -> JobResult:
    options = ClusteringOptions(base_path=str(path), hoodie_conf=local.AT_ONCE, mode=mode, instant_time=instant)  # type: ignore[arg-type]
    return run_clustering(options, job_context(lake=path.lake))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_files_of_a_plan_stay_though_a_newer_slice_covers_them(
    root: Folder, table_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "t"
    local.create(path, table_type)
    for number in range(3):
        local.write(path, batch(8 * number, 8, "one", 1), f"k{number}")
    planned = cluster(path, "schedule").instant
    monkeypatch.setattr(local, "AT_ONCE", {**local.AT_ONCE, **ALLOW})
    local.write(path, batch(8, 8, "two", 2), "update")
    rows = expected_rows(*(batch(8 * number, 8, "one", 1) for number in range(3)), batch(8, 8, "two", 2))
    table = path.table()
    (plan,) = table.timeline.pending({Action.REPLACE_COMMIT})
    needed = read_by_plan(table.timeline, plan, table.clock)
    assert len(needed) == 6  # a base file for each write and partition

    kept = clean(path)
    assert kept.state is JobState.NOTHING_TO_DO
    if table_type == "COPY_ON_WRITE":
        assert "2 file(s) that pending plans keep" in str(kept.reason)
    assert needed <= {one.name for one in path.rglob("*.parquet")}
    assert validate(str(path), deep=True, lake=path.lake) == []

    cluster(path, "cancel", planned)
    freed = clean(path)
    assert (freed.state is JobState.COMPLETED) == (table_type == "COPY_ON_WRITE")
    assert rows_of(path) == rows
    assert validate(str(path), deep=True, lake=path.lake) == []
