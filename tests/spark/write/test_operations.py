"""Single properties of writes: keys of several columns, new columns, idempotency, conflicts, pending services."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobState
from spark_jobs.write.ingest import ingest
from tests.spark.tables import COW, MOR, SCHEMA, Jobs, digests, row, rows, shown
from tests.spark.write.interleaved import before_files

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_composite_keys_null_partitions_and_an_added_column(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type, keys=("id", "v"))
    first = [row(1, "a", "x"), row(1, "a", "y"), row(2, None, "x"), row(3, "b", None)]
    jobs.write("bulk_insert", first)
    assert jobs.rows() == shown(first)
    wider = pa.Table.from_pylist(
        [
            {**row(1, "a", "y", 2), "extra": 1.5},
            {**row(2, None, "x", 2), "extra": None},
            {**row(4, "c", "z", 2), "extra": 2.5},
        ],
        schema=SCHEMA.append(pa.field("extra", pa.float64())),
    )
    jobs.write("upsert", wider)
    expected = [
        {**row(1, "a", "x"), "extra": None},
        {**row(3, "b", None), "extra": None},
        *wider.to_pylist(),
    ]
    assert jobs.rows() == shown(expected)
    assert jobs.table().schema.names[-1] == "extra"
    with pytest.raises(ConfigError, match="no column extra"):
        jobs.write("upsert", first)
    jobs.write("delete", pa.table({"id": [1, 4], "v": ["x", "z"], "p": ["a", "c"]}))
    assert jobs.rows() == shown([one for one in expected if (one["id"], one["v"]) not in {(1, "x"), (4, "z")}])


def test_one_key_writes_once(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    first = jobs.write("bulk_insert", rows(range(10)), idempotency_key="load")
    before = digests(jobs.path)
    again = jobs.write("bulk_insert", rows(range(10)), idempotency_key="load")
    assert again.instant == first.instant
    assert again.reason == f"instant {first.instant} already did this write (idempotency key load)"
    assert digests(jobs.path) == before


def test_two_writers_with_one_key_write_once(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("bulk_insert", rows(range(10)))
    options = jobs.options("insert", rows(range(10, 20)), idempotency_key="more")
    instants: list[str | None] = []
    threads = [
        threading.Thread(target=lambda: instants.append(ingest(spark, options, Progress("test")).instant))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(instants) == 2
    assert len(set(instants)) == 1
    assert jobs.rows() == shown(rows(range(20)))


def at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, jobs: Jobs, one: list[dict[str, object]], other: list[dict[str, object]]
) -> None:
    """``other`` is written, all of it, when the write of ``one`` has read the table and written nothing yet."""
    before_files(monkeypatch, lambda: jobs.write("upsert", other) and None)
    jobs.write("upsert", one)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_concurrent_upserts_of_one_file_group_conflict(
    spark: SparkSession, tmp_path: Path, table_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    jobs.write("bulk_insert", [row(1, "a"), row(2, "a"), row(3, "b")])
    # the bulk insert may have spread partition a over two file groups; the same key is in one of them for certain
    with pytest.raises(WriteConflictError, match="both changed 1 file group"):
        at_the_same_time(monkeypatch, jobs, [row(1, "a", "lost", 2)], [row(1, "a", "won", 2)])
    monkeypatch.undo()
    assert jobs.rows() == shown([row(1, "a", "won", 2), row(2, "a"), row(3, "b")])
    assert not jobs.table().timeline.pending_writes()
    at_the_same_time(monkeypatch, jobs, [row(1, "a", "one", 3)], [row(3, "b", "other", 3)])
    assert jobs.rows() == shown([row(1, "a", "one", 3), row(2, "a"), row(3, "b", "other", 3)])


def test_updates_while_a_compaction_is_pending_go_to_the_slice_that_it_makes(
    spark: SparkSession, tmp_path: Path
) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR)
    jobs.write("bulk_insert", rows(range(10)))
    jobs.write("upsert", rows(range(4), "before", 2))
    planned = jobs.compact("schedule")
    assert planned.state is JobState.SCHEDULED
    jobs.write("upsert", [*rows(range(2), "after", 3), row(3, "b", None, 3, deleted=True), row(20, "a", "new", 3)])
    expected = shown(
        [
            *rows(range(2), "after", 3),
            *rows(range(2, 3), "before", 2),
            *rows(range(4, 10)),
            row(20, "a", "new", 3),
        ]
    )
    assert jobs.rows() == expected
    logs = [log.name for one in jobs.table().file_slices() for log in one.log_files]
    assert planned.instant in {log.instant for log in logs}
    before = jobs.rows_with_meta()
    done = jobs.compact("execute")
    assert (done.state, done.instant) == (JobState.COMPLETED, planned.instant)
    assert jobs.rows_with_meta() == before
    assert {one.base_instant for one in jobs.table().file_slices() if one.log_files} == {planned.instant}
    jobs.compact()
    assert jobs.rows_with_meta() == before
    assert not [one for one in jobs.table().file_slices() if one.log_files]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_an_update_of_what_a_pending_clustering_has_is_refused(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    jobs.write("bulk_insert", rows(range(10)))
    jobs.write("bulk_insert", rows(range(10, 20)))
    planned = jobs.cluster("schedule")
    before = digests(jobs.path)
    with pytest.raises(WriteConflictError, match=f"pending clustering {planned.instant}"):
        jobs.write("upsert", [row(1, "b", "no", 2)])
    assert digests(jobs.path) == before
    jobs.write("upsert", rows(range(30, 34), "new", 2))
    assert jobs.cluster("execute").instant == planned.instant
    expected = shown([*rows(range(20)), *rows(range(30, 34), "new", 2)])
    assert jobs.rows() == expected
    jobs.write("upsert", [row(1, "b", "yes", 3)])
    assert row(1, "b", "yes", 3)["v"] in {one["v"] for one in jobs.rows()}


def test_null_keys_are_found_before_an_upsert_leaves_a_trace(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("bulk_insert", rows(range(10)))
    before = digests(jobs.path)
    with pytest.raises(Exception, match="a record has no value in its key"):
        jobs.write("upsert", [row(1, "b", "no", 2), {**row(2, "a", "no", 2), "id": None}])
    assert digests(jobs.path) == before


def test_a_failed_bulk_insert_leaves_its_rollback_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("bulk_insert", rows(range(10)))
    before = digests(jobs.path)
    with pytest.raises(Exception, match="a record has no value in its key"):
        jobs.write("bulk_insert", [row(11, "b"), {**row(2, "a"), "id": None}])
    after = digests(jobs.path)
    assert {name: after[name] for name in before} == before
    added = {name for name in after if name not in before}
    left = (".hoodie/.temp", ".hoodie/.heartbeat", ".hoodie/metadata/")  # the metadata table is told of the rollback
    assert not {name for name in added if ".rollback" not in name and not name.startswith(left)}
    assert not [one for one in jobs.table().timeline.instants if not one.is_completed]
    assert len(jobs.table().timeline.completed(Action.ROLLBACK)) == 1


def test_jobs_import_in_a_fresh_process(tmp_path: Path) -> None:
    """The entry points find the package by themselves when it is installed or on the path."""
    for job in ("ingest", "compact", "cluster", "clean"):
        outcome = subprocess.run(
            [sys.executable, str(ROOT / "spark_jobs" / f"{job}.py"), "--help"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert outcome.returncode == 0, outcome.stderr
        assert "--base-path" in outcome.stdout


def test_a_result_counts_what_came_in(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    source = Path(jobs.source(rows(range(10))))
    first = jobs.write("bulk_insert", [], source=(str(source),), idempotency_key="one")
    assert (first.files_in, first.bytes_in, first.records_in) == (1, source.stat().st_size, 10)
    again = jobs.write("bulk_insert", [], source=(str(source),), idempotency_key="one")
    assert (again.instant, again.files_in, again.bytes_in) == (first.instant, 0, 0)
