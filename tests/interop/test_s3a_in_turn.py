"""Real Hudi 0.15.0 over Hadoop's S3A and we work on one table in S3 in turn, with metadata table; both read all rows
each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options import CleanOptions, ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.validation.run import validate
from tests.interop.real_hudi import RealHudi
from tests.support.folder import Folder
from tests.support.in_turn import Rows, batch, options_of, rows_of
from tests.support.jobs import job_context
from tests.support.s3 import S3_SERVER
from tests.support.s3a import s3a_jars, s3a_session
from tests.unit.core.metadata_table.agreement import disagreements

pytestmark = pytest.mark.timeout(1800)
ONE_WRITER = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
"""For Hudi's procedures, which would else make a lock file, and can't on S3A. Both sides never write at once here."""
AT_ONCE = {
    **ONE_WRITER,
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.cleaner.commits.retained": "1",
}


@pytest.fixture(scope="module")
def real_hudi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHudi]:
    given = S3_SERVER.options()
    session = s3a_session(given["endpoint"], given["access_key_id"], given["secret_access_key"])
    log = tmp_path_factory.mktemp("real-hudi") / "spark.log"
    with RealHudi(log, session=session, jars=s3a_jars()) as hudi:
        yield hudi


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_both_work_in_turn(real_hudi: RealHudi, table_type: str) -> None:
    url = f"{S3_SERVER.new_bucket()}/lake/t"
    theirs, lake = f"s3a{url.removeprefix('s3')}", Lake().reached_by(S3_SERVER.options())
    given: dict[str, Any] = {"base_path": url, "hoodie_conf": AT_ONCE}
    is_mor = table_type == "MERGE_ON_READ"
    expected: Rows = {}

    def expect(rows: pa.Table) -> None:
        expected.update(rows_of(rows))
        for metadata in ("true", "false"):
            assert rows_of(real_hudi.read(theirs, options={"hoodie.metadata.enable": metadata})) == expected
        assert rows_of(HudiTable.open(url, lake=lake).scan().to_arrow()) == expected

    def by_hudi(rows: pa.Table, operation: str) -> None:
        real_hudi.write(theirs, rows, operation, options_of(table_type))
        expect(rows)

    def by_us(rows: pa.Table) -> None:
        HudiTable.open(url, lake=lake).upsert(rows)
        expect(rows)

    by_hudi(batch(range(100), 1), "bulk_insert")
    by_us(batch(range(50, 150), 2))
    by_hudi(batch(range(100, 200), 3), "upsert")
    by_us(batch(range(0, 200, 7), 4))
    if is_mor:
        assert real_hudi.compact(theirs, options=AT_ONCE)
        expect(batch(range(0), 0))
        by_us(batch(range(0, 200, 5), 5))
        assert run_compaction(CompactionOptions(**given), job_context(lake=lake)).instant
        expect(batch(range(0), 0))
    by_hudi(batch(range(0, 200, 11), 6), "upsert")
    assert run_cleaning(CleanOptions(**given), job_context(lake=lake)).files_in
    expect(batch(range(0), 0))
    by_us(batch(range(0, 200, 3), 7))
    by_hudi(batch(range(0, 200, 4), 8), "upsert")
    if is_mor:  # or nothing is superseded
        assert run_compaction(CompactionOptions(**given), job_context(lake=lake)).instant
        by_us(batch(range(0, 200, 9), 9))
    assert real_hudi.clean(theirs, options=AT_ONCE)
    expect(batch(range(0), 0))
    assert run_clustering(ClusteringOptions(**given), job_context(lake=lake)).instant
    expect(batch(range(0), 0))
    by_hudi(batch(range(200, 260), 10), "insert")
    assert real_hudi.cluster(theirs, options=AT_ONCE)
    expect(batch(range(0), 0))
    by_us(batch(range(0, 260, 13), 11))
    table = HudiTable.open(url, lake=lake)
    assert {one.action for one in table.timeline.instants} >= {Action.CLEAN, Action.REPLACE_COMMIT}
    assert disagreements(Folder(url, lake)) == []
    assert [str(one) for one in validate(url, deep=True, lake=lake)] == []
