"""The record index follows every action: what it says of each key is where a query finds the record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.record_index import RecordIndexSettings
from spark_jobs.core.metadata_table.writer import UpdatingMetadataWriter
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.write import tasks
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.locks import outlast
from tests.support.record_index import (
    ENABLE,
    agrees,
    delete,
    index_of,
    maintain,
    places_by_index,
    upsert,
)
from tests.unit.core.metadata_table.agreement import metadata_table_of

pytestmark = pytest.mark.unit


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def path(request: pytest.FixtureRequest, root: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """An empty table whose jobs keep a record index of three file groups."""
    settings = {
        "hoodie.metadata.enable": "true",
        ENABLE: "true",
        "hoodie.metadata.record.index.min.filegroup.count": "3",
        "hoodie.metadata.record.index.max.filegroup.count": "3",
    }
    for key, value in settings.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)
    local.create(root / "t", request.param)
    return root / "t"


def test_it_follows_every_action(path: Folder) -> None:
    rewrite = local.compact if path.table().config.is_merge_on_read else local.cluster
    actions: list[Callable[[], object]] = [
        lambda: upsert(path, 0, 1),
        lambda: upsert(path, 0, 2),
        lambda: upsert(path, 10, 3),
        lambda: delete(path, 4, 9, "d1"),
        lambda: upsert(path, 20, 4),
        lambda: rewrite(path),
        lambda: local.clean(path),
        lambda: delete(path, 20, 3, "d2"),
        lambda: upsert(path, 4, 5),
        lambda: maintain(path, 2),
        lambda: upsert(path, 30, 6),
        lambda: rewrite(path),
        lambda: maintain(path, 1),
        lambda: delete(path, 30, 5, "d3"),
    ]
    for number, action in enumerate(actions):
        action()
        assert agrees(path), number
    assert len(index_of(path).shards) == 3
    assert len(metadata_table_of(path).timeline.completed(Action.COMMIT)) == 2


def test_a_deleted_record_is_forgotten(path: Folder) -> None:
    upsert(path, 0, 1)
    delete(path, 0, 4, "d")
    index = index_of(path)
    assert index.locations(pa.array(["0", "3"])).num_rows == 0
    assert index.locations(pa.array(["3", "4"])).column("key").to_pylist() == ["4"]


def test_a_late_delete_takes_nothing(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delete with an ordering value below that of a record that the logs have."""
    for key, value in {"hoodie.metadata.enable": "true", ENABLE: "true"}.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    upsert(path, 0, 1)
    local.write(path, local.batch(0, 4, "newer", 20), "newer")
    with monkeypatch.context() as patched:
        with_ordering = partial(_append_with_ordering, tasks.append_changes)
        patched.setattr(tasks, "append_changes", with_ordering)
        delete(path, 2, 4, "late", ts=10)
    assert [row[2] for row in local.rows_of(path)] == [0, 1, 2, 3, 6, 7, 8, 9]
    assert agrees(path)


def _append_with_ordering(append: Callable[..., list[WriteStat]], *args: object, **_: object) -> list[WriteStat]:
    return append(*args, hard_deletes=False)


def test_replaced_file_groups_take_their_records(path: Folder) -> None:
    """All of them, but for those that the same commit puts elsewhere."""
    upsert(path, 0, 1)
    table = path.table()
    writer = table.transaction_settings(local.AT_ONCE).metadata_writer
    assert isinstance(writer, UpdatingMetadataWriter)
    source = writer.source_of(MetadataPartition.RECORD_INDEX, metadata_table_of(path))
    (gone,) = table.file_slices("a")
    (other,) = table.file_slices("b")
    instant = Instant("29990101000000000", Action.REPLACE_COMMIT, State.INFLIGHT)
    replaced = {"a": (gone.file_id, "another one that is long gone")}
    for stats, deleted in (
        ((), ["0", "2", "4", "6", "8"]),
        ((WriteStat(file_id="new", path=gone.paths[0], partition_path="x"),), []),
        ((WriteStat(file_id="new", path=other.paths[0], partition_path="x"),), ["0", "2", "4", "6", "8"]),
    ):
        metadata = CommitMetadata(
            write_stats=stats, operation_type=OperationType.INSERT_OVERWRITE, replaced_file_ids=replaced
        )
        changes = source.changes(instant, metadata.payload())
        assert sorted(changes.deleted.cast(pa.string()).to_pylist()) == deleted
        assert len(changes.keys) == 5 * len(stats)
    compaction = CommitMetadata(operation_type=OperationType.COMPACT, replaced_file_ids=replaced)
    assert source.changes(instant, compaction.payload()).is_empty


def test_updates_leave_the_instant_of_the_insert(path: Folder) -> None:
    first = upsert(path, 0, 1)
    second = upsert(path, 0, 2)
    assert index_of(path).read_all().column("instant").unique().to_pylist() == [first]
    third = upsert(path, 10, 3)
    assert set(index_of(path).read_all().column("instant").to_pylist()) == {first, third}
    assert first < second < third


def test_what_a_rollback_undoes_leaves_the_index(path: Folder) -> None:
    """Whether the writer died before the metadata table was told or after."""
    upsert(path, 0, 1)
    before = places_by_index(path)
    local.die_writing(path, local.batch(10, 10, "lost", 99))
    local.roll_back(path)
    assert agrees(path)
    local.die_calling(Transaction, "_complete", lambda: local.write(path, local.batch(10, 10, "lost", 3), "lost"))
    outlast(path)
    assert places_by_index(path) == before
    local.roll_back(path)
    assert agrees(path)
    assert places_by_index(path) == before
    upsert(path, 10, 4)
    assert agrees(path)


def test_it_is_made_from_the_rows_of_a_table_that_has_none(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(local.AT_ONCE, ENABLE, "false")
        upsert(path, 0, 1)
        upsert(path, 0, 2)
        delete(path, 0, 3, "d")
        assert path.table().config.metadata_partitions == ("files",)
    upsert(path, 10, 3)
    assert agrees(path)
    with monkeypatch.context() as patched:
        patched.setitem(local.AT_ONCE, ENABLE, "false")
        upsert(path, 20, 4)
        assert path.table().config.metadata_partitions == ("files",)
        assert not (path / ".hoodie/metadata/record_index").exists()
    upsert(path, 20, 5)
    assert agrees(path)


def test_many_keys_of_a_few_are_looked_up(path: Folder) -> None:
    upsert(path, 0, 1)
    upsert(path, 10, 2)
    maintain(path, 1)
    upsert(path, 20, 3)
    everything = index_of(path).read_all().sort_by("key")
    keys = pa.array([*(str(one) for one in range(100)), "é"])
    assert index_of(path).locations(keys).sort_by("key") == everything
    one = pa.array(["7"])
    assert index_of(path).locations(one) == everything.filter(pc.is_in(everything["key"], value_set=one))


@pytest.mark.parametrize(
    ("records", "settings", "groups"),
    [
        (0, {}, 10),
        (1_000_000, {}, 10),
        (150_000_000, {}, 13),
        (10**12, {}, 10_000),
        (5, {"min_groups": 4, "max_groups": 4}, 4),
        (1_000_000, {"min_groups": 1, "group_bytes": 48_000_00}, 20),
        (1_000_000, {"min_groups": 1, "group_bytes": 48_000_00, "growth": 1.0}, 10),
    ],
)
def test_the_number_of_groups_is_hudis(records: int, settings: dict[str, int], groups: int) -> None:
    assert RecordIndexSettings(**settings).groups_for(records) == groups


def test_virtual_keys_have_no_index(root: Folder) -> None:
    table = HudiTable.create(
        str(root / "t"),
        name="t",
        record_key_fields=["id"],
        properties={"hoodie.populate.meta.fields": "false"},
        lake=root.lake,
    )
    with pytest.raises(ConfigError, match="virtual keys"):
        table.transaction_settings({ENABLE: "true"})


def test_buckets_of_logs_have_no_index(root: Folder) -> None:
    local.create(root / "mor", "MERGE_ON_READ")
    local.create(root / "cow", "COPY_ON_WRITE")
    wanted = {ENABLE: "true", "hoodie.index.type": "BUCKET"}
    with pytest.raises(ConfigError, match="bucket index"):
        (root / "mor").table().transaction_settings(wanted)
    (root / "cow").table().transaction_settings(wanted)
