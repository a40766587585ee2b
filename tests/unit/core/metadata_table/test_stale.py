"""A metadata table counts only where it has every completed write, whole: else the storage is listed, and writes remake
it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.metadata_table.scan import read_file_records
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.metadata_table.agreement import disagreements, metadata_table_of

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("hasty")]

ROWS = (local.batch(0, 20, "one", 1), local.batch(0, 20, "two", 2), local.batch(0, 10, "three", 3))
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")


@pytest.fixture(scope="module", params=TYPES)
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path = Folder(str(tmp_path_factory.mktemp("sound"))) / "t"
    local.create(path, request.param)
    for number, rows in enumerate(ROWS):
        local.write(path, rows, f"k{number}")
    return path


@pytest.fixture
def path(sound: Folder, root: Folder) -> Folder:
    return sound.copy_to(root / "t")


def _newest_log(path: Folder) -> Folder:
    logs = (path / ".hoodie/metadata/files").glob(".files*.log.*")
    return max(logs, key=lambda one: int(one.name.split(".log.")[1].split("_")[0]))


def _cut(keep: Callable[[int], int]) -> Callable[[Folder], None]:
    def damage(path: Folder) -> None:
        log = _newest_log(path)
        log.write_bytes(log.read_bytes()[: keep(log.size)])

    return damage


def _garbage(path: Folder) -> None:
    log = _newest_log(path)
    log.write_bytes(random.Random(1).randbytes(log.size))


def _damaged_length(path: Folder) -> None:
    log = _newest_log(path)
    data = bytearray(log.read_bytes())
    data[10] ^= 1
    log.write_bytes(bytes(data))


def _no_log(path: Folder) -> None:
    _newest_log(path).unlink()


def _no_commit(path: Folder) -> None:
    max((path / ".hoodie/metadata/.hoodie").glob("*.deltacommit")).unlink()


def _no_old_commit(path: Folder) -> None:
    sorted((path / ".hoodie/metadata/.hoodie").glob("*.deltacommit"))[-2].unlink()


def _empty_commit_no_log(path: Folder) -> None:
    max((path / ".hoodie/metadata/.hoodie").glob("*.deltacommit")).write_bytes(b"")
    _no_log(path)


DAMAGES = {
    "emptied": _cut(lambda size: 0),
    "half": _cut(lambda size: size // 2),
    "last byte": _cut(lambda size: size - 1),
    "garbage": _garbage,
    "length": _damaged_length,
    "log gone": _no_log,
    "commit gone": _no_commit,
    "older commit gone": _no_old_commit,
    "commit empty and log gone": _empty_commit_no_log,
}
BY_NAME = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)


@BY_NAME
def test_readers_list_the_storage(path: Folder, damage: Callable[[Folder], None]) -> None:
    damage(path)
    with pytest.raises(CorruptTableError):
        read_file_records(metadata_table_of(path))
    assert local.rows_of(path) == local.expected_rows(*ROWS)


@BY_NAME
def test_validate_reports_it(path: Folder, damage: Callable[[Folder], None]) -> None:
    damage(path)
    found = [str(one) for one in validate(str(path), lake=path.lake)]
    assert any(".hoodie/metadata" in one and "anew" in one for one in found), found


@BY_NAME
def test_an_upsert_of_other_rows_keeps_all(path: Folder, damage: Callable[[Folder], None]) -> None:
    damage(path)
    rows = local.batch(10, 6, "four", 4)
    local.write(path, rows, "k3")
    assert local.rows_of(path) == local.expected_rows(*ROWS, rows)
    assert local.rows_in(path.table(lists_storage=True)) == local.rows_of(path)


@pytest.mark.parametrize("damage", [_cut(lambda size: size - 1), _no_log, _no_commit], ids=["cut", "gone", "commit"])
def test_the_next_write_makes_it_anew(path: Folder, damage: Callable[[Folder], None]) -> None:
    damage(path)
    local.write(path, local.batch(10, 6, "four", 4), "k3")
    assert path.table().config.metadata_partitions == ("files",)
    assert disagreements(path) == []
    assert validate(str(path), lake=path.lake) == []


def _compacted(path: Folder) -> None:
    properties = {"hoodie.metadata.compact.max.delta.commits": "2"}
    for number in range(3, 9):
        local.write(path, local.batch(0, 10, f"v{number}", number), f"k{number}")
        settings = path.table().transaction_settings(properties)
        maintain_metadata_table(settings, properties, print)


@pytest.mark.parametrize("what", ["base", "commit", "both"])
def test_a_lost_compaction_of_it_changes_nothing(path: Folder, what: str) -> None:
    _compacted(path)
    local.write(path, local.batch(10, 5, "last", 20), "last")
    expected = local.rows_of(path)
    folder = path / ".hoodie/metadata"
    assert len(list((folder / "files").glob("*.hfile"))) > 1
    if what != "commit":
        max((folder / "files").glob("*.hfile"), key=lambda one: one.name.rsplit("_", 1)[1]).unlink()
    if what != "base":
        max((folder / ".hoodie").glob("*.commit")).unlink()
    assert local.rows_of(path) == expected
    local.write(path, local.batch(0, 5, "more", 30), "more")
    assert sum(row[4] == "more" for row in local.rows_of(path)) == 5
    assert len(local.rows_of(path)) == 20


class _Counting(Through):
    """Counts reads of timeline files of the metadata table."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.reads: list[str] = []
        self.lists: list[str] = []

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        self.reads.append(path)
        return self.inner.read(path, offset, length)

    def list(self, path: str) -> list[FileStatus]:
        self.lists.append(path)
        return self.inner.list(path)


def test_a_look_reads_the_commits_since_its_compaction_once(path: Folder) -> None:
    opened = path.table()
    storage = _Counting(opened.storage)
    table = replace(opened, storage=storage)
    table.listing.partitions()
    commits = [one for one in storage.reads if one.endswith(".deltacommit")]
    assert len(commits) == len(set(commits)) == 4
    data_folders = [one for one in storage.lists if "/.hoodie" not in one]
    assert data_folders == []


def test_a_lost_compaction_upon_which_a_later_one_built(path: Folder) -> None:
    """It looks pending: what writers log would go to its slice, below the newest, and nobody would see it."""
    properties = {**local.AT_ONCE, "hoodie.metadata.compact.max.delta.commits": "1"}
    for number in range(2):
        local.write(path, local.batch(0, 20, f"more {number}", 4 + number), f"m{number}")
        maintain_metadata_table(path.table().transaction_settings(properties), properties, lambda line: None)
    older, _ = sorted(path.glob(".hoodie/metadata/.hoodie/*001.commit"))
    older.unlink()
    before = local.rows_of(path)
    table = metadata_table_of(path)
    with pytest.raises(CorruptTableError, match=f"compaction {older.name[:20]} looks pending"):
        read_file_records(table)
    (found,) = validate(path.table())
    assert (found.invariant, found.severity) == (9, "ERROR")
    rows = local.batch(20, 4, "after", 9)
    local.write(path, rows, "after")
    assert disagreements(path) == []
    assert validate(path.table(), deep=True) == []
    assert local.rows_of(path) == sorted([*before, *local.expected_rows(rows)])


def test_a_reader_that_slept_sees_what_is_there_now(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its timeline is older than a clean that the metadata table has in its base files by now."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.compact.max.delta.commits", "1")
    slept = path.table()
    assert slept.timeline.instants
    newer = [local.batch(0, 20, value, number) for number, value in enumerate(("four", "five", "six"), 4)]
    for rows in newer:
        local.overwrite(path, rows, local.PARTITIONS, rows.column("v")[0].as_py())
    local.clean(path)
    maintain_metadata_table(path.table().transaction_settings(local.AT_ONCE), local.AT_ONCE, pytest.fail)
    assert local.rows_in(slept) == local.expected_rows(*newer)
