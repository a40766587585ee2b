"""A service refuses the name of another table before it does anything."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.job import run_hive_sync
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    HealthOptions,
    HiveSyncOptions,
    IndexingOptions,
    RestoreOptions,
    RollbackOptions,
    SavepointOptions,
    ValidateOptions,
)
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.health.job import run_health
from spark_jobs.services.indexing.job import run_indexing
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.job import run_validation
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

SERVICES: list[tuple[Any, Any, dict[str, Any]]] = [
    (run_archival, ArchiveOptions, {}),
    (run_cleaning, CleanOptions, {}),
    (run_clustering, ClusteringOptions, {}),
    (run_compaction, CompactionOptions, {}),
    (run_health, HealthOptions, {}),
    (run_hive_sync, HiveSyncOptions, {"metastore_uris": "thrift://127.0.0.1:1"}),
    (run_indexing, IndexingOptions, {"index_types": ("COLUMN_STATS",)}),
    (run_restore, RestoreOptions, {"instant_time": "20240101000000000"}),
    (run_rollback, RollbackOptions, {}),
    (run_savepoint, SavepointOptions, {}),
    (run_validation, ValidateOptions, {}),
]


@pytest.mark.parametrize(("run", "kind", "more"), SERVICES, ids=[kind.job for _, kind, _ in SERVICES])
def test_the_name_of_another_table_is_refused(run: Any, kind: Any, more: dict[str, Any], root: Folder) -> None:
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    before = sorted(str(one) for one in path.rglob("*"))
    for given in ({"table_name": "other"}, {"hoodie_conf": {"hoodie.table.name": "other"}}):
        options = kind(base_path=str(path), **given, **more)
        with pytest.raises(ConfigError, match=f"--table-name other contradicts the table at {path}, which is t: leave"):
            run(options, job_context(lake=root.lake))
    assert sorted(str(one) for one in path.rglob("*")) == before
