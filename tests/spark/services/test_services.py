"""Services on Spark: rows before and after, dry runs that list what is then done, reasons, and what cleaning keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.options.result import JobState
from tests.spark.tables import COW, MOR, Jobs, digests, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_a_compaction_does_what_its_dry_run_says(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR)
    jobs.write("bulk_insert", rows(range(20)))
    jobs.write("upsert", [*rows(range(6), "two", 2), row(7, "b", None, 2, deleted=True)])
    before, untouched = jobs.rows_with_meta(), digests(jobs.path)
    dry = jobs.compact(dry_run=True)
    assert dry.state is JobState.DRY_RUN
    assert digests(jobs.path) == untouched
    done = jobs.compact()
    assert done.state is JobState.COMPLETED
    assert (done.files_in, done.bytes_in) == (dry.files_in, dry.bytes_in)
    assert jobs.rows_with_meta() == before
    assert not [one for one in jobs.table().file_slices() if one.log_files]
    untouched = digests(jobs.path)
    again = jobs.compact()
    assert again.state is JobState.NOTHING_TO_DO
    assert again.reason is not None
    assert "0 delta commit(s) since the last compaction, 1 make it due" in again.reason
    assert digests(jobs.path) == untouched


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_clustering_sorts_and_keeps_the_rows(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    jobs.write("bulk_insert", [row(one, "a", f"v{one % 3}") for one in range(20)])
    jobs.write("bulk_insert", [row(one, "a", f"v{one % 3}") for one in range(20, 40)])
    jobs.write("upsert", [row(3, "a", "v9", 2), row(4, "a", None, 2, deleted=True)])
    before = jobs.rows_with_meta()
    done = jobs.cluster()
    assert done.state is JobState.COMPLETED
    assert jobs.rows_with_meta() == before
    slices = jobs.table().file_slices()
    assert [one.base_instant for one in slices] == [done.instant]
    found = jobs.table().scan(columns=["v", "id"]).to_arrow().to_pylist()
    assert found == sorted(found, key=lambda one: (one["v"], one["id"]))
    jobs.write("upsert", [row(5, "a", "later", 3)])
    assert {"id": 5, "p": "a", "v": "later", "ts": 3} in jobs.rows()


def test_cleaning_keeps_what_the_retained_instant_reads(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("bulk_insert", rows(range(10)))
    second = jobs.write("upsert", rows(range(4), "two", 2))
    jobs.write("upsert", rows(range(4), "three", 3))
    retained = jobs.write("upsert", rows(range(4), "four", 4))
    at_retained = jobs.table().scan(as_of=retained.instant).to_arrow().num_rows
    done = jobs.clean()
    assert done.state is JobState.COMPLETED
    assert done.extra["deleted_files"] > 0
    assert jobs.table().scan(as_of=retained.instant).to_arrow().num_rows == at_retained
    assert jobs.rows() == shown([*rows(range(4), "four", 4), *rows(range(4, 10))])
    assert not list(jobs.path.rglob(f"*_{second.instant}.parquet"))
    assert jobs.clean().state is JobState.NOTHING_TO_DO
