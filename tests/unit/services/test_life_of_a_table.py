"""The life of a table on each storage: every write and service of this process, and what validation says after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.options import (
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    HealthOptions,
    IndexingOptions,
    JobResult,
    JobState,
    RestoreOptions,
    RollbackOptions,
    SavepointOptions,
)
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.health.job import run_health
from spark_jobs.services.indexing.job import run_indexing
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

FIRST, SECOND, THIRD = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2), local.batch(10, 10, "three", 3)
CONF = {
    **local.AT_ONCE,
    "hoodie.keep.min.commits": "1",
    "hoodie.keep.max.commits": "2",
    "hoodie.metadata.compact.max.delta.commits": "1",
}


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def path(request: pytest.FixtureRequest, root: Folder) -> Folder:
    """A table that was written to three times."""
    local.create(root / "t", request.param)
    for number, rows in enumerate((FIRST, SECOND, THIRD)):
        local.write(root / "t", rows, str(number))
    return root / "t"


def commits(path: Folder) -> list[str]:
    return [one.timestamp for one in path.table().timeline.completed_commits()]


def compact(path: Folder) -> JobResult:
    return run_compaction(CompactionOptions(base_path=str(path), hoodie_conf=CONF), job_context(lake=path.lake))


def cluster(path: Folder) -> JobResult:
    return run_clustering(ClusteringOptions(base_path=str(path), hoodie_conf=CONF), job_context(lake=path.lake))


def rewrite(path: Folder) -> JobResult:
    return (compact if path.table().config.is_merge_on_read else cluster)(path)


def clean(path: Folder) -> JobResult:
    for key in ("once", "once more"):
        rewrite(path)
        local.write(path, THIRD, key)
    return run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=CONF), job_context(lake=path.lake))


def archive(path: Folder) -> JobResult:
    clean(path)
    maintain_metadata_table(path.table().transaction_settings(CONF), CONF, pytest.fail)
    return run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=CONF), job_context(lake=path.lake))


def save(path: Folder) -> JobResult:
    return run_savepoint(SavepointOptions(base_path=str(path), hoodie_conf=CONF), job_context(lake=path.lake))


def index(path: Folder) -> JobResult:
    options = IndexingOptions(base_path=str(path), index_types="COLUMN_STATS", hoodie_conf=CONF)
    return run_indexing(options, job_context(lake=path.lake))


def look(path: Folder) -> JobResult:
    return run_health(HealthOptions(base_path=str(path), hoodie_conf=CONF), job_context(lake=path.lake))


@pytest.mark.parametrize("service", [rewrite, cluster, clean, archive, save, index, look], ids=lambda one: one.__name__)
def test_a_service_leaves_the_rows(path: Folder, service: Callable[[Folder], JobResult]) -> None:
    assert service(path).state is JobState.COMPLETED
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND, THIRD)
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []
    local.write(path, SECOND, "after")
    assert local.rows_of(path) == local.expected_rows(FIRST, THIRD, SECOND)


def test_a_write_is_taken_back(path: Folder) -> None:
    options = RollbackOptions(base_path=str(path), instant_time=commits(path)[-1], hoodie_conf=CONF)
    assert run_rollback(options, job_context(lake=path.lake)).state is JobState.COMPLETED
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []


def test_a_table_goes_back_to_a_savepoint(path: Folder) -> None:
    saved = str(save(path).instant)
    rewrite(path)
    local.write(path, local.batch(0, 20, "never", 9), "never")
    options = RestoreOptions(base_path=str(path), savepoint=saved, verify="rows", hoodie_conf=CONF)
    assert run_restore(options, job_context(lake=path.lake)).state is JobState.COMPLETED
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND, THIRD)
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []
