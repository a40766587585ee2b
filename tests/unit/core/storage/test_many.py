"""Files deleted several at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.core.storage import FileStatus, LocalStorage
from spark_jobs.core.storage.many import CALLS_AT_ONCE, delete_files, find_files
from tests.support.through import Through
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


class Meeting(LocalStorage):
    """A slow storage: the first call takes a second, then none ends before as many as may be are there."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.met = threading.Barrier(CALLS_AT_ONCE)

    def delete(self, path: str) -> bool:
        if not self.clock.passed:
            self.clock.sleep(1)
        else:
            self.met.wait(timeout=60)
        return super().delete(path)


class Quick(LocalStorage):
    """A storage whose calls take no time, which counts the threads they come from."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def delete(self, path: str) -> bool:
        self.threads.add(threading.get_ident())
        return super().delete(path)


class Refusing(LocalStorage):
    def delete(self, path: str) -> bool:
        if path.endswith("7"):
            raise StorageError(f"{path} can't be deleted", path=path)
        return super().delete(path)


class Counting(Through):
    lists = stats = 0

    def list(self, path: str) -> Sequence[FileStatus]:
        self.lists += 1
        return self.inner.list(path)

    def stat(self, path: str) -> FileStatus | None:
        self.stats += 1
        return self.inner.stat(path)


def files(folder: Path, count: int) -> list[str]:
    for number in range(0, count, 2):
        (folder / str(number)).touch()
    return [str(folder / str(number)) for number in range(count)]


@pytest.mark.parametrize("count", [0, 5, 32, 33, 10_000])
def test_each_answer_is_that_of_its_file(tmp_path: Path, count: int) -> None:
    told: list[int] = []
    assert delete_files(LocalStorage(), files(tmp_path, count), told.append) == [one % 2 == 0 for one in range(count)]
    assert sum(told) == count
    assert not list(tmp_path.iterdir())


def test_many_are_deleted_at_once(tmp_path: Path) -> None:
    clock, paths = HandClock(), files(tmp_path, 8 * CALLS_AT_ONCE + 1)
    assert sum(delete_files(Meeting(clock), paths, clock=clock)) == 4 * CALLS_AT_ONCE + 1


def test_a_quick_storage_needs_no_threads(tmp_path: Path) -> None:
    storage = Quick()
    delete_files(storage, files(tmp_path, 1000), clock=HandClock())
    assert storage.threads == {threading.get_ident()}


def test_files_are_found_by_few_calls(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    (tmp_path / "few").mkdir()
    many, few = files(tmp_path / "many", 10), files(tmp_path / "few", 3)
    asked = Counting(LocalStorage())
    found = find_files(asked, [*many, *few, str(tmp_path / "none" / "x")])
    assert sorted(found) == sorted([*many[::2], *few[::2]])
    assert all(status.path == path for path, status in found.items())
    assert (asked.lists, asked.stats) == (1, 4)


@pytest.mark.parametrize("count", [10, 1000])
def test_an_error_is_told(tmp_path: Path, count: int) -> None:
    with pytest.raises(StorageError, match=r"7 can't be deleted"):
        delete_files(Refusing(), files(tmp_path, count))
