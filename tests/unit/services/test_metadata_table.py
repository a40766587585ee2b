"""The metadata table follows every action, is kept small, and is made anew where it can't follow (invariant 9)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.compute as pc
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import update_table_config
from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS, read_footer_filter
from spark_jobs.core.metadata_table.changes import encode_changes
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS, ColumnStats
from spark_jobs.core.metadata_table.commit import commit_changes, commits_at
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.keys import bloom_filter_key, column_stats_key
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.records import FILES, file_list
from spark_jobs.core.metadata_table.scan import read_records, schema_of
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.services import metadata
from spark_jobs.services.metadata import maintain_metadata_table
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.unit.core.metadata_table.agreement import disagreements, listed_files, metadata_table_of

pytestmark = pytest.mark.unit

CHANGES = {"a": file_list({"never-seen": 1}), "x": {}}
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


@pytest.fixture(params=[COW, MOR])
def path(request: pytest.FixtureRequest, root: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """An empty table whose jobs keep a metadata table."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
    local.create(root / "t", request.param)
    return root / "t"


def is_listed(path: Folder) -> bool:
    return "files" in path.table().config.metadata_partitions


def upsert(path: Folder, number: int) -> str:
    return local.write(path, local.batch(number % 5, 10, f"v{number}", number), f"k{number}")


def maintain(path: Folder, after: int) -> list[str]:
    told: list[str] = []
    settings = path.table().transaction_settings(local.AT_ONCE)
    properties = {**local.AT_ONCE, "hoodie.metadata.compact.max.delta.commits": str(after)}
    maintain_metadata_table(settings, properties, told.append)
    return told


def die_in_a_write(path: Folder) -> None:
    local.die_writing(path, local.batch(4, 10, "lost", 99))


def test_it_begins_with_the_table(path: Folder) -> None:
    first = upsert(path, 1)
    assert is_listed(path)
    assert [one.timestamp for one in metadata_table_of(path).timeline.instants] == ["00000000000000010", first]
    assert not disagreements(path)


def test_a_file_that_comes_with_it_is_listed_once(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the delta commit of its write, not in the listing before: Hudi's reader would bring it back after a clean."""
    with monkeypatch.context() as without:
        without.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
        first = upsert(path, 1)
    assert not is_listed(path)
    second = upsert(path, 6)
    table = metadata_table_of(path)
    (listing,) = (path / ".hoodie" / "metadata" / "files").glob("*.hfile")
    reader = HFileReader(listing.read_bytes(), listing.name)
    records = {key: FILES.decode(value, schema_of(reader, ""), "") for key, value in reader.entries()}
    before = {name for key, names in records.items() if key != b"__all_partitions__" for name in names}
    now = {name for names in listed_files(path).values() for name in names}
    assert before
    assert before < now
    stats = table.data_timeline.commit_metadata(table.data_timeline.find(second)[0], SYSTEM_CLOCK).write_stats
    assert now - before == {one.file_name for one in stats}
    assert all(first in name for name in before)
    assert not disagreements(path)


def test_it_follows_every_action(path: Folder) -> None:
    is_mor = path.table().config.is_merge_on_read
    actions: list[Callable[[Folder], object]] = [
        lambda path: upsert(path, 1),
        lambda path: upsert(path, 2),
        local.compact if is_mor else local.cluster,
        local.clean,
        lambda path: upsert(path, 3),
        lambda path: (die_in_a_write(path), local.roll_back(path)),
        lambda path: upsert(path, 4),
        local.clean,
    ]
    for action in actions:
        action(path)
        assert is_listed(path)
        assert not disagreements(path)
    timeline = path.table().timeline
    known = {one.timestamp for one in metadata_table_of(path).timeline.completed(Action.DELTA_COMMIT)}
    assert {one.timestamp for one in timeline.instants if one.is_completed} <= known


def test_a_delta_commit_counts_only_once_the_action_is_completed(path: Folder) -> None:
    upsert(path, 1)
    before = listed_files(path)
    transaction = begin(path.table().transaction_settings(local.AT_ONCE), Action.COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    changes = {MetadataPartition.FILES: PartitionChanges.of(encode_changes(CHANGES))}
    commit_changes(metadata_table_of(path), transaction.time, changes)
    assert commits_at(metadata_table_of(path), transaction.time)[0].is_completed
    assert listed_files(path) == before
    transaction.abandon()
    local.roll_back(path)
    assert not commits_at(metadata_table_of(path), transaction.time)
    assert listed_files(path) == before
    rollback = path.table().timeline.completed(Action.ROLLBACK)[-1].timestamp
    assert metadata_table_of(path).timeline.find(f"{rollback}006")[0].is_completed
    assert not disagreements(path)


def test_it_is_compacted_when_enough_piled_up_and_cleaned_later(path: Folder) -> None:
    for number in range(1, 5):
        upsert(path, number)
    assert maintain(path, after=6) == []
    assert not metadata_table_of(path).timeline.completed(Action.COMMIT)
    last = upsert(path, 5)
    assert maintain(path, after=6) == []
    (done,) = metadata_table_of(path).timeline.completed(Action.COMMIT)
    assert done.timestamp == f"{last}001"
    assert not disagreements(path)
    for number in range(6, 29):
        upsert(path, number)
        maintain(path, after=6)
        assert not disagreements(path)
    cleans = metadata_table_of(path).timeline.completed(Action.CLEAN)
    assert cleans
    assert all(one.timestamp.endswith("002") for one in cleans)
    names = [one.name for one in (path / ".hoodie/metadata/files").iterdir()]
    assert not any("00000000000000010" in name for name in names)


def test_its_timeline_is_archived_behind_that_of_the_table(path: Folder) -> None:
    for number in range(1, 36):
        upsert(path, number)
    maintain(path, after=10)
    before = metadata_table_of(path).timeline
    timeline = path.table().timeline
    archive(timeline, str(path), timeline.completed_commits()[:20])
    upsert(path, 36)
    maintain(path, after=1)
    after = metadata_table_of(path).timeline
    assert after.has_archive
    oldest = path.table().timeline.instants[0].timestamp
    gone = {one.timestamp for one in before.instants} - {one.timestamp for one in after.instants}
    assert len(gone) > 5
    assert max(gone) < oldest
    assert not disagreements(path)
    upsert(path, 37)
    assert after.instants[0] in metadata_table_of(path).timeline.instants, "it was made anew"
    assert not disagreements(path)


def test_it_is_not_compacted_over_something_pending(path: Folder) -> None:
    upsert(path, 1)
    transaction = begin(path.table().transaction_settings(local.AT_ONCE), Action.COMMIT)
    assert transaction is not None
    upsert(path, 2)
    maintain(path, after=2)
    assert not metadata_table_of(path).timeline.completed(Action.COMMIT)
    transaction.abandon()
    local.roll_back(path)
    maintain(path, after=2)
    assert metadata_table_of(path).timeline.completed(Action.COMMIT)
    assert not disagreements(path)


def test_a_compaction_that_broke_off_is_carried_out(path: Folder) -> None:
    upsert(path, 1)
    upsert(path, 2)
    maintain(path, after=2)
    table = metadata_table_of(path)
    (done,) = table.timeline.completed(Action.COMMIT)
    # as a crash before the last step leaves it, its base file in place
    file_at(table.storage, table.timeline.path(done)).unlink()
    upsert(path, 3)  # its logs go on top of the pending compaction
    assert not disagreements(path)
    assert maintain(path, after=100) == []
    assert metadata_table_of(path).timeline.completed(Action.COMMIT) == (done,)
    assert not disagreements(path)
    upsert(path, 4)
    assert not disagreements(path)


@pytest.mark.parametrize("how", ["empty", "cut", "gone"])
def test_one_that_broke_off_is_not_carried_out_over_a_damaged_log(
    path: Folder, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        upsert(path, number)
    rows = local.rows_of(path)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(metadata, "_execute", die)
        with pytest.raises(KeyboardInterrupt):
            maintain(path, after=2)
    logs = (path / ".hoodie/metadata/files").glob(".files*.log.*")
    newest = max(logs, key=lambda one: int(one.name.split(".log.")[1].split("_")[0]))
    content = newest.read_bytes()
    newest.unlink()
    if how != "gone":
        newest.write_bytes(content[:-1] if how == "cut" else b"")
    assert "damaged" in maintain(path, after=2)[0] or how == "gone"
    assert local.rows_of(path) == rows
    upsert(path, 4)
    assert not disagreements(path)


def test_a_delta_commit_that_broke_off_is_undone(path: Folder) -> None:
    upsert(path, 1)
    timeline = metadata_table_of(path).timeline
    left = request(timeline, "20200101000000000", Action.DELTA_COMMIT)
    transition(timeline, left, State.INFLIGHT, b"")
    upsert(path, 2)
    table = metadata_table_of(path)
    assert not commits_at(table, "20200101000000000")
    assert len(table.timeline.completed(Action.ROLLBACK)) == 1
    assert not disagreements(path)


def test_writers_may_end_in_another_order_than_they_began(path: Folder) -> None:
    upsert(path, 1)
    table = path.table()
    action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    early = begin(table.transaction_settings(local.AT_ONCE), action)
    assert early is not None
    early.to_inflight()
    late = upsert(path, 2)
    assert early.time < late
    early.publish(CommitMetadata(operation_type=OperationType.UPSERT).payload(), written=frozenset())
    timeline = metadata_table_of(path).timeline
    assert [one.timestamp for one in timeline.instants][-2:] == [early.time, late]
    assert maintain(path, after=2) == []
    upsert(path, 3)
    assert metadata_table_of(path).timeline.instants[0].timestamp == "00000000000000010"
    assert not disagreements(path)


def test_it_is_made_anew_where_a_commit_went_past_it(path: Folder) -> None:
    upsert(path, 1)
    missed = upsert(path, 2)
    timeline = metadata_table_of(path).timeline
    for state in State:
        file_at(timeline.storage, timeline.path(timeline.find(missed)[0].at(state))).unlink()
    with pytest.raises(CorruptTableError, match=missed):
        metadata_table_of(path)
    upsert(path, 3)
    assert metadata_table_of(path).timeline.instants[0].timestamp == f"{missed}010"
    assert not disagreements(path)


def test_it_is_made_anew_where_it_is_damaged(path: Folder) -> None:
    upsert(path, 1)
    for file in (path / ".hoodie/metadata/.hoodie").glob("*.deltacommit"):
        file.unlink()
    upsert(path, 2)
    assert is_listed(path)
    assert not disagreements(path)


def test_it_is_made_only_while_nothing_else_is_under_way(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
    upsert(path, 1)
    assert not is_listed(path)
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
    transaction = begin(path.table().transaction_settings(local.AT_ONCE), Action.COMMIT)
    assert transaction is not None
    upsert(path, 2)
    assert not is_listed(path)
    transaction.abandon()
    local.roll_back(path)
    upsert(path, 3)
    assert is_listed(path)
    assert not disagreements(path)


@pytest.mark.parametrize("how", ["empty", "gone"])
def test_none_is_made_over_a_damaged_file(
    path: Folder, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It would list the rest for the whole, and older rows would be read without a word."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
    for number in range(2):
        local.write(path, local.batch(0, 10, f"v{number}", number), f"k{number}")
    bases = sorted((path / "a").glob("*.parquet"), key=lambda one: one.name.rsplit("_", 1)[1])
    last = next((path / "a").glob(".*.log.*"), bases[-1])
    content = last.read_bytes()
    last.write_bytes(b"") if how == "empty" else last.unlink()
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
    rows = local.batch(0, 10, "new", 5)
    local.overwrite(path, rows.filter(pc.equal(rows.column("p"), "b")), ["b"], "b")
    assert not is_listed(path)
    (said,) = [one.getMessage() for one in caplog.records]
    assert said.startswith(f"warning: the table at {path} stays without the metadata table")
    assert last.name in said
    with pytest.raises(StorageError, match=last.name[1:]):
        local.rows_of(path)
    last.write_bytes(content)
    local.write(path, rows.filter(pc.equal(rows.column("p"), "a")), "a")
    assert is_listed(path)
    assert not disagreements(path)
    assert local.rows_of(path) == local.expected_rows(rows)


def test_turned_off_it_is_taken_off(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    upsert(path, 1)
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
    upsert(path, 2)
    config = path.table().config
    assert config.properties[table_keys.METADATA_PARTITIONS.name] == ""
    assert not (path / ".hoodie/metadata").exists()


def test_indexes_that_would_fall_behind_are_taken_off(path: Folder) -> None:
    upsert(path, 1)
    table = path.table()
    listed = {table_keys.METADATA_PARTITIONS.name: "column_stats,files"}
    update_table_config(table.storage, table.base_path, listed, SYSTEM_CLOCK)
    index = path / ".hoodie/metadata/column_stats"
    index.mkdir()
    upsert(path, 2)
    assert path.table().config.metadata_partitions == ("files",)
    assert not index.exists()
    assert not disagreements(path)


def test_indexes_follow_too(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made late, kept by every action and compaction, with tombstones for cleaned files, and taken off again."""
    upsert(path, 1)
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.index.column.stats.enable", "true")
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.index.bloom.filter.enable", "true")
    upsert(path, 2)
    assert path.table().config.metadata_partitions == ("bloom_filters", "column_stats", "files")
    assert len(list((path / ".hoodie/metadata/column_stats").glob(".col-stats-*.log.1_0-0-0"))) == 2
    assert stats_problems(path) == []
    is_mor = path.table().config.is_merge_on_read
    for action in (
        local.compact if is_mor else local.cluster,
        local.clean,
        lambda path: upsert(path, 3),
        lambda path: (die_in_a_write(path), local.roll_back(path)),
        lambda path: maintain(path, after=2),
        lambda path: upsert(path, 4),
        local.clean,
    ):
        action(path)
        assert stats_problems(path) == []
        assert filter_problems(path) == []
        assert not disagreements(path)
    assert metadata_table_of(path).timeline.completed(Action.COMMIT)
    monkeypatch.delitem(local.AT_ONCE, "hoodie.metadata.index.column.stats.enable")
    upsert(path, 5)
    assert path.table().config.metadata_partitions == ("bloom_filters", "files")
    assert filter_problems(path) == []
    monkeypatch.delitem(local.AT_ONCE, "hoodie.metadata.index.bloom.filter.enable")
    upsert(path, 6)
    assert path.table().config.metadata_partitions == ("files",)
    assert not disagreements(path)


def test_column_statistics_of_chosen_columns(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.index.column.stats.enable", "true")
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.index.column.stats.column.list", "id,ts")
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.index.column.stats.file.group.count", "3")
    upsert(path, 1)
    records = read_records(metadata_table_of(path), MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    assert {one.column for one in records.values()} == {"id", "ts"}
    assert len(metadata_table_of(path).slices(MetadataPartition.COLUMN_STATS)) == 3
    assert stats_problems(path, ("id", "ts")) == []


def stats_problems(path: Folder, columns: tuple[str, ...] = ("id", "p", "v", "ts", "_hoodie_record_key")) -> list[str]:
    """Where the statistics of a listed base file are not those of its footer, or those of another file are not gone."""
    table = metadata_table_of(path)
    records = read_records(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    wanted: dict[str, ColumnStats] = {}
    for partition, names in listed_files(path).items():
        for name in names:
            if parse_base_file_name(name) is not None:
                for one in read_footer_stats(table.storage, f"{path}/{partition}/{name}", columns):
                    wanted[column_stats_key(one.column, partition, name)] = one
    found = [f"{one} is stored as {records.get(key)}" for key, one in wanted.items() if records.get(key) != one]
    live = {one.file_name for one in wanted.values()}
    left = (one for one in records.values() if not one.is_deleted and one.file_name not in live)
    return found + [f"{one.file_name} is gone" for one in left]


def filter_problems(path: Folder) -> list[str]:
    """The same for bloom filters."""
    table = metadata_table_of(path)
    records = read_records(table, MetadataPartition.BLOOM_FILTERS, BLOOM_FILTERS)
    live = set()
    found = []
    for partition, names in listed_files(path).items():
        for name in names:
            if parse_base_file_name(name) is not None:
                stored = records.get(bloom_filter_key(partition, name))
                instant = "" if stored is None else stored.instant
                if read_footer_filter(table.storage, f"{path}/{partition}/{name}", instant) != stored:
                    found.append(f"{name} has {stored}")
                live.add(bloom_filter_key(partition, name))
    return found + [f"{one} is of no file" for key, one in records.items() if key not in live and not one.is_deleted]
