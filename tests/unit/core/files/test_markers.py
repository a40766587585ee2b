"""Markers on storage: direct ones, batches as Hudi's timeline server leaves them, and batches of our own."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from spark_jobs.core.errors import AlreadyExistsError, OutsideTableError, StorageError
from spark_jobs.core.files.marker_batches import MarkerBatches, MarkerRequest
from spark_jobs.core.files.markers import (
    create_marker,
    delete_markers,
    has_markers,
    marker_folder,
    read_markers,
    reconcile_markers,
)
from spark_jobs.core.files.names import Marker, MarkerType, parse_marker
from tests.support.folder import Folder, file_at
from tests.support.through import Through

pytestmark = pytest.mark.unit

T = "20240506070809123"


def folder_of(table: Folder) -> Folder:
    return file_at(table.storage, marker_folder(str(table), T))


def put(table: Folder, **files: str) -> None:
    folder_of(table).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder_of(table) / name.replace("_type", ".type")).write_text(text)


def paths(table: Folder) -> list[str]:
    return sorted(marker.relative_path for marker in read_markers(table.storage, str(table), T) or [])


def request(name: str, number: str = "") -> MarkerRequest:
    marker = parse_marker(name)
    assert marker is not None
    return MarkerRequest(marker=marker, number=number or name)


def test_no_folder_is_not_the_same_as_no_markers(root: Folder) -> None:
    assert read_markers(root.storage, str(root), T) is None
    put(root)
    assert read_markers(root.storage, str(root), T) == ([] if root.has_folders else None)  # a store has no empty folder
    put(root, MARKERS_type="")
    assert read_markers(root.storage, str(root), T) == []


def test_what_a_connector_left_for_a_folder_is_no_marker(root: Folder) -> None:
    if root.has_a_path_once:
        pytest.skip("where there are folders, none stands for one")
    put(root, a="")
    assert not has_markers(root.storage, str(root), T)
    assert read_markers(root.storage, str(root), T) is None
    create_marker(root.storage, str(root), T, "a", "f_0-1-1_1.parquet", MarkerType.CREATE)
    assert has_markers(root.storage, str(root), T)


def test_direct_markers(root: Folder) -> None:
    for partition, name, kind in (
        ("a", "f_0-1-1_1.parquet", MarkerType.CREATE),
        ("x/y", ".g_1.log.1_0-1-1", MarkerType.APPEND),
        ("", "h_0-1-1_1.parquet", MarkerType.MERGE),
    ):
        create_marker(root.storage, str(root), T, partition, name, kind)
    with pytest.raises(AlreadyExistsError):
        create_marker(root.storage, str(root), T, "a", "f_0-1-1_1.parquet", MarkerType.CREATE)
    assert paths(root) == [
        "a/f_0-1-1_1.parquet.marker.CREATE",
        "h_0-1-1_1.parquet.marker.MERGE",
        "x/y/.g_1.log.1_0-1-1.marker.APPEND",
    ]


def test_batches_as_hudi_leaves_them(root: Folder) -> None:
    put(
        root,
        MARKERS_type="TIMELINE_SERVER_BASED",
        MARKERS0="a/f_0-1-1_1.parquet.marker.CREATE\na/g_0-1-1_1.parquet.marker.MERGE\n",
        MARKERS14="zz/1/.h_1.log.2_0-119-158.marker.APPEND\n",
    )
    assert paths(root) == [
        "a/f_0-1-1_1.parquet.marker.CREATE",
        "a/g_0-1-1_1.parquet.marker.MERGE",
        "zz/1/.h_1.log.2_0-119-158.marker.APPEND",
    ]


def test_what_a_dead_server_left_half_written(root: Folder) -> None:
    """A line that is cut was never answered, so its file does not exist; the type file may be empty."""
    put(root, MARKERS_type="", MARKERS3="a/f_0-1-1_1.parquet.marker.CREATE\na/g_0-1-1_1.parquet.mark")
    (folder_of(root) / "MARKERS4").write_bytes(b"a/h_0-1-1_1.parquet.marker.CREATE\n\xff\xfe")
    assert paths(root) == ["a/f_0-1-1_1.parquet.marker.CREATE", "a/h_0-1-1_1.parquet.marker.CREATE"]


def test_a_marker_twice_counts_once(root: Folder) -> None:
    line = "f_0-1-1_1.parquet.marker.CREATE\n"
    put(root, MARKERS_type="TIMELINE_SERVER_BASED", MARKERS0=line, MARKERS1=line)
    assert len(read_markers(root.storage, str(root), T) or []) == 1


@pytest.mark.parametrize("path", ["../../home/me/thesis.parquet", "/home/me/x", "a/..", "a//x", "a/./x"])
def test_a_marker_that_leads_out_of_the_table_is_refused(root: Folder, path: str) -> None:
    """A rollback deletes what markers name."""
    put(root, MARKERS_type="TIMELINE_SERVER_BASED", MARKERS0=f"{path}.marker.CREATE\n")
    with pytest.raises(OutsideTableError, match=rf"\.temp/{T}/MARKERS0 names '{re.escape(path)}'"):
        read_markers(root.storage, str(root), T)


def test_files_of_other_attempts_are_removed(root: Folder) -> None:
    put(
        root,
        MARKERS_type="TIMELINE_SERVER_BASED",
        MARKERS0="a/f_0-1-1_1.parquet.marker.CREATE\na/f_0-1-2_1.parquet.marker.CREATE\n",
    )
    (root / "a").mkdir()
    for name in ("f_0-1-1_1.parquet", "f_0-1-2_1.parquet"):
        (root / "a" / name).touch()
    gone = reconcile_markers(root.storage, str(root), T, frozenset({"a/f_0-1-2_1.parquet"}))
    assert gone == ["a/f_0-1-1_1.parquet"]
    delete_markers(root.storage, str(root), T)
    assert read_markers(root.storage, str(root), T) is None


def test_our_batches_are_as_hudis(root: Folder) -> None:
    batches = MarkerBatches(root.storage, str(folder_of(root)), 2)
    names = [f"p/f{number}_0-1-1_1.parquet.marker.CREATE" for number in range(4)]
    assert batches.add([request(names[0]), request(names[1])]) == [True, True]
    assert batches.add([request(names[2])]) == [True]
    assert batches.add([request(names[3])]) == [True]
    content = {file.name: file.read_text() for file in folder_of(root).iterdir()}
    assert content == {
        "MARKERS.type": "TIMELINE_SERVER_BASED",
        "MARKERS0": f"{names[0]}\n{names[1]}\n{names[3]}\n",
        "MARKERS1": f"{names[2]}\n",
    }


def test_one_of_two_gets_a_marker_and_may_ask_again(root: Folder) -> None:
    batches = MarkerBatches(root.storage, str(folder_of(root)), 3)
    name = "f_0-1-1_1.parquet.marker.CREATE"
    assert batches.add([request(name, "first"), request(name, "second")]) == [True, False]
    assert batches.add([request(name, "second")]) == [False]
    assert batches.add([request(name, "first")]) == [True]
    assert paths(root) == [name]


def test_many_threads_lose_no_marker(root: Folder) -> None:
    batches = MarkerBatches(root.storage, str(folder_of(root)), 4)
    names = [f"p{number % 3}/f{number}_0-1-1_1.parquet.marker.CREATE" for number in range(60)]

    def add(name: str) -> None:
        assert batches.add([request(name)]) == [True]
        assert name in paths(root)  # it is on storage when the answer comes

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, names))
    assert paths(root) == sorted(names)


class Full(Through):
    """A storage that can be out of space."""

    is_full = False

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if self.is_full:
            raise StorageError(f"{path} can't be written (no space left)", path=path)
        self.inner.replace(path, data, durable=durable)


def test_a_file_that_can_not_be_written_is_free_again(root: Folder) -> None:
    storage = Full(root.storage)
    batches = MarkerBatches(storage, str(folder_of(root)), 1)
    batches.add([request("a_0-1-1_1.parquet.marker.CREATE")])
    storage.is_full = True
    with pytest.raises(StorageError, match="no space left"):
        batches.add([request("b_0-1-1_1.parquet.marker.CREATE")])
    storage.is_full = False
    assert batches.add([request("b_0-1-1_1.parquet.marker.CREATE")]) == [True]
    assert paths(root) == ["a_0-1-1_1.parquet.marker.CREATE", "b_0-1-1_1.parquet.marker.CREATE"]


def test_names_and_markers() -> None:
    marker = Marker("zz/1", ".h_1.log.2_0-119-158", MarkerType.APPEND)
    assert parse_marker(marker.relative_path) == marker
    assert parse_marker("/h.parquet.marker.CREATE") == Marker("", "h.parquet", MarkerType.CREATE)
