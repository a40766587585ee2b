"""A timeline without hoodie.properties: a table that lost them, and no place for a new one."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import CorruptTableError, TableNotFoundError
from tests.support.folder import Folder
from tests.unit.core.support import HandClock, new_table

pytestmark = pytest.mark.unit

LOST = r"hoodie\.properties is missing, while there is a timeline \(1 files such as 20240101000000001.*restore it"


@pytest.mark.parametrize(
    "name", ["20240101000000001.commit", "20240101000000001.inflight", "timeline/20240101000000001_2.deltacommit"]
)
def test_a_table_that_lost_its_properties_is_neither_opened_nor_made_anew(root: Folder, name: str) -> None:
    meta = root / "t" / ".hoodie"
    new_table(root / "t")
    (meta / "hoodie.properties").unlink()
    (meta / name).parent.mkdir(exist_ok=True)
    (meta / name).touch()
    with pytest.raises(CorruptTableError, match=LOST):
        (root / "t").by(HandClock()).table()
    with pytest.raises(CorruptTableError, match=LOST):
        new_table(root / "t")
    assert not (meta / "hoodie.properties").exists()


def test_folders_alone_are_no_table_and_no_hindrance(root: Folder) -> None:
    new_table(root / "t")
    (root / "t" / ".hoodie" / "hoodie.properties").unlink()
    with pytest.raises(TableNotFoundError):
        (root / "t").by(HandClock()).table()
    new_table(root / "t")
