"""Upserts of ours that append to one file group at the same time; real Hudi reads, compacts and goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates
from tests.support.beside import at_the_same_time

pytestmark = pytest.mark.interop
BY_TIME = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
OURS = {**BUCKETS, "hoodie.write.concurrency.mode": "non_blocking_concurrency_control"}
HUDIS = {
    **BUCKETS,
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.payload.class": BY_TIME,
}
FIRST = local.batch(0, 8, "first", 100)
TOGETHER = (local.batch(0, 4, "one", 130), local.batch(2, 4, "two", 120), local.batch(1, 6, "three", 125))
"""Of three writers, of whom the last publishes first."""


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row[name] for name in ("id", "p", "v", "ts")) for row in table.to_pylist())


def test_hudi_goes_on_after_writers_that_did_not_wait(tmp_path: Path, real_hudi: RealHudi) -> None:
    path = tmp_path / "t"
    table = HudiTable.create(
        str(path),
        name="t",
        table_type="MERGE_ON_READ",
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        payload_class=BY_TIME,
    )
    table.upsert(FIRST, hoodie_conf=OURS)

    def upsert(batch: pa.Table) -> None:
        table.refreshed().upsert(batch, hoodie_conf=OURS)

    at_the_same_time([partial(upsert, batch) for batch in TOGETHER])
    newest = {row["id"]: row for row in pa.concat_tables([FIRST, *TOGETHER]).sort_by("ts").to_pylist()}
    expected = sorted(tuple(row.values()) for row in newest.values())
    assert len(table.refreshed().timeline.completed_commits()) == 4
    assert rows(table.refreshed().scan().to_arrow()) == expected
    assert rows(real_hudi.read(path)) == expected
    real_hudi.compact(path, options={**HUDIS, "hoodie.compact.inline.max.delta.commits": "1"})
    assert rows(real_hudi.read(path, "read_optimized")) == expected
    later = local.batch(0, 1, "later", 200)
    real_hudi.write(path, later, "upsert", HUDIS)
    after = [tuple(later.to_pylist()[0].values()), *expected[1:]]
    assert rows(real_hudi.read(path)) == after
    assert rows(table.refreshed().scan().to_arrow()) == after
    assert_hudi_validates(real_hudi, path, "at the end")
