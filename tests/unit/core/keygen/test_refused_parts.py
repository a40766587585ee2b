"""Partition values whose folder would be another one than their rows, markers and commit say."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.keygen.keys import partition_paths
from spark_jobs.core.keygen.spec import KeySpec

pytestmark = pytest.mark.unit

EMPTY, OWN = "has an empty path part", r"has \.hoodie as a path part"


def paths(value: str, **options: bool) -> list[str]:
    spec = KeySpec.of(("id",), ("p",), **{"hive_style": False, "url_encode": False, **options})
    found: list[str] = partition_paths(pa.table({"id": ["1"], "p": [value]}), spec).to_pylist()
    return found


@pytest.mark.parametrize(
    ("value", "why"),
    [("/us", EMPTY), ("us/", EMPTY), ("x//y", EMPTY), ("/", EMPTY), (".hoodie", OWN), ("a/.hoodie/b", OWN)],
)
def test_they_are_refused(value: str, why: str) -> None:
    with pytest.raises(BadRecordError, match=f"column p {why}.*urlencode"):
        paths(value)


def test_they_are_one_folder_where_values_are_encoded_and_behind_a_column_name() -> None:
    assert paths("/us", url_encode=True) == ["%2Fus"]
    assert paths("x//y", url_encode=True) == ["x%2F%2Fy"]
    assert paths(".hoodie", hive_style=True) == ["p=.hoodie"]
    assert paths("us/ca") == ["us/ca"]


def test_a_whole_path_with_the_name_of_the_list_of_partitions() -> None:
    with pytest.raises(BadRecordError, match=r"column p is __all_partitions__.*hive_style_partitioning"):
        paths("__all_partitions__")
    assert paths("__all_partitions__", hive_style=True) == ["p=__all_partitions__"]
    assert paths("__all_partitions__/a") == ["__all_partitions__/a"]
    two = KeySpec.of(("id",), ("p", "q"), hive_style=False, url_encode=False)
    rows = pa.table({"id": ["1"], "p": ["__all_partitions__"], "q": ["a"]})
    assert partition_paths(rows, two).to_pylist() == ["__all_partitions__/a"]


@pytest.mark.parametrize("value", ["a\0", "\n", "a\nb", "a/b\r"])
def test_what_no_file_or_no_line_of_markers_can_hold(value: str) -> None:
    """Whatever kind of markers a write has; Hudi reads a carriage return as the end of a line, too."""
    for hive_style in (True, False):
        with pytest.raises(BadRecordError, match=r"column p has a line break or a NUL character in it: .*urlencode"):
            paths(value, hive_style=hive_style)
    assert paths("a\n\0", url_encode=True) == ["a%0A%00"]


def test_folder_names_that_are_too_long() -> None:
    whole = "a" * 255
    for value, options in [
        (whole + "a", {}),
        (f"x/{whole}a", {}),
        ("ü" * 128, {}),
        (whole, {"hive_style": True}),
        ("/" * 86, {"url_encode": True}),
    ]:
        with pytest.raises(BadRecordError, match="column p makes a folder name of more than 255 bytes: shorten it"):
            paths(value, **options)
    assert paths(whole) == [whole]
    assert paths(f"{whole}/{whole}") == [f"{whole}/{whole}"]
