"""Markers on storage: direct ones, batches as Hudi's timeline server leaves them, and batches of our own."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spark_jobs.core.errors import AlreadyExistsError, OutsideTableError, StorageError
from spark_jobs.core.files.marker_batches import MarkerBatches, MarkerRequest
from spark_jobs.core.files.markers import create_marker, delete_markers, marker_folder, read_markers, reconcile_markers
from spark_jobs.core.files.names import Marker, MarkerType, parse_marker
from spark_jobs.core.storage import LocalStorage

pytestmark = pytest.mark.unit

STORAGE = LocalStorage()
T = "20240506070809123"


def folder_of(table: Path) -> Path:
    return Path(marker_folder(str(table), T))


def put(table: Path, **files: str) -> None:
    folder_of(table).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder_of(table) / name.replace("_type", ".type")).write_text(text)


def paths(table: Path) -> list[str]:
    return sorted(marker.relative_path for marker in read_markers(STORAGE, str(table), T) or [])


def request(name: str, number: str = "") -> MarkerRequest:
    marker = parse_marker(name)
    assert marker is not None
    return MarkerRequest(marker=marker, number=number or name)


def test_no_folder_is_not_the_same_as_no_markers(tmp_path: Path) -> None:
    assert read_markers(STORAGE, str(tmp_path), T) is None
    put(tmp_path)
    assert read_markers(STORAGE, str(tmp_path), T) == []


def test_direct_markers(tmp_path: Path) -> None:
    for partition, name, kind in (
        ("a", "f_0-1-1_1.parquet", MarkerType.CREATE),
        ("x/y", ".g_1.log.1_0-1-1", MarkerType.APPEND),
        ("", "h_0-1-1_1.parquet", MarkerType.MERGE),
    ):
        create_marker(STORAGE, str(tmp_path), T, partition, name, kind)
    with pytest.raises(AlreadyExistsError):
        create_marker(STORAGE, str(tmp_path), T, "a", "f_0-1-1_1.parquet", MarkerType.CREATE)
    assert paths(tmp_path) == [
        "a/f_0-1-1_1.parquet.marker.CREATE",
        "h_0-1-1_1.parquet.marker.MERGE",
        "x/y/.g_1.log.1_0-1-1.marker.APPEND",
    ]


def test_batches_as_hudi_leaves_them(tmp_path: Path) -> None:
    put(
        tmp_path,
        MARKERS_type="TIMELINE_SERVER_BASED",
        MARKERS0="a/f_0-1-1_1.parquet.marker.CREATE\na/g_0-1-1_1.parquet.marker.MERGE\n",
        MARKERS14="zz/1/.h_1.log.2_0-119-158.marker.APPEND\n",
    )
    assert paths(tmp_path) == [
        "a/f_0-1-1_1.parquet.marker.CREATE",
        "a/g_0-1-1_1.parquet.marker.MERGE",
        "zz/1/.h_1.log.2_0-119-158.marker.APPEND",
    ]


def test_what_a_dead_server_left_half_written(tmp_path: Path) -> None:
    """A line that is cut was never answered, so its file does not exist; the type file may be empty."""
    put(tmp_path, MARKERS_type="", MARKERS3="a/f_0-1-1_1.parquet.marker.CREATE\na/g_0-1-1_1.parquet.mark")
    (folder_of(tmp_path) / "MARKERS4").write_bytes(b"a/h_0-1-1_1.parquet.marker.CREATE\n\xff\xfe")
    assert paths(tmp_path) == ["a/f_0-1-1_1.parquet.marker.CREATE", "a/h_0-1-1_1.parquet.marker.CREATE"]


def test_a_marker_twice_counts_once(tmp_path: Path) -> None:
    line = "f_0-1-1_1.parquet.marker.CREATE\n"
    put(tmp_path, MARKERS_type="TIMELINE_SERVER_BASED", MARKERS0=line, MARKERS1=line)
    assert len(read_markers(STORAGE, str(tmp_path), T) or []) == 1


@pytest.mark.parametrize("path", ["../../home/me/thesis.parquet", "/home/me/x", "a/..", "a//x", "a/./x"])
def test_a_marker_that_leads_out_of_the_table_is_refused(tmp_path: Path, path: str) -> None:
    """A rollback deletes what markers name."""
    put(tmp_path, MARKERS_type="TIMELINE_SERVER_BASED", MARKERS0=f"{path}.marker.CREATE\n")
    with pytest.raises(OutsideTableError, match=rf"\.temp/{T}/MARKERS0 names '{re.escape(path)}'"):
        read_markers(STORAGE, str(tmp_path), T)


def test_files_of_other_attempts_are_removed(tmp_path: Path) -> None:
    put(
        tmp_path,
        MARKERS_type="TIMELINE_SERVER_BASED",
        MARKERS0="a/f_0-1-1_1.parquet.marker.CREATE\na/f_0-1-2_1.parquet.marker.CREATE\n",
    )
    (tmp_path / "a").mkdir()
    for name in ("f_0-1-1_1.parquet", "f_0-1-2_1.parquet"):
        (tmp_path / "a" / name).touch()
    gone = reconcile_markers(STORAGE, str(tmp_path), T, frozenset({"a/f_0-1-2_1.parquet"}))
    assert gone == ["a/f_0-1-1_1.parquet"]
    delete_markers(STORAGE, str(tmp_path), T)
    assert read_markers(STORAGE, str(tmp_path), T) is None


def test_our_batches_are_as_hudis(tmp_path: Path) -> None:
    batches = MarkerBatches(STORAGE, str(folder_of(tmp_path)), 2)
    names = [f"p/f{number}_0-1-1_1.parquet.marker.CREATE" for number in range(4)]
    assert batches.add([request(names[0]), request(names[1])]) == [True, True]
    assert batches.add([request(names[2])]) == [True]
    assert batches.add([request(names[3])]) == [True]
    content = {file.name: file.read_text() for file in folder_of(tmp_path).iterdir()}
    assert content == {
        "MARKERS.type": "TIMELINE_SERVER_BASED",
        "MARKERS0": f"{names[0]}\n{names[1]}\n{names[3]}\n",
        "MARKERS1": f"{names[2]}\n",
    }


def test_one_of_two_gets_a_marker_and_may_ask_again(tmp_path: Path) -> None:
    batches = MarkerBatches(STORAGE, str(folder_of(tmp_path)), 3)
    name = "f_0-1-1_1.parquet.marker.CREATE"
    assert batches.add([request(name, "first"), request(name, "second")]) == [True, False]
    assert batches.add([request(name, "second")]) == [False]
    assert batches.add([request(name, "first")]) == [True]
    assert paths(tmp_path) == [name]


def test_many_threads_lose_no_marker(tmp_path: Path) -> None:
    batches = MarkerBatches(STORAGE, str(folder_of(tmp_path)), 4)
    names = [f"p{number % 3}/f{number}_0-1-1_1.parquet.marker.CREATE" for number in range(60)]

    def add(name: str) -> None:
        assert batches.add([request(name)]) == [True]
        assert name in paths(tmp_path)  # it is on storage when the answer comes

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, names))
    assert paths(tmp_path) == sorted(names)


def test_a_file_that_can_not_be_written_is_free_again(tmp_path: Path) -> None:
    batches = MarkerBatches(STORAGE, str(folder_of(tmp_path)), 1)
    batches.add([request("a_0-1-1_1.parquet.marker.CREATE")])
    blocked = folder_of(tmp_path) / "MARKERS0"
    blocked.unlink()
    blocked.mkdir()
    (blocked / "in the way").touch()
    with pytest.raises(StorageError):
        batches.add([request("b_0-1-1_1.parquet.marker.CREATE")])
    (blocked / "in the way").unlink()
    blocked.rmdir()
    assert batches.add([request("b_0-1-1_1.parquet.marker.CREATE")]) == [True]
    assert paths(tmp_path) == ["a_0-1-1_1.parquet.marker.CREATE", "b_0-1-1_1.parquet.marker.CREATE"]


def test_names_and_markers() -> None:
    marker = Marker("zz/1", ".h_1.log.2_0-119-158", MarkerType.APPEND)
    assert parse_marker(marker.relative_path) == marker
    assert parse_marker("/h.parquet.marker.CREATE") == Marker("", "h.parquet", MarkerType.CREATE)
