"""Real Hudi 0.15.0 and we write one table on HDFS in turn, both with Hudi's lock file; both read all rows each time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate
from tests.interop.lines import ServerError
from tests.interop.real_hudi import RealHudi
from tests.support import hdfs
from tests.support.in_turn import Rows, batch, options_of, rows_of

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(600)]
SETTINGS = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.metadata.enable": "false",
}
"""Hudi's released bundle can't read its metadata table on HDFS with Hadoop 3: the HBase in it was built for Hadoop 2
(NoSuchMethodError: HdfsDataInputStream.getReadStatistics).
"""
COMPACTION = {**SETTINGS, "hoodie.compact.inline.max.delta.commits": "1"}


@pytest.fixture(scope="module")
def real_hudi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHudi]:
    session = {"spark.hadoop.dfs.replication": "2"}
    with RealHudi(tmp_path_factory.mktemp("real-hudi") / "spark.log", session=session) as hudi:
        yield hudi


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_both_write_in_turn(real_hudi: RealHudi, tmp_path: Path, table_type: str) -> None:
    url = f"{hdfs.url()}/{tmp_path.name}/t"
    lake = Lake(storages={"hdfs": hdfs.DatedStorage()})
    expected: Rows = {}

    def expect(rows: pa.Table) -> None:
        expected.update(rows_of(rows))
        found = real_hudi.read(url, options=SETTINGS)
        assert rows_of(found) == expected
        assert rows_of(HudiTable.open(url, lake=lake).scan().to_arrow()) == expected

    def by_hudi(rows: pa.Table, operation: str) -> None:
        real_hudi.write(url, rows, operation, {**options_of(table_type), **SETTINGS})
        expect(rows)

    def by_us(rows: pa.Table) -> None:
        HudiTable.open(url, lake=lake).upsert(rows, hoodie_conf=SETTINGS)
        expect(rows)

    by_hudi(batch(range(100), 1), "bulk_insert")
    by_us(batch(range(50, 150), 2))
    by_hudi(batch(range(100, 200), 3), "upsert")
    by_us(batch(range(0, 200, 7), 4))
    if table_type == "MERGE_ON_READ":
        assert real_hudi.compact(url, options=COMPACTION)
        expect(batch(range(0), 0))
    by_hudi(batch(range(0, 200, 11), 5), "upsert")
    assert [str(one) for one in validate(url, deep=True, lake=lake)] == []


def test_hudi_waits_for_our_lock(real_hudi: RealHudi, tmp_path: Path) -> None:
    url = f"{hdfs.url()}/{tmp_path.name}/t"
    lake = Lake(storages={"hdfs": hdfs.DatedStorage()})
    real_hudi.write(url, batch(range(10), 1), "bulk_insert", {**options_of("COPY_ON_WRITE"), **SETTINGS})
    table = HudiTable.open(url, lake=lake)
    impatient = {
        **options_of("COPY_ON_WRITE"),
        **SETTINGS,
        "hoodie.write.lock.num_retries": "1",
        "hoodie.write.lock.client.num_retries": "1",
        "hoodie.write.lock.wait_time_ms": "200",
        "hoodie.write.lock.wait_time_ms_between_retry": "100",
        "hoodie.write.lock.client.wait_time_ms_between_retry": "100",
    }
    with table.transaction_settings(SETTINGS).new_lock(), pytest.raises(ServerError, match="lock"):
        real_hudi.write(url, batch(range(10), 2), "upsert", impatient)
    real_hudi.write(url, batch(range(10), 3), "upsert", impatient)
    found = rows_of(HudiTable.open(url, lake=lake).scan().to_arrow())
    assert found == {f"k{key:03}": 3 for key in range(10)}
