"""Indexes made by the indexing job beside writers, taken back where it fails, and dropped."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.errors import ConfigError, StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS, read_footer_filter
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.index_build import IndexBuild
from spark_jobs.core.metadata_table.keys import bloom_filter_key, column_stats_key
from spark_jobs.core.metadata_table.scan import read_records
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.plans.indexing import RequestedIndexing
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.indexing import IndexingMode
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.job import run_compaction
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.indexing import run
from tests.support.jobs import job_context
from tests.support.locks import outlast
from tests.support.record_index import (
    ENABLE,
    agrees,
    delete,
    maintain,
    places_by_index,
    places_of_rows,
    upsert,
)
from tests.unit.core.metadata_table.agreement import disagreements, listed_files, metadata_table_of

pytestmark = pytest.mark.unit

ASYNC = "hoodie.metadata.index.async"
ALL = ("COLUMN_STATS", "BLOOM_FILTERS", "RECORD_INDEX")
FLAGS = ("hoodie.metadata.index.column.stats.enable", "hoodie.metadata.index.bloom.filter.enable", ENABLE)


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def path(request: pytest.FixtureRequest, root: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A table with some rows whose writers keep all indexes and make none."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
    monkeypatch.setitem(local.AT_ONCE, ASYNC, "true")
    for key in FLAGS:
        monkeypatch.setitem(local.AT_ONCE, key, "true")
    local.create(root / "t", request.param)
    upsert(root / "t", 0, 1)
    upsert(root / "t", 0, 2)
    assert (root / "t").table().config.metadata_partitions == ("files",)
    return root / "t"


def listed(path: Folder) -> tuple[str, ...]:
    return path.table().config.metadata_partitions


def being_made(path: Folder) -> tuple[str, ...]:
    return table_keys.METADATA_PARTITIONS_INFLIGHT.of(path.table().config.properties)


def indexing_instants(path: Folder) -> list[State]:
    return [one.state for one in path.table().timeline.instants if one.action is Action.INDEXING]


def file_indexes_agree(path: Folder) -> bool:
    """Column statistics and bloom filters of the listed base files are those in their footers."""
    table = metadata_table_of(path)
    stats = read_records(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    filters = read_records(table, MetadataPartition.BLOOM_FILTERS, BLOOM_FILTERS)
    compared = 0
    for partition, names in listed_files(path).items():
        for name in names:
            if parse_base_file_name(name) is None:
                continue
            whole = f"{path}/{partition}/{name}"
            found = read_footer_stats(table.storage, whole, ["id", "v", "_hoodie_record_key"])
            footer = read_footer_filter(table.storage, whole, "")
            stored = filters[bloom_filter_key(partition, name)]
            if footer is None or stored.text != footer.text:
                return False
            if any(stats[column_stats_key(one.column, partition, name)] != one for one in found):
                return False
            compared += 1
    return compared > 0


def test_all_indexes_at_once_and_kept_afterwards(path: Folder) -> None:
    result = run(path, types=ALL)
    assert result.state is JobState.COMPLETED
    assert result.extra["actions_caught_up"] == 0
    assert listed(path) == ("bloom_filters", "column_stats", "files", "record_index")
    assert being_made(path) == ()
    assert indexing_instants(path) == [State.COMPLETED]
    assert agrees(path)
    assert file_indexes_agree(path)
    upsert(path, 10, 3)
    delete(path, 0, 3, "d")
    maintain(path, 1)
    upsert(path, 20, 4)
    assert agrees(path)
    assert file_indexes_agree(path)


def test_scheduled_then_executed_after_more_writes(path: Folder) -> None:
    last = path.table().timeline.completed_commits()[-1].timestamp
    planned = run(path, IndexingMode.SCHEDULE)
    assert planned.state is JobState.SCHEDULED
    assert planned.instant is not None
    upsert(path, 10, 3)
    again = run(path, IndexingMode.SCHEDULE)
    assert again.state is JobState.NOTHING_TO_DO
    assert "RECORD_INDEX is being made" in str(again.reason)
    assert listed(path) == ("files",)
    table = path.table()
    (pending,) = table.timeline.pending({Action.INDEXING})
    raw = table.timeline.payload(pending, table.clock)
    info = {"version": 1, "metadataPartitionPath": "record_index", "indexUptoInstant": last}
    assert raw == {"version": 1, "indexPartitionInfos": [info]}
    dry = run(path, IndexingMode.EXECUTE, (), dry_run=True)
    assert dry.plan == {"indexes": ["RECORD_INDEX"], "base_instant": last}
    done = run(path, IndexingMode.EXECUTE, ())
    newest = table.timeline.completed_commits()[-1].timestamp
    assert (done.instant, done.extra["indexed_up_to"], done.records_out) == (planned.instant, newest, 20)
    assert agrees(path)
    assert run(path, IndexingMode.EXECUTE, ()).state is JobState.NOTHING_TO_DO
    assert run(path, IndexingMode.EXECUTE, (), instant_time=planned.instant).state is JobState.NOTHING_TO_DO
    assert "finished" in str(run(path).reason)


def test_what_completes_while_it_is_made_is_in_it(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first look for it, and between that and the last one under the lock."""
    write, catch_up = IndexBuild.write, IndexBuild.catch_up
    rounds: list[int] = []

    def write_while_others_do(build: IndexBuild) -> int:
        found = write(build)
        upsert(path, 10, 3)
        delete(path, 0, 3, "d1")
        local.clean(path)
        local.die_writing(path, local.batch(30, 10, "lost", 99))
        local.roll_back(path)
        return found

    def catch_up_while_others_do(build: IndexBuild, table: object) -> int:
        found = catch_up(build, table)  # type: ignore[arg-type]
        rounds.append(found)
        if len(rounds) == 1:
            upsert(path, 20, 4)
            delete(path, 10, 3, "d2")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(IndexBuild, "write", write_while_others_do)
        patched.setattr(IndexBuild, "catch_up", catch_up_while_others_do)
        result = run(path, types=ALL)
    assert rounds[1] == 2
    assert rounds[0] >= 3
    assert result.extra["actions_caught_up"] == sum(rounds)
    assert agrees(path)
    assert file_indexes_agree(path)
    upsert(path, 30, 5)
    maintain(path, 1)
    assert agrees(path)
    assert file_indexes_agree(path)


def plan_compaction(path: Folder) -> None:
    conf = tuple(local.AT_ONCE.items())
    options = CompactionOptions(base_path=str(path), mode=ServiceMode.SCHEDULE, hoodie_conf=conf)
    assert run_compaction(options, job_context(lake=path.lake)).state is JobState.SCHEDULED


@pytest.mark.parametrize("path", ["MERGE_ON_READ"], indirect=True)
@pytest.mark.parametrize("planned", ["before", "meanwhile"])
def test_logs_above_a_compaction_under_way(path: Folder, monkeypatch: pytest.MonkeyPatch, planned: str) -> None:
    """What was written on top of its plan is indexed, whether it is carried out meanwhile or not."""
    upsert(path, 10, 3)
    if planned == "before":
        plan_compaction(path)
        delete(path, 0, 2, "d1")
    write = IndexBuild.write

    def write_while_others_do(build: IndexBuild) -> int:
        found = write(build)
        if planned == "meanwhile":
            upsert(path, 10, 4)
            plan_compaction(path)
        delete(path, 2, 2, "d2")
        local.compact(path)
        delete(path, 4, 2, "d3")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(IndexBuild, "write", write_while_others_do)
        run(path)
    assert len(places_of_rows(path)) == (14 if planned == "before" else 16)
    assert agrees(path)
    upsert(path, 30, 6)
    assert agrees(path)


def test_writers_leave_it_to_the_job_that_makes_it(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that make indexes themselves."""
    monkeypatch.setitem(local.AT_ONCE, ASYNC, "false")
    for key in FLAGS[:2]:
        monkeypatch.setitem(local.AT_ONCE, key, "false")
    write = IndexBuild.write
    seen: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def write_while_others_do(build: IndexBuild) -> int:
        found = write(build)
        upsert(path, 10, 3)
        seen.append((listed(path), being_made(path)))
        return found

    monkeypatch.setattr(IndexBuild, "write", write_while_others_do)
    run(path)
    assert seen == [(("files",), ("record_index",))]
    assert agrees(path)


def test_a_failed_one_leaves_nothing(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: IndexBuild, storage: Storage) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(IndexBuild, "publish", fail)
        with pytest.raises(StorageError, match="disk is full"):
            run(path)
    assert (listed(path), being_made(path), indexing_instants(path)) == (("files",), (), [])
    assert not (path / ".hoodie/metadata/record_index").exists()
    assert not list((path / ".hoodie/.heartbeat").glob("*"))
    run(path)
    assert agrees(path)


@pytest.mark.parametrize("mode", [IndexingMode.EXECUTE, IndexingMode.SCHEDULE_AND_EXECUTE])
@pytest.mark.parametrize("where", ["write", "publish"])
def test_one_that_died_is_made_again(path: Folder, where: str, mode: IndexingMode) -> None:
    local.die_calling(IndexBuild, where, lambda: run(path), after=True)
    outlast(path)
    assert indexing_instants(path) == [State.INFLIGHT]
    assert (listed(path), being_made(path)) == (("files",), ("record_index",))
    upsert(path, 10, 3)
    assert not disagreements(path)
    result = run(path, mode)
    assert result.state is JobState.COMPLETED
    assert agrees(path)
    assert (being_made(path), indexing_instants(path)) == ((), [State.COMPLETED])
    upsert(path, 20, 4)
    maintain(path, 1)
    assert agrees(path)


def test_one_that_died_after_it_was_listed_is_completed(path: Folder) -> None:
    local.die_calling(RequestedIndexing, "completed_payload", lambda: run(path))
    outlast(path)
    assert (indexing_instants(path), listed(path)) == ([State.INFLIGHT], ("files", "record_index"))
    upsert(path, 10, 3)
    files = sorted((path / ".hoodie/metadata/record_index").iterdir())
    assert run(path).state is JobState.COMPLETED
    assert indexing_instants(path) == [State.COMPLETED]
    assert sorted((path / ".hoodie/metadata/record_index").iterdir()) == files
    assert agrees(path)


def test_a_living_one_is_left_alone(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    write = IndexBuild.write
    others: list[JobResult] = []

    def write_while_another_tries(build: IndexBuild) -> int:
        others.append(run(path, IndexingMode.EXECUTE, ()))
        return write(build)

    monkeypatch.setattr(IndexBuild, "write", write_while_another_tries)
    assert run(path).state is JobState.COMPLETED
    (other,) = others
    assert other.state is JobState.NOTHING_TO_DO
    assert "another process" in str(other.reason)
    assert agrees(path)


def test_the_metadata_table_made_anew_meanwhile(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    write = IndexBuild.write

    def write_while_it_is_taken_off(build: IndexBuild) -> int:
        found = write(build)
        with monkeypatch.context() as patched:
            patched.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
            upsert(path, 10, 3)
        upsert(path, 10, 4)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(IndexBuild, "write", write_while_it_is_taken_off)
        with pytest.raises(WriteConflictError, match="made the metadata table anew"):
            run(path)
    assert (listed(path), being_made(path), indexing_instants(path)) == (("files",), (), [])
    run(path)
    assert agrees(path)


def test_dropped_indexes_are_gone(path: Folder) -> None:
    run(path, types=ALL)
    assert run(path, IndexingMode.DROP_INDEX, ("RECORD_INDEX",), dry_run=True).state is JobState.DRY_RUN
    assert "record_index" in listed(path)
    assert run(path, IndexingMode.DROP_INDEX, ("RECORD_INDEX", "COLUMN_STATS")).state is JobState.COMPLETED
    assert listed(path) == ("bloom_filters", "files")
    assert not (path / ".hoodie/metadata/record_index").exists()
    again = run(path, IndexingMode.DROP_INDEX)
    assert (again.state, again.reason) == (JobState.NOTHING_TO_DO, "the table has no RECORD_INDEX")
    run(path, IndexingMode.SCHEDULE)
    run(path, IndexingMode.DROP_INDEX)
    assert indexing_instants(path) == [State.COMPLETED]
    upsert(path, 10, 3)
    assert listed(path) == ("bloom_filters", "files")
    run(path)
    assert places_by_index(path) == places_of_rows(path)


def test_what_is_no_indexing(path: Folder, root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionsError, match="FILES is not valid"):
        run(path, types=("FILES",))
    with pytest.raises(OptionsError, match="index-types is missing"):
        run(path, types=())
    with pytest.raises(ConfigError, match="no pending indexing"):
        run(path, IndexingMode.EXECUTE, (), instant_time="20240101000000000")
    local.create(root / "empty", "COPY_ON_WRITE")
    with pytest.raises(ConfigError, match="no metadata table"):
        run(root / "empty")
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
    with pytest.raises(ConfigError, match=r"hoodie\.metadata\.enable is false"):
        run(path)
