"""Every job works in the lake that its edge gives it: here, a store of objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.job import run_job
from spark_jobs.options.bootstrap import BOOTSTRAP
from spark_jobs.options.create_table import CREATE_TABLE
from spark_jobs.options.hive_sync import HIVE_SYNC
from spark_jobs.options.indexing import INDEXING
from spark_jobs.options.ingest import INGEST
from spark_jobs.options.job import Job
from spark_jobs.options.registry import JOBS
from spark_jobs.options.restore import RESTORE
from tests.support.object_store import new_store

pytestmark = pytest.mark.unit

URL = "mem://lake/t"
WORDS = {
    BOOTSTRAP.name: ["--source=mem://lake/plain", "--table-name=t", "--record-key-fields=id"],
    CREATE_TABLE.name: ["--ddl=create table if not exists t (id bigint) using hudi"],
    INDEXING.name: ["--index-types=COLUMN_STATS"],
    RESTORE.name: ["--instant-time=20240101000000000"],
}
HERE = [one for one in JOBS if one not in (INGEST, HIVE_SYNC)]
"""Those that need neither Spark nor a metastore."""


@pytest.mark.parametrize("job", HERE, ids=lambda job: job.name)
def test_a_job_opens_its_table_in_the_lake_of_its_edge(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(storages={"mem": new_store(tmp_path)})
    HudiTable.create(URL, name="t", table_type="COPY_ON_WRITE", record_key_fields=["id"], lake=lake)
    words = [f"--base-path={URL}", "--dry-run", *WORDS.get(job.name, [])]
    code = run_job(job.run, job.options, words, lake=lake, verdict=job.verdict)
    err = capsys.readouterr().err
    assert code in (0, 2), err  # 2: what an empty table has none of
    assert "no storage for the scheme" not in err
    assert "is no option" not in err


def test_hive_sync_opens_its_table_there_before_it_calls_a_metastore(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(storages={"mem": new_store(tmp_path)})
    words = [f"--base-path={URL}", "--metastore-uris=thrift://127.0.0.1:9"]
    assert run_job(HIVE_SYNC.run, HIVE_SYNC.options, words, lake=lake) == 5
    assert f"{URL} is not a Hudi table" in capsys.readouterr().err
