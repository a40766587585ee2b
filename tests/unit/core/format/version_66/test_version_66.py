"""A version that is added in a folder of its own: no other code knows where its timeline is and how it names files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.format.known import FORMATS
from spark_jobs.core.format.v6.file_names import parse_base_file_name, parse_log_file_name
from spark_jobs.core.format.v6.instant_names import parse_instant
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.timeline.payloads.payload import Kind
from spark_jobs.core.timeline.payloads.v6 import PayloadsOf6
from spark_jobs.core.view.file_system_view import PendingServices, group_files, merged_slice
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.options.indexing import IndexingOptions
from spark_jobs.options.restore import RestoreOptions
from spark_jobs.options.result import JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.options.savepoint import SavepointOptions
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services import metadata
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.indexing.job import run_indexing
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.format.version_66.layout import Version66
from tests.unit.core.format.version_66.tables import TYPES, create, fail, values, write
from tests.unit.core.support import Died

pytestmark = pytest.mark.unit

INDEXES = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}


def names_below(path: Folder) -> Iterator[str]:
    return (one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_file())


@pytest.mark.parametrize("table_type", TYPES)
def test_writes_services_and_queries_of_a_table_of_another_version(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    first, second, third = (local_table.batch(0, 20, f"v{ts}", ts) for ts in (1, 2, 3))
    begin = local_table.write(path, first, "one")
    local_table.write(path, second, "two")
    fail(path)
    local_table.roll_back(path)
    if table_type == "MERGE_ON_READ":
        local_table.compact(path)
    local_table.cluster(path)
    local_table.write(path, third, "three")
    local_table.clean(path)
    assert local_table.rows_of(path) == local_table.expected_rows(third)
    assert local_table.problems_of(path) == []

    table = path.table()
    assert table.config.metadata_partitions, "the metadata table is kept, and lists files"
    done = {one.action.value for one in table.timeline.instants}
    assert {"clean", "rollback", "replacecommit"} <= done
    assert table.scan(begin=begin, end=table.timeline.last_time, query="incremental").to_arrow().num_rows == 20

    names = list(names_below(path))
    for parse in (parse_instant, parse_base_file_name, parse_log_file_name):
        assert [one for one in names if parse(one.rpartition("/")[2]) is not None] == []
    for folder in (".hoodie/history", ".hoodie/metadata/.hoodie/history"):
        there = [one for one in (path / folder).iterdir() if one.is_file() and one.size]
        assert there
        for one in there:
            for kind in Kind:
                with pytest.raises(CorruptTableError):
                    PayloadsOf6().decode(one.read_bytes(), kind, one.name)


def test_a_version_that_nobody_added_is_refused(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    create(root / "t", "COPY_ON_WRITE")
    monkeypatch.delitem(FORMATS, 66)
    with pytest.raises(UnsupportedTableError, match="table version 66"):
        (root / "t").table()


@pytest.mark.parametrize("table_type", TYPES)
def test_every_moment_and_every_way_back(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    times = [write(path, version) for version in (1, 2, 3)]
    if table_type == "MERGE_ON_READ":
        merge_logs(path)
    table = path.table()
    assert [values(table.scan(as_of=one)) for one in times] == [{"v1"}, {"v2"}, {"v3"}]
    assert values(table.scan(begin=times[0], end=times[1], query="incremental")) == {"v2"}
    assert values(table.scan(query="read_optimized")) == ({"v1"} if table.config.is_merge_on_read else {"v3"})

    run_savepoint(SavepointOptions(base_path=str(path), instant_time=times[2]), job_context(lake=root.lake))
    local_table.delete(path, local_table.batch(0, 4, "", 4), "delete")
    assert len(local_table.rows_of(path)) == 16
    overwriting = local_table.batch(50, 4, "o", 5)
    local_table.overwrite(path, overwriting.filter(pc.equal(overwriting.column("p"), "a")), ["a"], "overwrite")
    last = local_table.write(path, local_table.batch(50, 4, "w", 6), "last")
    run_rollback(RollbackOptions(base_path=str(path), instant_time=last), job_context(lake=root.lake))
    assert values(path.table().scan()) == {"v3", "o"}
    run_restore(RestoreOptions(base_path=str(path), instant_time=times[2], verify="rows"), job_context(lake=root.lake))
    assert local_table.rows_of(path) == local_table.expected_rows(local_table.batch(0, 20, "v3", 3))
    assert local_table.problems_of(path) == []
    assert validate(str(path), deep=True, lake=path.lake) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_writes_by_every_index(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    third = local_table.batch(0, 30, "v3", 3)
    path.table().insert(local_table.batch(0, 20, "v1", 1))
    path.table().upsert(local_table.batch(0, 30, "v2", 2))
    options = IndexingOptions(base_path=str(path), index_types=("COLUMN_STATS", "BLOOM_FILTERS", "RECORD_INDEX"))
    assert run_indexing(options, job_context(lake=root.lake)).state is JobState.COMPLETED
    for index in ("BLOOM", "RECORD_INDEX"):
        path.table().upsert(third, hoodie_conf={**INDEXES, "hoodie.index.type": index})
    if table_type == "MERGE_ON_READ":
        local_table.compact(path)
    path.table().delete(local_table.batch(0, 5, "", 4), hoodie_conf=INDEXES)
    assert local_table.rows_of(path) == local_table.expected_rows(third.slice(5))
    assert validate(str(path), deep=True, lake=path.lake) == []
    partitions = {one.parent.name for one in (path / ".hoodie/metadata").glob("*/*") if one.name.startswith("data@")}
    assert partitions == {"listing", "ranges", "filters", "keys"}


def test_a_compaction_of_the_metadata_table_that_died_is_ended(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base files that it had made go first."""
    path = root / "t"
    create(path, "COPY_ON_WRITE")
    for version in (1, 2):
        write(path, version)
    settings = path.table().transaction_settings({})
    at_once = {"hoodie.metadata.compact.max.delta.commits": "1"}
    with monkeypatch.context() as dying:
        dying.setattr(metadata, "complete", die)
        with pytest.raises(Died):
            metadata.maintain_metadata_table(settings, at_once, pytest.fail)
    metadata.maintain_metadata_table(settings, at_once, pytest.fail)
    table = MetadataTable.open(settings.storage, str(path), settings.load_timeline(), settings.clock)
    assert table.pending_compactions == ()
    assert validate(str(path), deep=True, lake=path.lake) == []


def die(*_: object) -> None:
    raise Died


def merge_logs(path: Folder) -> None:
    conf = {**local_table.AT_ONCE, "hoodie.log.compaction.blocks.threshold": "2"}
    options = CompactionOptions(base_path=str(path), hoodie_conf=conf, log_compaction=True)
    assert run_compaction(options, job_context(lake=path.lake)).state is JobState.COMPLETED


def test_a_log_is_of_the_slice_that_there_was_when_its_write_was_completed() -> None:
    """One that began before a compaction was planned, and was completed after it, lies on the slice that it made."""
    names = ("data@10@f@t.parquet", "data@30@f@t.parquet", "changes@20@f@1@t", "changes@25@f@1@t", "changes@40@f@2@t")
    times = {"10": "11", "20": "21", "25": "35", "30": "36"}
    now = Visibility(completed=frozenset(times), start="10", times=times)
    nothing = PendingServices(compaction={}, clustering={}, replaced={})
    (group,) = group_files(Version66(), [("p", names, [1] * len(names))], now, nothing, partitions=None).groups
    found = {one.base_instant: [str(log.name) for log in one.log_files] for one in group.slices}
    assert found == {"30": ["changes@25@f@1@t", "changes@40@f@2@t"], "10": ["changes@20@f@1@t"]}
    planned = replace(nothing, compaction={("p", "f"): "30"})
    begun = replace(now, completed=now.completed - {"30"})
    (group,) = group_files(Version66(), [("p", names, [1] * len(names))], begun, planned, partitions=None).groups
    assert merged_slice(group).log_files == tuple(log for one in reversed(group.slices) for log in one.log_files), (
        "what a reader merges is all of them, whether it is compacted or not"
    )
