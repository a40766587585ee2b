"""The partitions of a table and the files in them, by one listing or by one of each folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.storage import FileStatus
from spark_jobs.core.view.listing import StorageListing
from tests.support.folder import Folder, folder_of
from tests.support.through import Through

pytestmark = pytest.mark.unit
META = ".hoodie_partition_metadata"
Found = dict[str, dict[str, int]]


def put(root: Folder, files: Mapping[str, int]) -> None:
    for path, size in files.items():
        (root / path).parent.mkdir()
        (root / path).write_bytes(bytes(size))


def both_ways(root: Folder) -> tuple[tuple[Found, list[str]], tuple[Found, list[str]]]:
    """What one listing says and what a listing of each folder says: files by partition, and folders that are none."""
    told: list[list[str]] = [[], []]
    at_once, each = (
        StorageListing(root.storage, str(root), unmarked=lambda folder, names, to=to: to.append(f"{folder}:{names}"))
        for to in told
    )
    whole = {partition: dict(zip(names, sizes, strict=True)) for partition, names, sizes in at_once.all_names()}
    parts = {one: dict(zip(names, sizes, strict=True)) for one, names, sizes in each.names(each.partitions())}
    return (whole, sorted(told[0])), (parts, sorted(told[1]))


def test_partitions_and_what_is_none(root: Folder) -> None:
    put(
        root,
        {
            f"a/{META}": 5,
            "a/f_0-0-0_1.parquet": 7,
            f"a/inner/{META}": 5,
            "a/inner/f_0-0-0_1.parquet": 7,
            f"b/c/{META}.parquet": 3,
            "b/c/.g_1.log.1_0-0-0": 2,
            "b/d/notes.txt": 1,
            ".hoodie/1.commit": 4,
            ".hoodie/metadata/files/.hoodie_partition_metadata": 4,
        },
    )
    whole, parts = both_ways(root)
    assert whole == parts
    assert whole[0] == {
        "a": {META: 5, "f_0-0-0_1.parquet": 7},
        "b/c": {f"{META}.parquet": 3, ".g_1.log.1_0-0-0": 2},
    }
    assert whole[1] == ["b/d:['notes.txt']"]


def test_a_table_without_partitions(root: Folder) -> None:
    put(root, {META: 5, "f_0-0-0_1.parquet": 7, f"a/{META}": 5, ".hoodie/1.commit": 4})
    whole, parts = both_ways(root)
    assert whole == parts == ({"": {META: 5, "f_0-0-0_1.parquet": 7}}, [])


def test_an_empty_object_may_stand_for_a_folder(tmp_path: Path) -> None:
    root = folder_of("object_store", tmp_path)
    put(root, {f"a/b/{META}": 5, "a": 0, "a/b": 0})
    assert both_ways(root)[0] == ({"a/b": {META: 5}}, [])


def test_a_store_is_asked_once(root: Folder) -> None:
    class Counting(Through):
        lists = 0

        def list(self, path: str) -> list[FileStatus]:
            self.lists += 1
            return self.inner.list(path)

    put(root, {f"{number}/{META}": 1 for number in range(7)})
    storage = Counting(root.storage)
    found = {partition for partition, _, _ in StorageListing(storage, str(root)).all_names()}
    assert found == set("0123456")
    assert storage.lists == (0 if storage.capabilities.ordered else 1 + 7 + 7)


FOLDERS = st.lists(st.sampled_from("abc"), max_size=3)
NAMES = st.sampled_from(["a", META, f"{META}.orc", "f_0-0-0_1.parquet", "x.txt"])
PATHS = st.builds(lambda folders, name: "/".join([*folders, name]), FOLDERS, NAMES)


@settings(max_examples=60, deadline=None)
@given(paths=st.lists(PATHS, max_size=12, unique=True))
def test_one_listing_says_what_those_of_all_folders_say(
    tmp_path_factory: pytest.TempPathFactory, paths: Sequence[str]
) -> None:
    files = [one for one in paths if not any(other.startswith(f"{one}/") for other in paths)]
    root = folder_of("object_store", tmp_path_factory.mktemp("tree"))
    put(root, dict.fromkeys(files, 1))
    whole, parts = both_ways(root)
    assert whole == parts
