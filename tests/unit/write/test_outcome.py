"""A write that was done before is known by its key alone: no Spark session starts, and the source is not looked at."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobState
from spark_jobs.write.job import run_ingest
from tests.faults.local_table import batch, create, write
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit


def test_a_repeated_ingest_tells_the_first_ones_result(
    root: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without Java nothing of Spark can start.
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    table = root / "t"
    create(table, "COPY_ON_WRITE")
    instant = write(table, batch(0, 10, "first", 1), "load")
    options = IngestOptions(
        base_path=str(table), source=["/is/gone.parquet"], op="upsert", source_format="parquet", idempotency_key="load"
    )
    result = run_ingest(options, job_context(Progress("ingest", stream=io.StringIO()), lake=root.lake))
    assert (result.state, result.instant, result.records_out) == (JobState.COMPLETED, instant, 10)
    assert result.reason is not None
    assert "already did this write" in result.reason
    assert len(list((table / ".hoodie").glob("*.commit"))) == 1
