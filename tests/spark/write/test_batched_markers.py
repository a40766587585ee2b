"""Writes whose tasks ask the driver for their markers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.files.markers import read_markers
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.transaction.transaction import Transaction
from tests.spark.tables import COW, MOR, Jobs, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BATCHED = {"hoodie.write.markers.type": "TIMELINE_SERVER_BASED"}


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("embedded", ["true", "false"])
def test_every_file_has_its_marker_in_a_batch(
    spark: SparkSession, tmp_path: Path, table_type: str, embedded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(
        spark=spark,
        path=tmp_path / "t",
        table_type=table_type,
        conf={**BATCHED, "hoodie.embed.timeline.server": embedded},
    )
    seen: list[tuple[set[str], frozenset[str], bool]] = []
    publish = Transaction.publish

    def look_and_publish(self: Transaction, *args: Any, written: frozenset[str], **more: Any) -> Instant:
        base_path = self.settings.base_path
        markers = read_markers(LocalStorage(), base_path, self.time) or []
        names = {file.name for file in (Path(base_path) / ".hoodie" / ".temp" / self.time).iterdir()}
        seen.append(({one.data_path for one in markers}, written, "MARKERS.type" in names))
        return publish(self, *args, written=written, **more)

    monkeypatch.setattr(Transaction, "publish", look_and_publish)
    jobs.write("bulk_insert", rows(range(8)))
    jobs.write("upsert", rows(range(4), "y", 2))
    assert jobs.rows() == shown([*rows(range(4), "y", 2), *rows(range(4, 8))])
    assert len(seen) == 2
    for marked, written, batched in seen:
        assert marked == written
        assert batched is (embedded == "true")
    assert list((tmp_path / "t" / ".hoodie" / ".temp").iterdir()) == []
