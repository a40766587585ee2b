"""Metafiles make folders into partitions; a partition in another one would be lost to every listing."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.files.partition_metafile import (
    ensure_partition_metafile,
    list_partitions,
    refuse_partitions_around,
)
from spark_jobs.core.storage import LocalStorage

pytestmark = pytest.mark.unit

STORAGE = LocalStorage()


def make(base: Path, *partitions: str) -> None:
    for partition in partitions:
        ensure_partition_metafile(STORAGE, str(base), partition, "1")


def test_partitions_beside_each_other(tmp_path: Path) -> None:
    make(tmp_path, "a/b", "a/c", "d", "d")
    assert list_partitions(STORAGE, str(tmp_path)) == ["a/b", "a/c", "d"]


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_metafile_of_another_form_makes_a_partition_too(tmp_path: Path, form: str) -> None:
    """By ``hoodie.partition.metafile.use.base.format``; what it holds, nobody asks."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / f".hoodie_partition_metadata.{form}").touch()
    make(tmp_path, "a", "b")
    assert list_partitions(STORAGE, str(tmp_path)) == ["a", "b"]
    assert [one.name for one in (tmp_path / "a").iterdir()] == [f".hoodie_partition_metadata.{form}"]
    with pytest.raises(BadRecordError, match="'a/c' lies inside partition 'a'"):
        make(tmp_path, "a/c")


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
def test_a_partition_in_or_around_another_is_refused(tmp_path: Path, there: str, new: str, message: str) -> None:
    make(tmp_path, there)
    with pytest.raises(BadRecordError, match=message):
        make(tmp_path, new)
    assert list_partitions(STORAGE, str(tmp_path)) == [there]


class Racing(LocalStorage):
    """Local disks on which another writer makes partition ``a/b`` right after this one made the metafile of ``a``."""

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        super().create(path, data, durable=durable)
        base, _, made = path.rpartition("/a/")
        if made == ".hoodie_partition_metadata":
            STORAGE.create(f"{base}/a/b/.hoodie_partition_metadata", data)


def test_of_two_that_make_them_at_once_the_outer_one_goes(tmp_path: Path) -> None:
    with pytest.raises(BadRecordError, match="lies inside"):
        ensure_partition_metafile(Racing(), str(tmp_path), "a", "1")
    assert list_partitions(STORAGE, str(tmp_path)) == ["a/b"]


def test_what_is_published_lies_in_no_other_partition(tmp_path: Path) -> None:
    make(tmp_path, "a/b", "c/d")
    refuse_partitions_around(STORAGE, str(tmp_path), ["a/b", "c/d"])
    (tmp_path / "c" / ".hoodie_partition_metadata").touch()
    with pytest.raises(BadRecordError, match="'c/d' lies inside partition 'c'"):
        refuse_partitions_around(STORAGE, str(tmp_path), ["a/b", "c/d"])
