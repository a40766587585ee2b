"""A table in a store of objects, without folders, rename, append or guards: every write and service of this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
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
from tests.support.object_store import new_store

pytestmark = pytest.mark.unit

QUIET = Progress.silent("test")
URL = "mem://lake/t"
FIRST, SECOND, THIRD = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2), local.batch(10, 10, "three", 3)
CONF = {
    **local.AT_ONCE,
    "hoodie.keep.min.commits": "1",
    "hoodie.keep.max.commits": "2",
    "hoodie.metadata.compact.max.delta.commits": "1",
}


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """With a table that was written to three times."""
    lake = Lake(storages={"mem": new_store(tmp_path)})
    HudiTable.create(
        URL,
        name="t",
        table_type=request.param,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=lake,
    )
    for number, rows in enumerate((FIRST, SECOND, THIRD)):
        local.write(URL, rows, str(number), lake=lake)
    return lake


def commits(lake: Lake) -> list[str]:
    return [one.timestamp for one in HudiTable.open(URL, lake=lake).timeline.completed_commits()]


def compact(lake: Lake) -> JobResult:
    return run_compaction(
        LocalEngine(SYSTEM_CLOCK), CompactionOptions(base_path=URL, hoodie_conf=CONF), QUIET, lake=lake
    )


def cluster(lake: Lake) -> JobResult:
    return run_clustering(
        LocalEngine(SYSTEM_CLOCK), ClusteringOptions(base_path=URL, hoodie_conf=CONF), QUIET, lake=lake
    )


def rewrite(lake: Lake) -> JobResult:
    return (compact if HudiTable.open(URL, lake=lake).config.is_merge_on_read else cluster)(lake)


def clean(lake: Lake) -> JobResult:
    for key in ("once", "once more"):
        rewrite(lake)
        local.write(URL, THIRD, key, lake=lake)
    return run_cleaning(CleanOptions(base_path=URL, hoodie_conf=CONF), QUIET, lake=lake)


def archive(lake: Lake) -> JobResult:
    clean(lake)
    maintain_metadata_table(HudiTable.open(URL, lake=lake).transaction_settings(CONF), CONF, pytest.fail)
    return run_archival(ArchiveOptions(base_path=URL, hoodie_conf=CONF), QUIET, lake=lake)


def save(lake: Lake) -> JobResult:
    return run_savepoint(SavepointOptions(base_path=URL, hoodie_conf=CONF), QUIET, lake=lake)


def index(lake: Lake) -> JobResult:
    options = IndexingOptions(base_path=URL, index_types="COLUMN_STATS", hoodie_conf=CONF)
    return run_indexing(options, QUIET, lake=lake)


def look(lake: Lake) -> JobResult:
    return run_health(HealthOptions(base_path=URL, hoodie_conf=CONF), QUIET, lake=lake)


@pytest.mark.parametrize("service", [rewrite, cluster, clean, archive, save, index, look], ids=lambda one: one.__name__)
def test_a_service_leaves_the_rows(lake: Lake, service: Callable[[Lake], JobResult]) -> None:
    assert service(lake).state is JobState.COMPLETED
    assert local.rows_of(URL, lake) == local.expected_rows(FIRST, SECOND, THIRD)
    assert [str(one) for one in validate(URL, deep=True, lake=lake)] == []
    local.write(URL, SECOND, "after", lake=lake)
    assert local.rows_of(URL, lake) == local.expected_rows(FIRST, THIRD, SECOND)


def test_a_write_is_taken_back(lake: Lake) -> None:
    options = RollbackOptions(base_path=URL, instant_time=commits(lake)[-1], hoodie_conf=CONF)
    assert run_rollback(options, QUIET, lake=lake).state is JobState.COMPLETED
    assert local.rows_of(URL, lake) == local.expected_rows(FIRST, SECOND)
    assert [str(one) for one in validate(URL, deep=True, lake=lake)] == []


def test_a_table_goes_back_to_a_savepoint(lake: Lake) -> None:
    saved = str(save(lake).instant)
    rewrite(lake)
    local.write(URL, local.batch(0, 20, "never", 9), "never", lake=lake)
    options = RestoreOptions(base_path=URL, savepoint=saved, verify="rows", hoodie_conf=CONF)
    assert run_restore(options, QUIET, lake=lake).state is JobState.COMPLETED
    assert local.rows_of(URL, lake) == local.expected_rows(FIRST, SECOND, THIRD)
    assert [str(one) for one in validate(URL, deep=True, lake=lake)] == []
