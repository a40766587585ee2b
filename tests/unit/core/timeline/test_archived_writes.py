"""Single writes by the archive: what is answered, and with how little reading."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.archive.v6 import form
from spark_jobs.core.timeline.archive.v6.files import EntryPlace, decode_entry
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.archived_writes import ArchivedWrites
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.timeline.lines import MOMENT, Line, commit, merge_small, time

pytestmark = pytest.mark.unit


class Counting(Through):
    """Another storage, with the archive files that were opened or read by ranges, in order; none is while away."""

    is_away = False

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.opened: list[str] = []

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        self._note(path)
        return self.inner.open_input(path, may_change=may_change, etag=etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        if "archive" in path:
            self._note(path)
        return self.inner.read(path, offset, length)

    def list(self, path: str) -> list[FileStatus]:
        assert not self.is_away
        return self.inner.list(path)

    def _note(self, path: str) -> None:
        assert not self.is_away
        self.opened.append(path.rsplit("/", 1)[-1])


def files(storage: Any) -> list[int]:
    return [int(name.split(".")[3].split("_")[0]) for name in storage.opened]


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Sixteen archive files of three commits each, 1 to 48, and a rollback of 9 in the first."""
    folder = Folder(str(tmp_path_factory.mktemp("archived")))
    made = Line(folder)
    for number in range(16):
        going = [made.commit(3 * number + one) for one in (1, 2, 3) if 3 * number + one != 9]
        going += [made.rollback(100)] if number == 0 else []
        archive(made.load(), str(folder), going)
    made.commit(200)
    return folder


@pytest.fixture
def line(archived: Folder, root: Folder) -> Line:
    archived.copy_to(root)
    return Line(root)


def asked(line: Line) -> tuple[ArchivedWrites, Counting]:
    line.storage = Counting(line.storage)
    found = line.load().archive
    assert line.storage.opened == []
    return found, line.storage


def test_a_write_is_found_by_halves_and_no_file_is_read_twice(line: Line) -> None:
    found, storage = asked(line)
    assert found.has(time(37))
    assert len(storage.opened) <= 5
    first = list(storage.opened)
    assert found.has(time(38))
    assert found.has(time(37))
    assert storage.opened == first
    assert all(found.has(time(number)) for number in range(1, 49) if number != 9)
    assert sorted(files(storage)) == list(range(1, 17))


@pytest.mark.parametrize(("asked_for", "decoded"), [(["f37-0"], 1), (["f4-0"], 1), (["f99-0"], 0), ([], 47)])
def test_entries_of_other_file_groups_are_not_decoded(
    line: Line, asked_for: list[str], decoded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice may have a log for longer than a table has thousands of writes."""
    seen: list[EntryPlace] = []

    def decode(data: bytes, place: EntryPlace) -> dict[str, Any]:
        seen.append(place)
        return decode_entry(data, place)

    monkeypatch.setattr(form, "decode_entry", decode)
    found = line.load().archived_files("", asked_for)
    assert len(seen) == decoded
    assert {one.file_id for written in found.values() for one in written}.issuperset(
        name for name in asked_for if name != "f99-0"
    )


def test_what_was_rolled_back_since_a_moment(line: Line) -> None:
    found, _ = asked(line)
    assert [one.rolled_back for one in found.rollbacks_since(time(9))] == [(time(9),)]
    assert found.rollbacks_since(time(101)) == []


def test_what_it_wrote_is_one_ranged_read(line: Line) -> None:
    found, storage = asked(line)
    assert found.has(time(37))
    before = len(storage.opened)
    assert found.commit_metadata(time(37)) == commit(37)
    assert len(storage.opened) == before + 1
    assert found.commit_metadata(time(9)) is None


def test_files_written_before_an_instant_are_not_opened(line: Line) -> None:
    for file in line.archive.iterdir():
        number = int(file.name.split(".")[3].split("_")[0])
        age = 0 if number > 14 else 86400 * 30
        file.date((MOMENT - age) * 1000)
    found, storage = asked(line)
    assert not found.has(time(150))
    assert sorted(files(storage)) == [14, 15, 16]  # one, to see that clocks agree


def test_instants_of_a_clock_that_is_far_ahead_are_found(line: Line) -> None:
    """They are archived long before their time."""
    for file in line.archive.iterdir():
        file.date((MOMENT - 86400 * 30) * 1000)
    found, _ = asked(line)
    assert found.has(time(10))
    assert found.times_since(time(46)) == [time(46), time(47), time(48)]
    assert not found.has(time(9))


def test_one_that_was_rolled_back_is_known(line: Line) -> None:
    found, _ = asked(line)
    assert not found.has(time(9))
    assert found.rolled_back_by(time(9)) == time(100)
    assert found.rolled_back_by(time(10)) is None


def test_a_merge_of_small_files_meanwhile(line: Line) -> None:
    found, storage = asked(line)
    assert found.has(time(37))
    merge_small(line.folder.storage, str(line.archive), at_least=2)
    assert len(line.archives()) == 1
    assert found.commit_metadata(time(37)) == commit(37)
    assert found.has(time(1))
    assert not found.has(time(9))
    assert found.rolled_back_by(time(9)) == time(100)
    assert files(storage).count(17) == 3  # once for the index, once for each entry


def test_it_pickles_with_what_was_read_and_a_later_snapshot_takes_it_over(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.storage = Counting(line.storage)
    timeline = line.load()
    assert timeline.archive.has(time(5))
    copied = pickle.loads(pickle.dumps(timeline.archive))
    read = len(line.storage.opened)
    with monkeypatch.context() as patch:
        patch.setattr(Counting, "is_away", True)
        assert copied.has(time(5))
    assert timeline.reload().archive.has(time(5))
    assert len(line.storage.opened) == read


def test_a_damaged_file_matters_where_what_is_asked_for_is_nowhere_else(line: Line) -> None:
    spoilt = line.archive / ".commits_.archive.3_1-0-1"
    spoilt.write_bytes(b"no archive file")
    found, _ = asked(line)
    assert found.has(time(1))
    assert found.has(time(40))
    with pytest.raises(CorruptTableError, match=r"archive\.3_1-0-1|no log block"):
        found.has(time(7))


def test_archive_files_beside_the_timeline_are_read_too(line: Line) -> None:
    for file in list(line.archive.iterdir()):
        file.rename(line.folder / file.name)
    found, _ = asked(line)
    assert found.has(time(20))
    assert not found.has(time(9))


def test_of_no_archive_nothing_is_read(root: Folder) -> None:
    found, storage = asked(Line(root))
    assert not found.has(time(1))
    assert found.rolled_back_by(time(1)) is None
    assert found.commit_metadata(time(1)) is None
    assert storage.opened == []
