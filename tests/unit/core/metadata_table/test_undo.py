"""The delta commit of an undone write is taken back, at the price of its own logs, however many came before it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.metadata_table.commit import commits_at, undo_commit
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import Storage
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.through import Through

pytestmark = pytest.mark.unit


class _Counting(Through):
    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.opened: list[str] = []

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        self.opened.append(path)
        return self.inner.open_input(path, may_change=may_change, etag=etag)


@pytest.mark.parametrize(("which", "read"), [(3, 1), (2, 2), (0, 4)])
def test_logs_before_the_commit_are_not_read(root: Folder, which: int, read: int) -> None:
    """Those since may hold a command that took it back already."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    for number in range(4):
        local.write(path, local.batch(0, 4, "v", number), f"k{number}")
    storage = _Counting(path.storage)
    data = replace(path.table(), storage=storage)
    table = MetadataTable.open(storage, str(path), data.timeline, data.clock)
    (commit,) = commits_at(table, data.timeline.completed_commits()[which].timestamp)
    undo_commit(table, commit, "29991231235959001")
    assert len(storage.opened) == read
    timeline = table.timeline.reload()
    assert timeline.find(commit.timestamp) == ()
    (done,) = timeline.completed(Action.ROLLBACK)
    (cancelled,) = timeline.payload(done, data.clock)["partitionMetadata"]["files"]["logFilesFromFailedCommit"]
    assert cancelled == storage.opened[0]
