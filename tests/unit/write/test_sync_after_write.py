"""A retry of a write whose Hive sync failed makes up for it; what is wrong with a sync is said before the write."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.hive.metastore import MetastoreUnreachableError
from spark_jobs.options import IngestOptions, JobState
from spark_jobs.write.job import run_ingest
from tests.faults import local_table as local
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit


def _options(table: Path, key: str, **sync: str) -> IngestOptions:
    conf = {f"hoodie.datasource.hive_sync.{name}": value for name, value in sync.items()}
    return IngestOptions(base_path=str(table), idempotency_key=key, hoodie_conf=tuple(conf.items()))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """With one write, made under the key ``k``."""
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    local.write(tmp_path / "t", local.batch(0, 10, "one", 1), "k")
    return tmp_path / "t"


def test_a_write_that_was_done_before_is_synced_all_the_same(table: Path) -> None:
    assert run_ingest(_options(table, "k"), job_context()).repeated
    uris = {"metastore.uris": "thrift://127.0.0.1:1"}
    with pytest.raises(MetastoreUnreachableError):
        run_ingest(_options(table, "k", enable="true", mode="hms", **uris), job_context())


def test_a_failed_sync_that_may_fail_is_told_in_the_result(table: Path) -> None:
    uris = {"metastore.uris": "thrift://127.0.0.1:1"}
    result = run_ingest(
        _options(table, "k", enable="true", mode="hms", ignore_exceptions="true", **uris), job_context()
    )
    assert result.state is JobState.COMPLETED
    assert "not synced" in result.extra["sync"]["reason"]


def test_a_sync_that_cannot_be_is_refused_before_the_write(table: Path) -> None:
    before = len(HudiTable.open(str(table)).timeline.instants)
    with pytest.raises(ConfigError, match="jdbc"):
        run_ingest(_options(table, "another", enable="true", mode="jdbc"), job_context())
    assert len(HudiTable.open(str(table)).timeline.instants) == before
