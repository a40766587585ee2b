"""Another Hudi table as a source: what its commits wrote since the checkpoint, which is an instant of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.engine.progress import Progress
from spark_jobs.hive.metastore import MetastoreUnreachableError
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.ingest import ingest
from spark_jobs.write.sources.hudi import BEGIN
from tests.spark.tables import COW, MOR, SMALL, Jobs, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Copy:
    """A table that is read, and the one that its changes go to."""

    def __init__(self, spark: SparkSession, folder: Path, table_type: str = COW) -> None:
        self.spark = spark
        self.source = Jobs(spark=spark, path=folder / "source", table_type=table_type)
        self.target = Jobs(spark=spark, path=folder / "target")

    def run(self, conf: dict[str, str] | None = None, **more: Any) -> JobResult:
        options = {
            "base_path": str(self.target.path),
            "table_name": "copy",
            "source_format": "hudi",
            "source": (str(self.source.path),),
            "record_key_fields": ("id",),
            "partition_path_fields": ("p",),
            "precombine_field": "ts",
            "hoodie_conf": {**SMALL, **(conf or {})},
            **more,
        }
        return ingest(self.spark, IngestOptions(**options), Progress.silent("ingest"))


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_changes_follow_commit_by_commit(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    it = Copy(spark, tmp_path, table_type)
    it.source.write("insert", rows(range(4)))
    second = it.source.write("upsert", [row(0, "a", "new", 2), row(9, "a", "y", 2)])
    first = it.run()
    assert (first.inserts, first.extra["checkpoint"]) == (5, second.instant)
    assert it.target.rows() == it.source.rows()
    again = it.run()
    assert again.state is JobState.NOTHING_TO_DO
    assert f"no commits after {second.instant}" in (again.reason or "")
    third = it.source.write("upsert", [row(1, "b", "third", 3)])
    fourth = it.source.write("upsert", [row(1, "b", "fourth", 4), row(2, "a", "fourth", 4)])
    limited = it.run({"hoodie.deltastreamer.source.hoodieincr.num_instants": "1"})
    assert (limited.updates, limited.extra["checkpoint"]) == (1, third.instant)
    rest = it.run()
    assert (rest.updates, rest.extra["checkpoint"]) == (2, fourth.instant)
    assert it.target.rows() == it.source.rows()


def test_where_the_first_run_begins(spark: SparkSession, tmp_path: Path) -> None:
    it = Copy(spark, tmp_path)
    first = it.source.write("insert", rows(range(2)))
    it.source.write("insert", rows(range(2, 4)))
    it.source.write("insert", rows(range(4, 6)))
    missing = "hoodie.streamer.source.hoodieincr.missing.checkpoint.strategy"
    it.run({missing: "READ_LATEST"})
    assert it.target.rows() == shown(rows(range(4, 6)))
    begin = {"hoodie.datasource.read.begin.instanttime": "20990101000000000"}
    later = it.run(source_options=begin, ignore_checkpoint="later")
    assert (later.records_in, later.extra["checkpoint"]) == (0, "20990101000000000")
    begin = {"hoodie.datasource.read.begin.instanttime": str(first.instant)}
    it.run(source_options=begin, ignore_checkpoint="again")
    assert it.target.rows() == shown(rows(range(2, 6)))
    with pytest.raises(ConfigError, match="is the only one"):
        it.run(source_options={"path": "x"})
    with pytest.raises(ConfigError, match="is no instant of a Hudi table"):
        it.run(checkpoint="orders,0:1")


def test_all_that_is_there_comes_in_batches_and_nothing_behind_a_write_under_way(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A commit that completes later than one with a greater instant would be passed over."""
    it = Copy(spark, tmp_path)
    it.source.write("insert", rows(range(2)))
    it.run()
    for number in range(2, 4):
        last = it.source.write("insert", rows([number]))
    table = it.source.table()
    line = table.timeline
    time = next_instant_time(table.clock.now(), table.config.timezone, line.last_time)
    pending = transition(line, request(line, time, Action.COMMIT, b""), State.INFLIGHT, b"")
    done = it.run(available_now=True, source_limit=1, idempotency_key="run")
    assert (done.inserts, done.extra["batches"], done.extra["checkpoint"]) == (2, 2, last.instant)
    later = transition(line, request(line, f"{int(time) + 1}", Action.COMMIT, b""), State.INFLIGHT, b"")
    transition(line, later, State.COMPLETED, b"{}")
    assert it.run(available_now=True).state is JobState.NOTHING_TO_DO
    transition(line, pending, State.COMPLETED, b"{}")
    moved = it.run()
    assert (moved.records_in, moved.extra["checkpoint"]) == (0, later.timestamp)
    assert it.target.rows() == it.source.rows()


def test_a_table_without_commits_has_nothing_to_read_yet(spark: SparkSession, tmp_path: Path) -> None:
    it = Copy(spark, tmp_path)
    HudiTable.create(str(it.source.path), name="source", record_key_fields=["id"])
    for more in ({}, {"available_now": True}, {"checkpoint": "20260101000000000"}):
        found = it.run(**more)
        assert (found.state, found.reason) == (
            JobState.NOTHING_TO_DO,
            f"table {it.source.path} has nothing new: no commits yet",
        )
    assert not it.target.path.exists()


def test_orders_are_followed_once_under_an_idempotency_key_too(spark: SparkSession, tmp_path: Path) -> None:
    it = Copy(spark, tmp_path)
    instants = [str(it.source.write("insert", rows([number])).instant) for number in range(2)]
    limited = {"available_now": True, "source_limit": 1, "idempotency_key": "run"}
    assert it.run(**limited, checkpoint="0").inserts == 2
    again = it.run(**limited, ignore_checkpoint="again", source_options={BEGIN: "000"})
    assert (again.updates, again.extra["batches"], again.extra["checkpoint"]) == (2, 2, instants[1])
    at_end = it.run(checkpoint=instants[1])  # an order of its own, which the table is told of
    assert (at_end.state, at_end.records_in, at_end.extra["checkpoint"]) == (JobState.COMPLETED, 0, instants[1])
    assert it.run(checkpoint=instants[1]).state is JobState.NOTHING_TO_DO
    commits = it.target.table().timeline.completed_commits()
    ended = it.run(**limited, ignore_checkpoint="again", source_options={BEGIN: "000"})  # its retry, long after
    assert (ended.repeated, ended.extra["checkpoint"]) == (True, instants[0])
    assert it.target.table().timeline.completed_commits() == commits


def test_a_sync_that_failed_is_made_up_for_though_nothing_is_new(spark: SparkSession, tmp_path: Path) -> None:
    it = Copy(spark, tmp_path)
    it.source.write("insert", rows(range(2)))
    synced = {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.metastore.uris": "thrift://127.0.0.1:1",
    }
    for _ in range(2):  # after the batch, and where nothing is left
        with pytest.raises(MetastoreUnreachableError):
            it.run(synced)
        assert it.target.rows() == it.source.rows()
    done = it.run({**synced, "hoodie.datasource.hive_sync.ignore_exceptions": "true"})
    assert done.state is JobState.NOTHING_TO_DO
    assert "not synced" in done.extra["sync"]["reason"]
    assert "sync" not in it.run(synced, dry_run=True).extra


def test_partitions_that_rows_name_are_deleted_and_the_checkpoint_moves_where_there_are_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    it = Copy(spark, tmp_path)
    it.source.write("insert", rows(range(4)))
    it.run()
    for partition, left in (("c", 4), ("b", 2)):
        last = it.source.write("insert", [row(9, partition)])
        done = it.run(op=Operation.DELETE_PARTITION)
        assert (done.state, done.extra["checkpoint"]) == (JobState.COMPLETED, last.instant)
        assert len(it.target.rows()) == left
    with pytest.raises(ConfigError, match="both name partitions to delete"):
        it.run({"hoodie.datasource.write.partitions.to.delete": "a"}, op=Operation.DELETE_PARTITION)


def test_where_cleaning_took_what_a_limited_batch_needs_it_goes_up_to_the_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    it = Copy(spark, tmp_path)
    it.source.write("insert", rows(range(2)))
    it.run()
    for number in range(2, 5):
        last = it.source.write("upsert", [row(0, "a", f"v{number}", number)])
    it.source.clean()
    done = it.run(source_limit=1)
    assert (done.updates, done.extra["checkpoint"]) == (1, last.instant)
    assert it.target.rows() == it.source.rows()
