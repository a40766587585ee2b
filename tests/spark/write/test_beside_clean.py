"""A write whose files a clean takes away before it has read them is a conflict, and is done by another try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.options.result import JobState
from spark_jobs.write.direct import placed_source
from spark_jobs.write.routes import number_slices
from tests.spark.tables import COW, MOR, Jobs, SparkJobs, ordered, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def once_slices_are_chosen(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Have something happen after the next write chose the file slices that it reads."""

    def late(slices: Sequence[FileSlice]) -> dict[int, FileSlice]:
        monkeypatch.setattr(placed_source, "number_slices", number_slices)
        act()
        return number_slices(slices)

    monkeypatch.setattr(placed_source, "number_slices", late)


@pytest.mark.parametrize("kind", [Jobs, SparkJobs])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_file_that_was_cleaned_before_it_was_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str, kind: type[Jobs]
) -> None:
    """A plan that was made commits ago is carried out when the write has chosen what it reads: of the group only the
    slice of the plan, whose instant is an old one, is retained.
    """
    jobs = kind(spark=spark, path=tmp_path / "t", table_type=table_type, conf={"hoodie.index.type": "SIMPLE"})
    jobs.write("bulk_insert", rows(range(6), partitions="a"))
    if table_type == MOR:
        jobs.write("upsert", [row(1, "a", "logged", 2)])
    rewrite = jobs.compact if table_type == MOR else jobs.cluster
    assert rewrite("schedule").state is JobState.SCHEDULED
    for number in (10, 11):
        jobs.write("upsert", [row(number, "b")])

    def rewrite_and_clean() -> None:
        assert rewrite("execute").state is JobState.COMPLETED
        assert jobs.clean().files_in

    before = jobs.rows()
    once_slices_are_chosen(monkeypatch, rewrite_and_clean)
    batch = [row(100, "a", "mine", 9)]
    with pytest.raises(WriteConflictError, match=r"a/\S+ was removed by clean \d+ while it was read: run it again"):
        jobs.write("upsert", batch)
    assert jobs.rows() == before
    assert not jobs.table().timeline.pending_writes()
    jobs.write("upsert", batch)
    assert jobs.rows() == ordered([*before, *shown(batch)])


def test_a_file_that_no_clean_removed_is_missing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf={"hoodie.index.type": "SIMPLE"})
    jobs.write("bulk_insert", rows(range(6)))

    def remove() -> None:
        for file in jobs.path.glob("a/*.parquet"):
            file.unlink()

    once_slices_are_chosen(monkeypatch, remove)
    with pytest.raises(Exception, match="No such file") as refused:
        jobs.write("upsert", [row(0, "a", "mine", 9)])
    assert not isinstance(refused.value, WriteConflictError)
