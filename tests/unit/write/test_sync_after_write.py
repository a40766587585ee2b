"""A retry of a write whose Hive sync failed makes up for it; what is wrong with a sync is said before the write."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.metastore import MetastoreUnreachableError
from spark_jobs.options import IngestOptions, JobState
from spark_jobs.write.job import run_ingest
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit


def _options(table: Folder, key: str, **sync: str) -> IngestOptions:
    conf = {f"hoodie.datasource.hive_sync.{name}": value for name, value in sync.items()}
    return IngestOptions(base_path=str(table), idempotency_key=key, hoodie_conf=tuple(conf.items()))


@pytest.fixture
def table(root: Folder) -> Folder:
    """With one write, made under the key ``k``."""
    local.create(root / "t", "COPY_ON_WRITE")
    local.write(root / "t", local.batch(0, 10, "one", 1), "k")
    return root / "t"


def test_a_write_that_was_done_before_is_synced_all_the_same(table: Folder) -> None:
    assert run_ingest(_options(table, "k"), job_context(lake=table.lake)).repeated
    uris = {"metastore.uris": "thrift://127.0.0.1:1"}
    with pytest.raises(MetastoreUnreachableError, match=r"^\d{17} is committed, but not synced: "):
        run_ingest(_options(table, "k", enable="true", mode="hms", **uris), job_context(lake=table.lake))


def test_a_failed_sync_that_may_fail_is_told_in_the_result(table: Folder) -> None:
    uris = {"metastore.uris": "thrift://127.0.0.1:1"}
    result = run_ingest(
        _options(table, "k", enable="true", mode="hms", ignore_exceptions="true", **uris), job_context(lake=table.lake)
    )
    assert result.state is JobState.COMPLETED
    assert "not synced" in result.extra["sync"]["reason"]


def test_a_sync_that_cannot_be_is_refused_before_the_write(table: Folder) -> None:
    before = len(table.table().timeline.instants)
    with pytest.raises(ConfigError, match="jdbc"):
        run_ingest(_options(table, "another", enable="true", mode="jdbc"), job_context(lake=table.lake))
    assert len(table.table().timeline.instants) == before
