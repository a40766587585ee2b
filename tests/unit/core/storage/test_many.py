"""Files deleted several at a time."""

from __future__ import annotations

import threading

import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.storage.many import CALLS_AT_ONCE, delete_files, find_files
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


class Meeting(Through):
    """A slow storage: the first call takes a second, then none ends before as many as may be are there."""

    def __init__(self, inner: Storage, clock: HandClock) -> None:
        super().__init__(inner)
        self.clock = clock
        self.met = threading.Barrier(CALLS_AT_ONCE)

    def delete(self, path: str) -> bool:
        if not self.clock.passed:
            self.clock.sleep(1)
        else:
            self.met.wait(timeout=60)
        return self.inner.delete(path)


class Quick(Through):
    """A storage whose calls take no time, which counts the threads they come from."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.threads: set[int] = set()

    def delete(self, path: str) -> bool:
        self.threads.add(threading.get_ident())
        return self.inner.delete(path)


class Refusing(Through):
    def delete(self, path: str) -> bool:
        if path.endswith("7"):
            raise StorageError(f"{path} can't be deleted", path=path)
        return self.inner.delete(path)


class Counting(Through):
    lists = stats = 0

    def list(self, path: str) -> list[FileStatus]:
        self.lists += 1
        return self.inner.list(path)

    def stat(self, path: str) -> FileStatus | None:
        self.stats += 1
        return self.inner.stat(path)


def files(folder: Folder, count: int) -> list[str]:
    for number in range(0, count, 2):
        (folder / str(number)).touch()
    return [str(folder / str(number)) for number in range(count)]


@pytest.mark.parametrize("count", [0, 5, 32, 33, 10_000])
def test_each_answer_is_that_of_its_file(root: Folder, count: int) -> None:
    told: list[int] = []
    assert delete_files(root.storage, files(root, count), told.append) == [one % 2 == 0 for one in range(count)]
    assert sum(told) == count
    assert not list(root.iterdir())


def test_many_are_deleted_at_once(root: Folder) -> None:
    if root.storage.capabilities.deletes_at_once > 1:
        pytest.skip("they go by one request")
    clock, paths = HandClock(), files(root, 8 * CALLS_AT_ONCE + 1)
    assert sum(delete_files(Meeting(root.storage, clock), paths, clock=clock)) == 4 * CALLS_AT_ONCE + 1


def test_a_quick_storage_needs_no_threads(root: Folder) -> None:
    storage = Quick(root.storage)
    delete_files(storage, files(root, 1000), clock=HandClock())
    assert storage.threads == {threading.get_ident()}


def test_files_are_found_by_few_calls(root: Folder) -> None:
    (root / "many").mkdir()
    (root / "few").mkdir()
    many, few = files(root / "many", 10), files(root / "few", 3)
    asked = Counting(root.storage)
    found = find_files(asked, [*many, *few, str(root / "none" / "x")])
    assert sorted(found) == sorted([*many[::2], *few[::2]])
    assert all(status.path == path for path, status in found.items())
    assert (asked.lists, asked.stats) == ((0, 0) if root.storage.capabilities.ordered else (1, 4))  # by one walk


def test_many_files_are_found_wherever_they_lie(root: Folder) -> None:
    """Those behind so many others that a walk would take longer than a look at each, too."""
    asked = [str(root / f"p{one % 7}" / f"f{one}") for one in range(20)]
    for path in (*asked[::2], *(str(root / "p3" / f"e{one}") for one in range(2001))):
        root.storage.create(path, b"x", durable=False)
    assert sorted(find_files(root.storage, asked)) == sorted(asked[::2])


@pytest.mark.parametrize("count", [10, 1000])
def test_an_error_is_told(root: Folder, count: int) -> None:
    with pytest.raises(StorageError, match=r"7 can't be deleted"):
        delete_files(Refusing(root.storage), files(root, count))
