"""Files of other attempts go before a publish; a commit that names what no marker names is not published."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.markers import create_marker, delete_unnamed, reconcile_markers
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.storage import LocalStorage

pytestmark = pytest.mark.unit

STORAGE = LocalStorage()
KEPT, STRAY = "a/kept_0-0-1_5.parquet", "a/stray_0-0-2_5.parquet"


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A table's folder with two files and their markers."""
    for path in (KEPT, STRAY):
        create_marker(STORAGE, str(tmp_path), "5", *path.split("/"), MarkerType.CREATE)
        STORAGE.create(f"{tmp_path}/{path}", b"")
    return str(tmp_path)


def files(base: str) -> set[str]:
    return {status.name for status in STORAGE.list(f"{base}/a")}


def test_what_the_commit_does_not_name_goes(base: str) -> None:
    assert reconcile_markers(STORAGE, base, "5", frozenset({KEPT})) == [STRAY]
    assert files(base) == {"kept_0-0-1_5.parquet"}


def test_nothing_goes_where_a_file_of_the_commit_has_no_marker(base: str) -> None:
    unmarked = frozenset({KEPT, "/a/stray_0-0-2_5.parquet"})
    with pytest.raises(CorruptTableError, match=r"wrote /a/stray_0-0-2_5\.parquet, of which it has no marker"):
        reconcile_markers(STORAGE, base, "5", unmarked)
    assert len(files(base)) == 2


def test_markers_that_are_left_of_a_past_instant_need_not_be_all(base: str) -> None:
    assert delete_unnamed(STORAGE, base, "5", frozenset({KEPT, "b/swept_0-0-1_5.parquet"})) == [STRAY]
