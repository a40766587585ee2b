"""Overwrites and deleted partitions: what is replaced, what stays, and what the timeline says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError, TableNotFoundError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobState
from spark_jobs.write.ingest import ingest
from tests.spark.tables import COW, MOR, Jobs, Row, digests, row, rows, shown
from tests.spark.write.interleaved import before_files

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(params=[COW, MOR])
def jobs(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Jobs:
    """A table of the partitions a, b and c with updates; on MERGE_ON_READ those are in logs."""
    made = Jobs(spark=spark, path=tmp_path / "t", table_type=request.param)
    made.write("bulk_insert", rows(range(12), partitions="abc"))
    made.write("upsert", [row(0, "a", "updated", 2), row(1, "b", "updated", 2)])
    return made


def before() -> list[Row]:
    changed = {0, 1}
    return [
        row(0, "a", "updated", 2),
        row(1, "b", "updated", 2),
        *(one for one in rows(range(12), partitions="abc") if one["id"] not in changed),
    ]


def outside(*partitions: str) -> list[Row]:
    return [one for one in before() if one["p"] not in partitions]


def delete_partition(jobs: Jobs, partitions: str, **more: object) -> IngestOptions:
    conf = (*jobs.options("upsert", []).hoodie_conf, ("hoodie.datasource.write.partitions.to.delete", partitions))
    return IngestOptions(
        base_path=str(jobs.path),
        op=Operation.DELETE_PARTITION,
        hoodie_conf=conf,
        **more,  # type: ignore[arg-type]
    )


def last(jobs: Jobs) -> tuple[State, CommitMetadata]:
    timeline = jobs.table().timeline
    instant = timeline.completed_commits()[-1]
    assert instant.action is Action.REPLACE_COMMIT
    return instant.state, timeline.commit_metadata(instant, jobs.table().clock)


def groups(jobs: Jobs, *partitions: str) -> dict[str, tuple[str, ...]]:
    found = jobs.table().view(partitions).live_groups()
    return {p: tuple(sorted(one.file_id for one in found if one.partition == p)) for p in partitions}


def replaced(metadata: CommitMetadata) -> dict[str, tuple[str, ...]]:
    return {p: tuple(sorted(ids)) for p, ids in (metadata.replaced_file_ids or {}).items()}


def metadata_lists_what_is_there(jobs: Jobs) -> None:
    """Invariant 9, and that the metadata table names every file of a live slice."""
    listed = HudiTable.open(str(jobs.path))
    on_storage = HudiTable.open(str(jobs.path), lists_storage=True)
    assert listed.config.metadata_partitions
    for table in (listed, on_storage):
        assert table.partitions() == on_storage.partitions()
    assert listed.file_slices() == on_storage.file_slices()


def test_insert_overwrite_replaces_the_partitions_of_its_records(jobs: Jobs) -> None:
    old = groups(jobs, "a", "new")
    new = [row(0, "a", "over", 1), row(100, "a", "over", 1), row(101, "new", "over", 1)]
    result = jobs.write("insert_overwrite", new)
    assert jobs.rows() == shown([*outside("a"), *new])
    _, metadata = last(jobs)
    assert replaced(metadata) == old
    assert old["new"] == ()
    assert (metadata.operation_type.value, metadata.compacted) == ("INSERT_OVERWRITE", False)
    assert {stat.prev_commit for stat in metadata.write_stats} == {"null"}
    assert (result.action, result.inserts, result.extra["replaced_file_groups"]) == ("replacecommit", 3, len(old["a"]))
    metadata_lists_what_is_there(jobs)
    jobs.write("upsert", [row(100, "a", "again", 5), row(102, "a", "again", 5)])
    kept = [one for one in new if one["id"] != 100]
    assert jobs.rows() == shown([*outside("a"), *kept, row(100, "a", "again", 5), row(102, "a", "again", 5)])


def test_replaced_files_go_when_no_retained_instant_needs_them(jobs: Jobs) -> None:
    """Invariants 1 and 6."""
    first = jobs.table().timeline.completed_commits()[-1].timestamp
    was = jobs.table().scan(as_of=first).to_arrow().num_rows
    old = groups(jobs, "a", "b")
    jobs.write("insert_overwrite", [row(100, "a", "over")])
    ingest(jobs.spark, delete_partition(jobs, "b"), Progress("test"))
    assert jobs.table().scan(as_of=first).to_arrow().num_rows == was
    jobs.write("upsert", [row(100, "a", "later", 2)])
    jobs.clean()
    expected = shown([*outside("a", "b"), row(100, "a", "later", 2)])
    assert jobs.rows() == expected
    left = {one.name for one in jobs.path.rglob("*") if one.is_file() and ".hoodie" not in one.parts}
    assert not [name for name in left for file_id in (*old["a"], *old["b"]) if file_id in name]
    metadata_lists_what_is_there(jobs)
    assert jobs.table().partitions() == ["a", "c"]


def test_insert_overwrite_table_replaces_all(jobs: Jobs) -> None:
    old = groups(jobs, "a", "b", "c")
    new = [row(0, "a", "over"), row(1, "d", "over")]
    jobs.write("insert_overwrite_table", new)
    assert jobs.rows() == shown(new)
    _, metadata = last(jobs)
    assert replaced(metadata) == {**old, "d": ()}
    metadata_lists_what_is_there(jobs)
    jobs.write("insert_overwrite_table", [])
    assert jobs.rows() == []
    assert last(jobs)[1].write_stats == ()


def test_static_overwrites(jobs: Jobs) -> None:
    conf = {"hoodie.static.overwrite.partition.paths": "a,b"}
    new = [row(0, "a", "over")]
    jobs.write(
        "insert_overwrite", new, hoodie_conf=tuple({**dict(jobs.options("upsert", []).hoodie_conf), **conf}.items())
    )
    assert jobs.rows() == shown([*outside("a", "b"), *new])
    conf = {"hoodie.datasource.overwrite.mode": "STATIC"}
    jobs.write(
        "insert_overwrite", new, hoodie_conf=tuple({**dict(jobs.options("upsert", []).hoodie_conf), **conf}.items())
    )
    assert jobs.rows() == shown(new)
    assert last(jobs)[1].operation_type.value == "INSERT_OVERWRITE_TABLE"


def test_delete_partition(jobs: Jobs) -> None:
    old = groups(jobs, "a", "b", "c")
    options = delete_partition(jobs, "a, nowhere", idempotency_key="once")
    planned = ingest(jobs.spark, delete_partition(jobs, "*", dry_run=True), Progress("test"))
    assert planned.plan is not None
    assert {p: tuple(sorted(ids)) for p, ids in planned.plan["replaces"].items()} == old
    result = ingest(jobs.spark, options, Progress("test"))
    assert jobs.rows() == shown(outside("a"))
    _, metadata = last(jobs)
    assert (metadata.operation_type.value, metadata.write_stats) == ("DELETE_PARTITION", ())
    assert replaced(metadata) == {"a": old["a"], "nowhere": ()}
    assert metadata.schema_text
    assert (result.state, result.extra["replaced_file_groups"]) == (JobState.COMPLETED, len(old["a"]))
    metadata_lists_what_is_there(jobs)
    files = digests(jobs.path)
    again = ingest(jobs.spark, options, Progress("test"))
    assert (again.state, again.instant) == (JobState.COMPLETED, result.instant)
    nothing = ingest(jobs.spark, delete_partition(jobs, "a,x*"), Progress("test"))
    assert (nothing.state, nothing.reason) == (
        JobState.NOTHING_TO_DO,
        "no rows are in the partitions to delete ('a')",
    )
    assert digests(jobs.path) == files
    jobs.write("delete_partition", [row(77, "b")])  # those of a source's records
    assert jobs.rows() == shown(outside("a", "b"))
    jobs.write("insert", [row(200, "a", "back")])
    assert jobs.rows() == shown([*outside("a", "b"), row(200, "a", "back")])


def test_delete_partition_needs_a_table_and_partitions(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = Jobs(spark=spark, path=tmp_path / "t")
    with pytest.raises(TableNotFoundError, match="no table at"):
        ingest(spark, delete_partition(nowhere, "a"), Progress("test"))
    nowhere.write("bulk_insert", [row(1)])
    with pytest.raises(ConfigError, match="needs partitions"):
        ingest(spark, delete_partition(nowhere, ""), Progress("test"))


def test_what_a_pending_service_has_is_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR)
    jobs.write("bulk_insert", rows(range(10)))
    jobs.write("upsert", rows(range(2), "before", 2))
    compaction = jobs.compact("schedule")
    with pytest.raises(WriteConflictError, match=f"pending compaction {compaction.instant}"):
        ingest(spark, delete_partition(jobs, "a"), Progress("test"))
    jobs.write("insert_overwrite", [row(50, "a", "over", 3)])
    jobs.compact("execute")
    expected = shown([row(50, "a", "over", 3), row(1, "b", "before", 2), *rows([3, 5, 7, 9], partitions="bb")])
    assert jobs.rows() == expected
    metadata_lists_what_is_there(jobs)
    clustering = jobs.cluster("schedule")
    files = digests(jobs.path)
    for refused in (
        lambda: ingest(spark, delete_partition(jobs, "b"), Progress("test")),
        lambda: jobs.write("insert_overwrite", [row(60, "b")]),
        lambda: jobs.write("insert_overwrite_table", [row(60, "z")]),
    ):
        with pytest.raises(WriteConflictError, match=f"pending clustering {clustering.instant}"):
            refused()
    assert digests(jobs.path) == files
    jobs.cluster("execute")
    jobs.clean()
    assert jobs.rows() == expected


@pytest.mark.parametrize("other", ["upsert", "insert", "insert_overwrite"])
def test_a_partition_that_others_write_to_is_not_replaced(
    jobs: Jobs, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overwrite that has begun when another write to its partition is completed; and one of other partitions."""
    before_files(monkeypatch, lambda: jobs.write(other, [row(0, "a", "other", 9)]) and None)
    with pytest.raises(WriteConflictError, match=r"both changed|is to be replaced"):
        jobs.write("insert_overwrite", [row(1, "a", "lost", 1)])
    assert "lost" not in {one["v"] for one in jobs.rows()}
    before_files(monkeypatch, lambda: jobs.write(other, [row(0, "a", "other", 9)]) and None)
    jobs.write("insert_overwrite", [row(1, "b", "won", 1)])
    assert [one["v"] for one in jobs.rows() if one["p"] == "b"] == ["won"]
    assert not [one for one in jobs.table().timeline.instants if not one.is_completed]


def test_a_failed_overwrite_changes_nothing(jobs: Jobs) -> None:
    files = jobs.rows_with_meta()
    with pytest.raises(Exception, match="a record has no value in its key"):
        jobs.write("insert_overwrite", [row(1, "b"), {**row(2, "a"), "id": None}])
    assert jobs.rows_with_meta() == files
    assert not [one for one in jobs.table().timeline.instants if not one.is_completed]
    jobs.write("insert_overwrite", [row(1, "b", "over")])
    assert jobs.rows() == shown([*outside("b"), row(1, "b", "over")])
