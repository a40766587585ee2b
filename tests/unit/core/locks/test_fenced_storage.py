"""What is done under the table lock is done while it is held, or not at all."""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError, WriteConflictError
from spark_jobs.core.locks.fenced_storage import FencedStorage
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.storage.guard import GUARD_SUFFIX
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.locks.other_owners import elsewhere, make_older

pytestmark = pytest.mark.unit

CHANGES: dict[str, Callable[[Storage, str], object]] = {
    "create": lambda storage, path: storage.create(f"{path}/new", b"2"),
    "replace": lambda storage, path: storage.replace(f"{path}/old", b"2"),
    "replace_if": lambda storage, path: storage.replace_if(f"{path}/old", b"2", etag(storage, f"{path}/old")),
    "delete": lambda storage, path: storage.delete(f"{path}/old"),
    "delete_files": lambda storage, path: storage.delete_files([f"{path}/old"]),
    "discard": lambda storage, path: storage.discard([f"{path}/old"]),
    "delete_if": lambda storage, path: storage.delete_if(f"{path}/old", etag(storage, f"{path}/old")),
    "delete_tree": lambda storage, path: storage.delete_tree(f"{path}/full"),
    "remove_empty_directory": lambda storage, path: storage.remove_empty_directory(f"{path}/empty"),
    "make_directory": lambda storage, path: storage.make_directory(f"{path}/made"),
    "open_output": lambda storage, path: storage.open_output(f"{path}/out").close(),
}
OF_FOLDERS = {"remove_empty_directory", "make_directory"}
"""Which change nothing on a store, that has none."""
READS = {
    "capabilities",
    "read",
    "load",
    "read_listed",
    "list",
    "walk",
    "stat",
    "open_input",
    "only_while",
    "while_alone",
    "clock_ms",
} | {
    "first_link",
    "has_folder",
    "is_unpublished",
    "guard_of",
    "sync",
    "relaxed",
}


def etag(storage: Storage, path: str) -> str:
    status = storage.stat(path)
    assert status is not None
    return status.etag


def lock_file(folder: Folder) -> Folder:
    return folder / ".hoodie" / "lock"


def new_lock(folder: Folder, wait_ms: int = 0) -> FileLock:
    settings = FileLockSettings(path=str(lock_file(folder)), wait_ms=wait_ms, expire_ms=0)
    return FileLock(folder.storage, settings, SYSTEM_CLOCK)


@pytest.fixture
def folder(root: Folder) -> Folder:
    for name in (".hoodie", "empty", "full"):
        (root / name).mkdir()
    (root / "old").write_bytes(b"1")
    (root / "full" / "file").write_bytes(b"1")
    return root


@pytest.fixture
def on_disk(tmp_path: Path) -> Folder:
    """Where a lock file has a guard beside it."""
    return Folder(str(tmp_path))


def contents(folder: Folder) -> set[tuple[str, bytes]]:
    found = [one for one in folder.rglob("*") if ".hoodie" not in one.relative_to(folder).parts]
    return {(str(one), one.read_bytes() if one.is_file() else b"") for one in found}


def test_every_call_of_a_storage_is_fenced_or_reads() -> None:
    assert {name for name, _ in inspect.getmembers(Storage) if not name.startswith("_")} == READS | set(CHANGES)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_made_while_the_lock_is_held(folder: Folder, change: str) -> None:
    before = contents(folder)
    with new_lock(folder) as held:
        CHANGES[change](pickle.loads(pickle.dumps(held.storage)), str(folder))
    assert (contents(folder) != before) is (folder.has_folders or change not in OF_FOLDERS)


@pytest.mark.parametrize("lost", ["removed", "taken over", "taken by Hudi", "released"])
@pytest.mark.parametrize("change", CHANGES)
def test_no_change_is_made_once_the_lock_is_lost(folder: Folder, change: str, lost: str) -> None:
    before = contents(folder)
    held = new_lock(folder)
    held.acquire()
    path, storage = lock_file(folder), held.storage
    if lost == "released":
        held.release()
    elif lost == "removed":
        path.unlink()
    else:
        path.write_bytes(b"" if lost == "taken by Hudi" else elsewhere())
    with pytest.raises(WriteConflictError, match=r"the table lock .* was lost"):
        CHANGES[change](storage, str(folder))
    held.release()
    assert contents(folder) == before


def test_a_lock_is_not_taken_over_in_the_middle_of_a_change(on_disk: Folder) -> None:
    """A process that is suspended in it stays in it, however old its lock becomes, and even where that is removed."""
    first, second = new_lock(on_disk), new_lock(on_disk)
    first.acquire()
    path = lock_file(on_disk)
    with first.storage.lease.held(first.storage.unfenced):
        make_older(path, 7200)
        with pytest.raises(LockNotAcquiredError, match="the process that holds the table lock in the middle of a ch"):
            second.acquire()
        path.unlink()
        with pytest.raises(LockNotAcquiredError, match=r"kill -CONT"):
            second.acquire()
    with second:
        assert second.is_held()
        first.release()
        assert second.is_held()


def test_who_is_alone_with_the_lock_file_is_named_to_those_who_wait(on_disk: Folder) -> None:
    lock = str(lock_file(on_disk))
    with on_disk.storage.while_alone(lock, "process 7 on here"):
        with pytest.raises(LockNotAcquiredError, match="held by process 7 on here in the middle"):
            new_lock(on_disk).acquire()
    with new_lock(on_disk) as held:
        assert held.is_held()


def test_a_process_that_was_forked_inside_keeps_nobody_out(on_disk: Folder) -> None:
    reader, writer = os.pipe()
    with new_lock(on_disk) as held:
        with held.storage.lease.held(held.storage.unfenced):
            child = os.fork()
            if child == 0:
                os.close(writer)
                os.read(reader, 1)  # till its parent ends it
                os._exit(0)
    try:
        with new_lock(on_disk) as next_one:
            assert next_one.is_held()
    finally:
        os.close(writer)
        os.waitpid(child, 0)


def test_a_guard_that_went_with_its_table_guards_nothing(on_disk: Folder) -> None:
    lock = str(lock_file(on_disk))
    with on_disk.storage.while_alone(lock, "first"):
        Path(lock + GUARD_SUFFIX).unlink()
    with on_disk.storage.while_alone(lock, "second"), pytest.raises(LockNotAcquiredError):
        with on_disk.storage.while_alone(lock, "third", wait_ms=0):
            pass


@dataclass
class Looked:
    """A lease that notes when it is looked at."""

    calls: list[str]
    token: str = "token"

    @contextmanager
    def held(self, storage: Storage) -> Iterator[None]:
        self.calls.append("lock")
        yield


class Noted(Through):
    """Notes what is asked for and deleted."""

    def __init__(self, inner: Storage, calls: list[str]) -> None:
        super().__init__(inner)
        self.calls = calls

    def stat(self, path: str) -> FileStatus | None:
        self.calls.append("look")
        return self.inner.stat(path)

    def list(self, path: str) -> list[FileStatus]:
        self.calls.append("look")
        return self.inner.list(path)

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        self.calls.append("look")
        return self.inner.walk(path, after)

    def discard(self, paths: Sequence[str]) -> None:
        self.calls.append("delete")
        self.inner.discard(paths)


@pytest.mark.parametrize("count", [3, 300])
def test_on_a_store_of_objects_deletions_come_right_after_the_look_at_the_lock(root: Folder, count: int) -> None:
    """To see which files are there may take long; a lock that was lost meanwhile is seen."""
    if root.has_folders:
        pytest.skip("a change on a disk is made while nobody can take the lock")
    paths = [str(root / f"p{number:03}" / "f") for number in range(count)]
    for path in paths[::2]:
        root.storage.create(path, b"1")
    calls: list[str] = []
    storage = FencedStorage(Noted(root.storage, calls), Looked(calls))
    assert list(storage.delete_files(paths)) == [number % 2 == 0 for number in range(count)]
    assert calls[-2:] == ["lock", "delete"]
    assert set(calls[:-2]) == {"look"}
    assert not any((root / f"p{number:03}" / "f").exists() for number in range(count))
