"""Local disks: create once, compare-and-swap, ranged reads, listings, and errors of one line."""

from __future__ import annotations

import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError
from spark_jobs.core.storage import FileStatus, LocalStorage
from spark_jobs.core.storage.local import _write_temporary

pytestmark = pytest.mark.unit

STORAGE = LocalStorage()


@pytest.fixture(params=["nameless", "temporary"])
def publishing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to publish a file: by one without a name, and on systems that don't know those by a temporary one."""
    if request.param == "temporary":
        monkeypatch.delattr(os, "O_TMPFILE")


def status_of(path: str) -> FileStatus:
    status = STORAGE.stat(path)
    assert status is not None
    return status


@pytest.mark.usefixtures("publishing")
@pytest.mark.parametrize("data", [b"", b"x" * 100_000])
def test_create_makes_folders_and_refuses_a_second_file(tmp_path: Path, data: bytes) -> None:
    path = str(tmp_path / "deep" / "er" / "file")
    STORAGE.create(path, data)
    assert STORAGE.read(path) == data
    with pytest.raises(AlreadyExistsError, match="exists already"):
        STORAGE.create(path, b"other")
    assert STORAGE.read(path) == data
    assert [status.name for status in STORAGE.list(str(tmp_path / "deep" / "er"))] == ["file"]


@pytest.mark.usefixtures("publishing")
def test_of_many_creators_one_wins(tmp_path: Path) -> None:
    path, barrier = str(tmp_path / "file"), threading.Barrier(8)

    def attempt(number: int) -> bool:
        barrier.wait()
        try:
            STORAGE.create(path, str(number).encode() * 1000)
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(attempt, range(8)))
    assert won.count(True) == 1
    assert STORAGE.read(path) == str(won.index(True)).encode() * 1000


def test_compare_and_swap(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    STORAGE.create(path, b"one")
    first = status_of(path).etag
    STORAGE.replace_if(path, b"two", first)
    assert STORAGE.read(path) == b"two"
    with pytest.raises(EtagMismatchError, match="not the version"):
        STORAGE.replace_if(path, b"three", first)
    assert not STORAGE.delete_if(path, first)
    assert STORAGE.read(path) == b"two"
    assert STORAGE.delete_if(path, status_of(path).etag)
    assert not STORAGE.delete_if(path, first)
    assert not STORAGE.delete_if(str(tmp_path / "no" / "where"), first)
    with pytest.raises(EtagMismatchError):
        STORAGE.replace_if(path, b"four", first)


def test_swaps_of_many_threads_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "counter")
    STORAGE.create(path, b"0")

    def count(_: int) -> None:
        while True:
            etag = status_of(path).etag
            value = int(STORAGE.read(path))
            try:
                STORAGE.replace_if(path, str(value + 1).encode(), etag)
                return
            except EtagMismatchError:
                continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(40)))
    assert STORAGE.read(path) == b"40"


def test_ranges(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    STORAGE.create(path, b"0123456789")
    assert STORAGE.read(path, 3) == b"3456789"
    assert STORAGE.read(path, 3, 4) == b"3456"
    assert STORAGE.read(path, 8, 100) == b"89"


def test_listings(tmp_path: Path) -> None:
    for name in ("b", "a", "c/d", "c/e/f"):
        STORAGE.create(str(tmp_path / name), b"1234")
    listed = STORAGE.list(str(tmp_path))
    assert [(one.name, one.is_directory) for one in listed] == [("a", False), ("b", False), ("c", True)]
    assert listed[0].size == 4
    assert sorted(os.path.relpath(one.path, tmp_path) for one in STORAGE.walk(str(tmp_path))) == [
        "a",
        "b",
        "c/d",
        "c/e/f",
    ]
    assert STORAGE.list(str(tmp_path / "none")) == []
    assert STORAGE.stat(str(tmp_path / "none")) is None
    assert STORAGE.stat(str(tmp_path / "a" / "below a file")) is None


def test_deletes(tmp_path: Path) -> None:
    path = str(tmp_path / "x" / "file")
    STORAGE.create(path, b"1")
    assert STORAGE.delete(path)
    assert not STORAGE.delete(path)
    STORAGE.create(path, b"1")
    STORAGE.delete_tree(str(tmp_path / "x"))
    STORAGE.delete_tree(str(tmp_path / "x"))
    assert STORAGE.list(str(tmp_path)) == []


@pytest.mark.parametrize("change", ["create", "replace", "delete"])
def test_a_checksum_file_of_hadoop_goes_with_the_version_it_belongs_to(tmp_path: Path, change: str) -> None:
    path, checksum = tmp_path / "file", tmp_path / ".file.crc"
    checksum.write_bytes(b"crc")
    if change != "create":
        path.write_bytes(b"old")
    if change == "delete":
        STORAGE.delete(str(path))
    else:
        getattr(STORAGE, change)(str(path), b"new")
    assert not checksum.exists()


def test_data_files(tmp_path: Path) -> None:
    path = str(tmp_path / "p" / "file")
    with STORAGE.open_output(path) as sink:
        sink.write(b"0123456789")
    with pytest.raises(AlreadyExistsError):
        STORAGE.open_output(path)
    with STORAGE.open_input(path) as source:
        source.seek(4)
        assert source.read(2) == b"45"
    STORAGE.create(str(tmp_path / "empty"), b"")
    with STORAGE.open_input(str(tmp_path / "empty")) as source:
        assert source.read() == b""


def test_errors_name_the_path_the_reason_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing can't be read .No such file.*: check the path"):
        STORAGE.read(str(tmp_path / "missing"))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="a part of this path is a file"):
        STORAGE.create(str(tmp_path / "file" / "below"), b"x")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_it_pickles_by_value() -> None:
    assert isinstance(pickle.loads(pickle.dumps(STORAGE)), LocalStorage)


def test_only_an_empty_directory_is_removed(tmp_path: Path) -> None:
    storage, folder = LocalStorage(), tmp_path / "p"
    storage.create(f"{folder}/file", b"x")
    assert not storage.remove_empty_directory(str(folder))
    assert (folder / "file").read_bytes() == b"x"
    storage.delete(f"{folder}/file")
    assert storage.remove_empty_directory(str(folder))
    assert not folder.exists()
    assert storage.remove_empty_directory(str(folder))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError):
        storage.remove_empty_directory(str(tmp_path / "file"))


@pytest.mark.parametrize("data", [b"", b"data"])
def test_a_file_is_made_though_its_folder_is_taken_away_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    made = os.makedirs
    taken = []

    def makedirs(path: str, exist_ok: bool = False) -> None:
        """What a clean in another process does at the worst moment, once."""
        made(path, exist_ok=exist_ok)
        if not taken:
            taken.append(path)
            os.rmdir(path)

    monkeypatch.setattr(os, "makedirs", makedirs)
    LocalStorage().create(str(tmp_path / "p" / "file"), data)
    assert (tmp_path / "p" / "file").read_bytes() == data
    assert taken == [str(tmp_path / "p")]


def test_a_replacement_is_forced_to_the_disk_unless_its_loss_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def counted(descriptor: int) -> None:
        synced.append(descriptor)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    storage = LocalStorage()
    path = f"{tmp_path}/.hoodie/hoodie.properties"
    for durable, times in ((False, 0), (True, 2)):
        synced.clear()
        for data in (b"one", b"another"):
            storage.replace(path, data, durable=durable)
        assert (storage.read(path), len(synced)) == (b"another", 2 * times)


def test_data_files_are_forced_with_their_names_unless_the_storage_is_relaxed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    real = {"fsync": os.fsync, "fdatasync": os.fdatasync}
    for name in real:

        def counted(descriptor: int, name: str = name) -> None:
            real[name](descriptor)
            forced.append(os.readlink(f"/proc/self/fd/{descriptor}").removeprefix(str(tmp_path)))

        monkeypatch.setattr(os, name, counted)
    path = f"{tmp_path}/p/base"
    with STORAGE.open_output(path) as sink:
        sink.write(b"x")
    STORAGE.sync([path])
    assert forced == ["", "/p/base", "/p"]  # that of the new folder is in the one around it
    forced.clear()
    marker = f"{tmp_path}/.hoodie/.temp/1/p/base.marker.CREATE"
    STORAGE.create(marker, b"", durable=False)
    assert forced == ["/.hoodie/.temp/1", "/.hoodie/.temp", "/.hoodie", ""]  # new folders are, not the file's name
    forced.clear()
    STORAGE.sync([path], [marker])
    assert forced == ["/p/base", "/.hoodie/.temp/1/p", "/p"]  # the marker's name before the file's
    forced.clear()
    STORAGE.create(f"{tmp_path}/p/log", b"x")
    assert len(forced) == 2
    forced.clear()
    STORAGE.create(f"{tmp_path}/p/log1", b"x", durable=False)
    assert forced == []
    relaxed = pickle.loads(pickle.dumps(STORAGE.relaxed()))
    relaxed.create(f"{tmp_path}/p/log2", b"x")
    relaxed.create(f"{tmp_path}/.hoodie/.temp/2/p/base.marker.CREATE", b"")
    relaxed.sync([path], [marker])
    assert forced == []


def test_a_file_is_no_folder_and_what_a_dying_call_leaves_is_known_by_its_name(tmp_path: Path) -> None:
    STORAGE.create(f"{tmp_path}/p/file", b"x")
    assert [STORAGE.has_folder(f"{tmp_path}/{one}") for one in ("p", "p/file", "q")] == [True, False, False]
    left = Path(_write_temporary(f"{tmp_path}/p/file", b"new", synced=False)).name
    assert STORAGE.is_unpublished(left)
    assert not STORAGE.is_unpublished("file")


def test_the_guard_of_a_lock_stands_where_it_says(tmp_path: Path) -> None:
    lock = f"{tmp_path}/lock"
    with STORAGE.while_alone(lock, "a test"):
        assert [str(one) for one in tmp_path.iterdir()] == [STORAGE.guard_of(lock)]
