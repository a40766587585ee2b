"""Which logs are looked into for keys that no base file has."""

from __future__ import annotations

import pytest

from spark_jobs.core.index.logged_inserts import slices_with_logged_inserts
from spark_jobs.core.timeline.write_stat import WriteStat
from tests.support.folder import Folder
from tests.unit.core.support import complete, file_slice, new_table, start

pytestmark = pytest.mark.unit

BUCKET = "00000003-4610-8bcd-f1b2-416c0178aaaa-0"
FIRST, SECOND = "20240101000000000", "20240102000000000"


def appended(file_id: str, inserts: int, base_file: str = "f.parquet") -> WriteStat:
    """By the first log of a slice that began with the first commit."""
    return WriteStat(
        file_id=file_id,
        path=file_slice(file_id, FIRST, None, 5).log_files[0].relative_path,
        partition_path="a",
        num_inserts=inserts,
        log_version=1,
        base_file=base_file,
    )


def test_those_that_may_have_such_keys(root: Folder) -> None:
    table = new_table(root / "t")
    complete(table, start(table, FIRST), [])
    complete(table, start(table, SECOND), [appended("updated", 0), appended("inserted", 4), appended("early", 0, "")])
    slices = {
        1: file_slice("bare", FIRST, 10),
        2: file_slice("log alone", FIRST, None, 5),
        3: file_slice(BUCKET, FIRST, 10, 5),
        4: file_slice("updated", FIRST, 10, 5),
        5: file_slice("inserted", FIRST, 10, 5),
        6: file_slice("inserted", FIRST, 10, 5, partition="b"),
        7: file_slice("early", FIRST, 10, 5),
    }
    table = table.refreshed()
    assert sorted(slices_with_logged_inserts(slices, table.timeline, table.clock)) == [2, 3, 5, 7]
    assert slices_with_logged_inserts({1: slices[1]}, table.timeline, table.clock) == {}


def test_a_log_whose_commit_is_archived_can_have_any_key(root: Folder) -> None:
    table = new_table(root / "t")
    complete(table, start(table, SECOND), [appended("updated", 0)])
    archive = root / "t" / ".hoodie" / "archived" / ".commits_.archive.1_1-0-1"
    archive.write_bytes(b"what it holds is not looked at")
    slices = {1: file_slice("updated", FIRST, 10, 5), 2: file_slice("updated", FIRST, 10, 5, 5)}
    table = table.refreshed()
    assert sorted(slices_with_logged_inserts(slices, table.timeline, table.clock)) == [2]
