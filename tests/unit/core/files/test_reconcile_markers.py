"""Files of other attempts go before a publish; a commit that names what no marker names is not published."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.markers import create_marker, delete_unnamed, reconcile_markers
from spark_jobs.core.files.names import MarkerType
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

KEPT, STRAY = "a/kept_0-0-1_5.parquet", "a/stray_0-0-2_5.parquet"


@pytest.fixture
def base(root: Folder) -> Folder:
    """A table's folder with two files and their markers."""
    for path in (KEPT, STRAY):
        partition, name = path.split("/")
        create_marker(root.storage, str(root), "5", partition, name, MarkerType.CREATE)
        root.storage.create(f"{root}/{path}", b"")
    return root


def files(base: Folder) -> set[str]:
    return {one.name for one in (base / "a").iterdir()}


def test_what_the_commit_does_not_name_goes(base: Folder) -> None:
    assert reconcile_markers(base.storage, str(base), "5", frozenset({KEPT})) == [STRAY]
    assert files(base) == {"kept_0-0-1_5.parquet"}


def test_nothing_goes_where_a_file_of_the_commit_has_no_marker(base: Folder) -> None:
    unmarked = frozenset({KEPT, "/a/stray_0-0-2_5.parquet"})
    with pytest.raises(CorruptTableError, match=r"wrote /a/stray_0-0-2_5\.parquet, of which it has no marker"):
        reconcile_markers(base.storage, str(base), "5", unmarked)
    assert len(files(base)) == 2


def test_markers_that_are_left_of_a_past_instant_need_not_be_all(base: Folder) -> None:
    assert delete_unnamed(base.storage, str(base), "5", frozenset({KEPT, "b/swept_0-0-1_5.parquet"})) == [STRAY]
