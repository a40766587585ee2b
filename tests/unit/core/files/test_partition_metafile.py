"""Metafiles make folders into partitions; a partition in another one would be lost to every listing."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.files.partition_metafile import (
    ensure_partition_metafile,
    list_partitions,
    refuse_partitions_around,
)
from tests.support.folder import Folder
from tests.support.through import Through

pytestmark = pytest.mark.unit


def make(base: Folder, *partitions: str) -> None:
    for partition in partitions:
        ensure_partition_metafile(base.storage, str(base), partition, "1")


def test_partitions_beside_each_other(root: Folder) -> None:
    make(root, "a/b", "a/c", "d", "d")
    assert list_partitions(root.storage, str(root)) == ["a/b", "a/c", "d"]


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_metafile_of_another_form_makes_a_partition_too(root: Folder, form: str) -> None:
    """By ``hoodie.partition.metafile.use.base.format``; what it holds, nobody asks."""
    (root / "a").mkdir()
    (root / "a" / f".hoodie_partition_metadata.{form}").touch()
    make(root, "a", "b")
    assert list_partitions(root.storage, str(root)) == ["a", "b"]
    assert [one.name for one in (root / "a").iterdir()] == [f".hoodie_partition_metadata.{form}"]
    with pytest.raises(BadRecordError, match="'a/c' lies inside partition 'a'"):
        make(root, "a/c")


@pytest.mark.parametrize(
    ("there", "new", "message"),
    [
        ("a", "a/b", "partition 'a/b' lies inside partition 'a'"),
        ("a", "a/b/c", "partition 'a/b/c' lies inside partition 'a'"),
        ("a/b/c", "a", "partition 'a/b/c' lies inside partition 'a'"),
        ("", "a", "partition 'a' lies inside partition ''"),
        ("a", "", "partition 'a' lies inside partition ''"),
    ],
)
def test_a_partition_in_or_around_another_is_refused(root: Folder, there: str, new: str, message: str) -> None:
    make(root, there)
    with pytest.raises(BadRecordError, match=message):
        make(root, new)
    assert list_partitions(root.storage, str(root)) == [there]


class Racing(Through):
    """A storage on which another writer makes partition ``a/b`` right after this one made the metafile of ``a``."""

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(path, data, durable=durable)
        base, _, made = path.rpartition("/a/")
        if made == ".hoodie_partition_metadata":
            self.inner.create(f"{base}/a/b/.hoodie_partition_metadata", data)


def test_of_two_that_make_them_at_once_the_outer_one_goes(root: Folder) -> None:
    with pytest.raises(BadRecordError, match="lies inside"):
        ensure_partition_metafile(Racing(root.storage), str(root), "a", "1")
    assert list_partitions(root.storage, str(root)) == ["a/b"]


def test_what_is_published_lies_in_no_other_partition(root: Folder) -> None:
    make(root, "a/b", "c/d")
    refuse_partitions_around(root.storage, str(root), ["a/b", "c/d"])
    (root / "c" / ".hoodie_partition_metadata").touch()
    with pytest.raises(BadRecordError, match="'c/d' lies inside partition 'c'"):
        refuse_partitions_around(root.storage, str(root), ["a/b", "c/d"])
