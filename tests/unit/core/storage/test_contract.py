"""What every storage keeps of the protocol: local disks, a store of objects in memory, and servers where there are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
NAMES = ["a b", "c%20d", "ü", "p=1+2", "#x?y", ".hidden", "_temporary", "2026-01-01 00:00:00", "x'y\"z", "a&b;c"]


def test_what_is_created_is_whole_and_created_once(root: Folder) -> None:
    storage, path = root.storage, str(root / "a" / "file")
    storage.create(path, b"one")
    with pytest.raises(AlreadyExistsError):
        storage.create(path, b"two")
    assert storage.read(path) == b"one"
    storage.replace(path, b"three")
    assert storage.read(path) == b"three"


def test_of_many_that_create_or_replace_one_wins(root: Folder) -> None:
    storage, path = root.storage, str(root / "file")

    def wins(change: Callable[[bytes], None], number: int) -> bool:
        try:
            change(str(number).encode())
        except (AlreadyExistsError, EtagMismatchError):
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(lambda number: wins(lambda data: storage.create(path, data), number), range(8)))
        assert created.count(True) == 1
        assert storage.read(path) == str(created.index(True)).encode()
        status = storage.stat(path)
        assert status is not None
        etag = status.etag
        replaced = list(
            pool.map(lambda number: wins(lambda data: storage.replace_if(path, data, etag), number), range(8, 16))
        )
    assert replaced.count(True) == 1
    assert storage.read(path) == str(8 + replaced.index(True)).encode()


def test_only_the_version_that_was_read_is_replaced(root: Folder) -> None:
    storage, path = root.storage, str(root / "file")
    with pytest.raises(EtagMismatchError):
        storage.replace_if(path, b"x", "0")
    storage.create(path, b"one")
    first = storage.stat(path)
    assert first is not None
    storage.replace_if(path, b"two", first.etag)
    with pytest.raises(EtagMismatchError):
        storage.replace_if(path, b"three", first.etag)
    assert storage.read(path) == b"two"


def test_a_listing_has_the_versions_that_a_look_has(root: Folder) -> None:
    storage, path = root.storage, str(root / "a" / "file")
    storage.create(path, b"one")
    seen: list[str] = []
    for content in (b"two", b"three"):
        looked = storage.stat(path)
        assert looked is not None
        assert [one.etag for one in (*storage.list(str(root / "a")), *storage.walk(str(root)))] == [looked.etag] * 2
        seen.append(looked.etag)
        storage.replace_if(path, content, looked.etag)
    assert seen[0] != seen[1]
    listed = storage.list(str(root / "a"))[0].etag
    assert not storage.delete_if(path, seen[0])
    assert storage.delete_if(path, listed)


def test_what_several_delete_at_once_is_gone(root: Folder) -> None:
    storage, paths = root.storage, [str(root / "many" / str(number)) for number in range(40)]
    for path in paths:
        storage.create(path, b"", durable=False)
    with ThreadPoolExecutor(4) as pool:
        deleted = list(pool.map(lambda _: storage.delete_files(paths), range(4)))
    assert all(any(of_one) for of_one in zip(*deleted, strict=True))
    assert list(storage.walk(str(root))) == []


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [
        (0, None, b"0123456789"),
        (3, None, b"3456789"),
        (3, 4, b"3456"),
        (8, 9, b"89"),
        (10, 5, b""),
        (12, 1, b""),
        (0, 0, b""),
    ],
)
def test_parts_of_a_file(root: Folder, offset: int, length: int | None, expected: bytes) -> None:
    (root / "file").write_bytes(b"0123456789")
    assert root.storage.read(str(root / "file"), offset, length) == expected


def test_an_empty_file_is_one(root: Folder) -> None:
    storage, path = root.storage, str(root / "empty")
    storage.create(path, b"")
    assert storage.read(path) == b""
    with storage.open_input(path) as file:
        assert (file.size(), file.read()) == (0, b"")
    status = storage.stat(path)
    assert status is not None
    assert (status.size, status.is_directory) == (0, False)


def test_a_small_file_with_what_it_is(root: Folder) -> None:
    storage, path = root.storage, str(root / "file")
    assert storage.load(path) is None
    for data in (b"", b"0123456789"):
        storage.replace(path, data)
        found = storage.load(path)
        assert found is not None
        assert found.data == data
        assert found.status == storage.stat(path)
        (listed,) = storage.list(str(root))
        # a listing of GCS has the milliseconds of an object, other answers have its seconds
        assert replace(listed, modified_ms=found.status.modified_ms) == found.status
    cut = storage.load(path, 4)
    assert cut is not None
    assert (cut.data, cut.status.size) == (b"0123", 10)
    storage.replace_if(path, b"new", cut.status.etag)


def test_a_listed_version_is_read_and_another_after_it(root: Folder) -> None:
    storage, path = root.storage, str(root / "file")
    for data in (b"one", b"two"):
        storage.replace(path, data)
        (status,) = storage.list(str(root))
        for _ in range(2):
            assert storage.read_listed(path, status.etag) == data
            with storage.open_input(path, etag=status.etag) as file:
                assert file.read() == data
    storage.delete(path)
    with pytest.raises(StorageError, match="can't be read"):
        storage.read_listed(path, "another")


def test_files_are_removed_there_or_not(root: Folder) -> None:
    paths = [str(root / "folder" / str(number)) for number in range(12)]
    for path in paths[::2]:
        root.storage.create(path, b"1")
    root.storage.discard(paths)
    root.storage.discard([])
    assert root.storage.list(str(root / "folder")) == []


def test_what_is_missing(root: Folder) -> None:
    storage, path = root.storage, str(root / "gone" / "file")
    assert storage.stat(path) is None
    assert storage.list(str(root / "gone")) == []
    assert list(storage.walk(str(root / "gone"))) == []
    assert not storage.has_folder(str(root / "gone"))
    assert not storage.delete(path)
    assert list(storage.delete_files([path])) == [False]
    storage.delete_tree(str(root / "gone"))
    for look in (lambda: storage.read(path), lambda: storage.open_input(path)):
        with pytest.raises(StorageError, match="can't be read"):
            look()


@pytest.mark.parametrize("name", NAMES)
def test_names_are_taken_as_they_are(root: Folder, name: str) -> None:
    storage, path = root.storage, str(root / name / name)
    if root.is_hdfs and ":" in name:
        with pytest.raises(StorageError, match="HDFS has no names with `:`"):
            storage.create(path, name.encode())
        return
    storage.create(path, name.encode())
    assert storage.read(path).decode() == name
    assert [one.path for one in storage.list(str(root / name))] == [path]
    assert [one.name for one in storage.list(str(root))] == [name]
    assert [one.path for one in storage.walk(str(root))] == [path]
    assert storage.delete(path)
    assert storage.stat(path) is None


def test_a_listing_is_of_one_level_and_in_order(root: Folder) -> None:
    for name in ("b", "a/x", "a-b", "a", "c/d/e"):
        if not (root.has_a_path_once and name == "a"):
            (root / name).parent.mkdir()
            (root / name).write_bytes(name.encode())
    files = [(one.name, one.size) for one in root.storage.list(str(root)) if not one.is_directory]
    folders = [one.name for one in root.storage.list(str(root)) if one.is_directory]
    assert files == [*([] if root.has_a_path_once else [("a", 1)]), ("a-b", 3), ("b", 1)]
    assert folders == ["a", "c"]
    below = [one.path.removeprefix(f"{root}/") for one in root.storage.walk(str(root))]
    assert sorted(below) == sorted({"b", "a/x", "a-b", "c/d/e"} | (set() if root.has_a_path_once else {"a"}))


def test_a_folder_is_there_while_something_is_below(root: Folder) -> None:
    storage = root.storage
    (root / "a" / "b").mkdir()
    (root / "a" / "b" / "file").write_bytes(b"1")
    (root / "ab").mkdir()
    assert storage.has_folder(str(root / "a"))
    assert not storage.has_folder(str(root / "a" / "b" / "file"))
    storage.delete_tree(str(root / "a"))
    assert not storage.has_folder(str(root / "a"))
    assert storage.stat(str(root / "a" / "b" / "file")) is None


def test_a_folder_is_deleted_without_the_file_of_its_name(root: Folder) -> None:
    storage, names = root.storage, ["x", "b/y", "b/c/z"]
    for name in names:
        (root / "a" / name).parent.mkdir()
        (root / "a" / name).write_bytes(b"1")
    if not root.has_a_path_once:
        (root / "a").write_bytes(b"a file")
        (root / "a" / "b").write_bytes(b"1")
    storage.delete_tree(str(root / "a"))
    assert storage.remove_empty_directory(str(root / "a"))
    assert [one.path for one in storage.walk(str(root))] == ([] if root.has_a_path_once else [str(root / "a")])


def test_a_thousand_and_more_files(root: Folder) -> None:
    paths = [str(root / "many" / f"{number:04}") for number in range(1_100)]
    (root / "many").mkdir()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: root.storage.create(path, b"", durable=False), paths))
    assert [one.path for one in root.storage.list(str(root / "many"))] == paths
    assert sorted(one.path for one in root.storage.walk(str(root / "many"))) == paths
    assert list(root.storage.delete_files([*paths[:1_050], str(root / "many" / "none")])) == [True] * 1_050 + [False]
    assert [one.path for one in root.storage.list(str(root / "many"))] == paths[1_050:]


def test_data_files_are_written_and_read_in_parts(root: Folder) -> None:
    storage, path, part = root.storage, str(root / "data"), bytes(range(256)) * 4_096
    with storage.open_output(path) as file:
        for _ in range(12):
            file.write(part)
    for data in (b"", part * 12):  # said at once, with the first part of a long file, or at its end
        with pytest.raises(AlreadyExistsError), storage.open_output(path) as file:
            file.write(data)
    size = 12 * len(part)
    with storage.open_input(path) as file:
        assert file.size() == size
        for start, count in (
            (0, 10),
            (size - 10, 10),
            (5_000_000, 2_000_000),
            (5_000_100, 7),
            (size - 100_000, 100_000),
        ):
            file.seek(start)
            whole = (part * 12)[start : start + count]
            assert file.read(count) == whole
        file.seek(size - 3)
        assert file.read(100) == part[-3:]


def test_it_pickles_by_value(root: Folder) -> None:
    (root / "file").write_bytes(b"1")
    assert pickle.loads(pickle.dumps(root.storage)).read(str(root / "file")) == b"1"


def test_a_walk_may_begin_behind_a_path(root: Folder) -> None:
    names = ["a/1", "a/2", "a-b/1", "a.c", "b", "ü/1"]
    for name in names:
        root.storage.create(str(root / name), b"x")
    for after in (*names, "a", "a/", "b/0", "zz"):
        start = str(root / after) + ("/" if after.endswith("/") else "")
        found = sorted(one.path for one in root.storage.walk(str(root), start))
        assert found == sorted(path for name in names if (path := str(root / name)) > start)
