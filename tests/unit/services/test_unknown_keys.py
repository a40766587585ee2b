"""Every job names a key that nothing reads, by the same line, whatever else becomes of it."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import HudiError
from spark_jobs.engine.progress import Progress
from spark_jobs.options.job import Job
from spark_jobs.options.registry import JOBS
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import insert

pytestmark = pytest.mark.unit
NEEDED: dict[str, dict[str, Any]] = {
    "indexing": {"index_types": "COLUMN_STATS"},
    "ingest": {"op": "delete_partition"},
    "restore": {"instant_time": "20200101000000000"},
}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_key_that_nothing_reads(root: Folder, job: Job) -> None:
    table = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(table, "a")
    said = io.StringIO()
    conf = {"hoodie.nowhere": "1", "hoodie.datasource.write.partitions.to.delete": "q"}
    options = job.options(base_path=table.base_path, hoodie_conf=tuple(conf.items()), **NEEDED.get(job.name, {}))
    with suppress(HudiError):  # there may be nothing to do it to
        job.run(options, job_context(Progress("job", stream=said), lake=root.lake))
    assert "warning: hoodie.nowhere is not known to this release and has no effect" in said.getvalue()
