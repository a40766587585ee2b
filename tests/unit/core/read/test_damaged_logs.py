"""A file that a completed write left is whole, or every reader, compaction, clustering and upsert ends in an error
(invariant 14): no reader gives older rows, and no service makes them final.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import CorruptTableError, HudiError, StorageError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.options import ArchiveOptions, CompactionOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.support.through import Through

pytestmark = pytest.mark.unit

ROWS = (local.batch(0, 20, "one", 1), local.batch(0, 20, "two", 2))
METADATA = "hoodie.metadata.enable"


def table_of(path: Folder, kind: str, metadata: bool, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setitem(local.AT_ONCE, METADATA, str(metadata).lower())
    local.create(path, kind)
    for number, rows in enumerate(ROWS):
        local.write(path, rows, f"k{number}")
    return path


@pytest.fixture(scope="module", params=[True, False], ids=["metadata table", "listing"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    with pytest.MonkeyPatch.context() as patch:
        return table_of(Folder(str(tmp_path_factory.mktemp("sound"))) / "t", "MERGE_ON_READ", request.param, patch)


@pytest.fixture
def path(sound: Folder, root: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    listed = sound.table().config.metadata_partitions
    monkeypatch.setitem(local.AT_ONCE, METADATA, "true" if listed else "false")
    path = root / "t"
    sound.copy_to(path)
    return path


def newest_log(path: Folder) -> Folder:
    return max((path / "a").glob(".*.log.*"))


def _changed(change: Callable[[bytes], bytes]) -> Callable[[Folder], None]:
    def damage(path: Folder) -> None:
        log = newest_log(path)
        log.write_bytes(change(log.read_bytes()))

    return damage


DAMAGES = {
    "emptied": _changed(lambda data: b""),
    "last byte": _changed(lambda data: data[:-1]),
    "half": _changed(lambda data: data[: len(data) // 2]),
    "zeros": _changed(lambda data: bytes(len(data))),
    "length": _changed(lambda data: data[:10] + bytes([data[10] ^ 1]) + data[11:]),
    "garbage behind": _changed(lambda data: data + b"\x07" * 33),
    "half a copy behind": _changed(lambda data: data + data[: len(data) // 2]),
    "a copy behind": _changed(lambda data: data + data),
    "gone": lambda path: newest_log(path).unlink(),
}
BY_NAME = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)


def log_compact(path: Folder) -> None:
    conf = {**local.AT_ONCE, "hoodie.log.compaction.blocks.threshold": "1"}
    options = CompactionOptions(base_path=str(path), hoodie_conf=conf, log_compaction=True)
    run_compaction(options, job_context(lake=path.lake))


def incremental(path: Folder) -> None:
    path.table().scan(begin="000", query="incremental").to_arrow()


READERS: dict[str, Callable[[Folder], Any]] = {
    "snapshot": local.rows_of,
    "incremental": incremental,
    "compaction": local.compact,
    "log compaction": log_compact,
    "clustering": local.cluster,
}
MORE = local.batch(0, 20, "three", 3)


@BY_NAME
@pytest.mark.parametrize("work", READERS.values(), ids=READERS)
def test_no_reader_takes_the_rest_for_the_whole(
    path: Folder, damage: Callable[[Folder], None], work: Callable[[Folder], Any]
) -> None:
    log, content = newest_log(path), newest_log(path).read_bytes()
    damage(path)
    with pytest.raises(StorageError) as caught:
        work(path)
    assert log.name in str(caught.value)
    log.write_bytes(content)
    local.roll_back(path)
    assert local.rows_of(path) == local.expected_rows(*ROWS)


@BY_NAME
def test_an_upsert_that_needs_no_log_goes_beside_it(path: Folder, damage: Callable[[Folder], None]) -> None:
    """It is refused, or its rows go to a log of their own and readers go on refusing the damaged one."""
    log, content = newest_log(path), newest_log(path).read_bytes()
    damage(path)
    try:
        local.write(path, MORE, "k2")
        written = [*ROWS, MORE]
    except StorageError:
        written = [*ROWS]
    with pytest.raises(StorageError) as caught:
        local.rows_of(path)
    assert log.name in str(caught.value)
    log.write_bytes(content)
    local.roll_back(path)
    assert local.rows_of(path) == local.expected_rows(*written)


@BY_NAME
def test_the_error_says_which_write_and_what_to_do(path: Folder, damage: Callable[[Folder], None]) -> None:
    newest = path.table().timeline.completed_commits()[-1].timestamp
    damage(path)
    with pytest.raises(HudiError) as caught:
        path.table(lists_storage=True).scan().to_arrow()
    message = str(caught.value)
    assert newest in message
    assert "restore" in message
    assert "\n" not in message


@BY_NAME
def test_validate_names_the_file(path: Folder, damage: Callable[[Folder], None]) -> None:
    damage(path)
    found = [str(one) for one in validate(str(path), lake=path.lake)]
    assert any("ERROR" in one and "a/." in one for one in found), found


def test_a_compaction_that_was_planned_before_the_damage_is_not_done(path: Folder) -> None:
    options = CompactionOptions(base_path=str(path), hoodie_conf=dict(local.AT_ONCE), mode="schedule")
    run_compaction(options, job_context(lake=path.lake))
    log = newest_log(path)
    content = log.read_bytes()
    log.write_bytes(content[:-1])
    with pytest.raises(StorageError, match=log.name[1:30]):
        local.compact(path)
    log.write_bytes(content)
    local.compact(path)
    assert local.rows_of(path) == local.expected_rows(*ROWS)


@pytest.mark.parametrize("how", ["gone", "cut", "longer"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", [True, False], ids=["metadata table", "listing"])
def test_a_base_file_is_there_with_its_length(
    root: Folder, kind: str, metadata: bool, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table_of(root / "t", kind, metadata, monkeypatch)
    if kind == "MERGE_ON_READ":
        local.compact(path)
    base = max((path / "a").glob("*.parquet"), key=lambda one: one.name.rsplit("_", 1)[1])
    content = base.read_bytes()
    base.unlink()
    if how != "gone":
        base.write_bytes(content[:-1] if how == "cut" else content[:4] + b"\0" + content[4:])
    for work in (local.rows_of, lambda path: local.write(path, MORE, "k2")):
        with pytest.raises(StorageError) as caught:
            work(path)
        assert base.name in str(caught.value)
    base.write_bytes(content)
    local.roll_back(path)
    assert local.rows_of(path) == local.expected_rows(*ROWS)


@pytest.mark.parametrize("how", ["gone", "cut", "all"])
def test_and_where_the_metadata_table_misses_a_commit(root: Folder, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The storage is listed then, and its files are compared as those of a table without one."""
    path = table_of(root / "t", "COPY_ON_WRITE", True, monkeypatch)
    rows = local.batch(0, 20, "three", 3)
    local.write(path, rows.filter(pc.equal(rows.column("p"), "b")), "b")
    max((path / ".hoodie/metadata/.hoodie").glob("*.deltacommit")).unlink()
    bases = sorted((path / "a").glob("*.parquet"), key=lambda one: one.name.rsplit("_", 1)[1])
    if how == "cut":
        bases[-1].write_bytes(bases[-1].read_bytes()[:-1])
    else:
        for one in bases if how == "all" else bases[-1:]:
            one.unlink()
    for read in (local.rows_of, lambda path: path.table().file_slices()):
        with pytest.raises(CorruptTableError, match=bases[-1].name):
            read(path)


@pytest.mark.parametrize("is_archived", [True, False])
def test_a_partition_does_not_vanish_with_its_metafile(
    root: Folder, is_archived: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table_of(root / "t", "COPY_ON_WRITE", False, monkeypatch)
    rows = local.rows_of(path)
    if is_archived:
        more = local.batch(20, 4, "three", 3)
        local.overwrite(path, more.filter(pc.equal(more.column("p"), "b")), ["b"], "b")
        timeline = path.table().timeline
        archive(timeline, str(path), timeline.completed_commits()[:2])
    (path / "a/.hoodie_partition_metadata").rename(path / "kept")
    (path / "copies/a").mkdir(parents=True)
    for one in (path / "a").glob("*.parquet"):  # copies that lie about are no files of any commit
        one.copy_to(path / "copies/a" / one.name)
    for read in (local.rows_of, lambda path: path.table().scan(filter=pc.field("p") == "a").to_arrow()):
        with pytest.raises(CorruptTableError, match=r"partition metafile a/\.hoodie_partition_metadata is damaged"):
            read(path)
    (path / "kept").rename(path / "a/.hoodie_partition_metadata")
    assert [row for row in local.rows_of(path) if row[1] == "a"] == [row for row in rows if row[1] == "a"]


def test_earlier_moments_are_read_all_the_same(path: Folder) -> None:
    first = path.table().timeline.completed_commits()[0].timestamp
    newest_log(path).write_bytes(b"")
    rows = path.table(lists_storage=True).scan(as_of=first).to_arrow()
    assert set(rows["v"].to_pylist()) == {"one"}


def archived(root: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Seven delta commits that nobody compacted, of which the first three are archived."""
    monkeypatch.setitem(local.AT_ONCE, METADATA, "false")
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    for number in range(7):
        local.write(path, local.batch(0, 20, f"v{number}", number), f"k{number}")
    keep = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4", "hoodie.cleaner.commits.retained": "1"}
    keep |= {"hoodie.compact.inline.max.delta.commits": "2", METADATA: "false"}
    run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=keep), job_context(lake=root.lake))
    assert len(path.table().timeline.completed_commits()) < 6
    return path


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_log_of_an_archived_write_is_whole_too(root: Folder, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archived(root, monkeypatch)
    assert {row[4] for row in local.rows_of(path)} == {"v6"}
    oldest = min((path / "a").glob(".*.log.*"))
    if how == "gone":
        oldest.unlink()
    else:
        oldest.write_bytes(oldest.read_bytes()[:-1])
    for work in (local.rows_of, local.compact):
        with pytest.raises(StorageError) as caught:
            work(path)
        assert oldest.name in str(caught.value)


class Reads(Through):
    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.paths: list[str] = []

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        self.paths.append(path)
        return self.inner.read(path, offset, length)

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> Any:
        self.paths.append(path)
        return self.inner.open_input(path, may_change=may_change, etag=etag)


def test_statistics_are_read_once_for_a_snapshot(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archived(root, monkeypatch)
    opened, storage = path.table(), Reads(path.storage)
    table = replace(opened, storage=storage)
    view = table.view()
    before = len(storage.paths)
    table.slices_to_read(view)
    asked = storage.paths[before:]
    commits = [one for one in asked if one.endswith("commit")]
    assert sorted(commits) == sorted(table.timeline.path(one) for one in table.timeline.completed_commits())
    files = {one for one in asked if ".archive." in one}
    entries = 1 + len(path.table().archived_timeline().completed(Action.DELTA_COMMIT))
    assert len([one for one in asked if ".archive." in one]) <= len(files) * entries
    table.slices_to_read(view)
    assert storage.paths[before:] == asked


def test_slices_without_logs_ask_for_nothing(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table_of(root / "t", "COPY_ON_WRITE", True, monkeypatch)
    opened, storage = path.table(), Reads(path.storage)
    table = replace(opened, storage=storage)
    view = table.view()
    before = len(storage.paths)
    assert len(table.slices_to_read(view)) == 2
    assert storage.paths[before:] == []


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", [True, False])
@pytest.mark.parametrize("whole_partition", [True, False])
def test_a_file_group_does_not_vanish(
    root: Folder, kind: str, metadata: bool, whole_partition: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table_of(root / "t", kind, metadata, monkeypatch)
    moment = path.table().timeline.last_time
    more = local.batch(20, 4, "three", 3)
    local.overwrite(path, more.filter(pc.equal(more.column("p"), "b")), ["b"], "k2")  # a group that was replaced may go
    wanted = local.rows_of(path)
    if whole_partition:
        (path / "a").remove()
    else:
        for file in (path / "a").iterdir():
            if file.name != ".hoodie_partition_metadata":
                file.unlink()
    table = path.table()
    for scan in (table.scan(), table.scan(as_of=moment), table.scan(query="read_optimized")):
        with pytest.raises(HudiError, match=r"gone|[Nn]o such file|no such object"):
            scan.to_arrow()
    only_b = table.scan(filter=pc.field("p") == "b").to_arrow()
    assert sorted(only_b["id"].to_pylist()) == sorted(row[2] for row in wanted if row[1] == "b")


@pytest.mark.parametrize("replace_all", [True, False], ids=["overwrite", "clustering"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", [True, False], ids=["metadata table", "listing"])
def test_a_lost_replacement_upon_which_later_writes_were_built(
    root: Folder, kind: str, metadata: bool, replace_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks pending: the file groups that it replaced count again beside what later writes made of its own."""
    path = table_of(root / "t", kind, metadata, monkeypatch)
    before = local.rows_of(path)
    if replace_all:
        local.overwrite(path, ROWS[1], local.PARTITIONS, "replaced")
    else:
        if kind == "MERGE_ON_READ":
            local.compact(path)
        local.cluster(path)
    (replacement,) = path.glob(".hoodie/*.replacecommit")
    until = path.table().timeline.completed_commits()[1].timestamp
    local.write(path, local.batch(0, 20, "later", 3), "later")
    lost, files = replacement.rename(path / "kept"), sorted(path.glob("[ab]/*"))
    with pytest.raises(CorruptTableError, match=f"{replacement.name} is gone: instant .* was built upon"):
        local.rows_of(path)
    with pytest.raises(CorruptTableError, match=f"{replacement.name} is gone"):
        local.write(path, local.batch(30, 2, "more", 4), "more")
    assert f".hoodie/{replacement.name}" in [
        one.path for one in validate(str(path), lake=path.lake) if one.invariant == 3
    ]
    assert path.table().scan(as_of=until).to_arrow().num_rows == len(before)
    assert set(files) <= set(path.glob("[ab]/*"))
    lost.rename(replacement)
    assert local.rows_of(path) == local.expected_rows(local.batch(0, 20, "later", 3))
