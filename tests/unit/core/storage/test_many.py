"""Files deleted several at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.storage.many import CALLS_AT_ONCE, delete_files

pytestmark = pytest.mark.unit


class Meeting(LocalStorage):
    """Deletes nothing before as many calls as may be are there."""

    def __init__(self) -> None:
        self.met = threading.Barrier(CALLS_AT_ONCE)

    def delete(self, path: str) -> bool:
        self.met.wait(timeout=60)
        return super().delete(path)


class Refusing(LocalStorage):
    def delete(self, path: str) -> bool:
        if path.endswith("7"):
            raise StorageError(f"{path} can't be deleted", path=path)
        return super().delete(path)


def files(folder: Path, count: int) -> list[str]:
    for number in range(0, count, 2):
        (folder / str(number)).touch()
    return [str(folder / str(number)) for number in range(count)]


@pytest.mark.parametrize("count", [0, 5, 32, 33, 10_000])
def test_each_answer_is_that_of_its_file(tmp_path: Path, count: int) -> None:
    told: list[int] = []
    assert delete_files(LocalStorage(), files(tmp_path, count), told.append) == [one % 2 == 0 for one in range(count)]
    assert told == [1] * count
    assert not list(tmp_path.iterdir())


def test_many_are_deleted_at_once(tmp_path: Path) -> None:
    assert sum(delete_files(Meeting(), files(tmp_path, 4 * CALLS_AT_ONCE))) == 2 * CALLS_AT_ONCE


@pytest.mark.parametrize("count", [10, 1000])
def test_an_error_is_told(tmp_path: Path, count: int) -> None:
    with pytest.raises(StorageError, match=r"7 can't be deleted"):
        delete_files(Refusing(), files(tmp_path, count))
