"""The delta commit of an undone write is taken back, at the price of its own logs, however many came before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.metadata_table.commit import commits_at, undo_commit
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.instant import Action
from tests.faults import local_table as local

pytestmark = pytest.mark.unit


class _Counting(LocalStorage):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open_input(self, path: str, *, may_change: bool = False) -> pa.NativeFile:
        self.opened.append(path)
        return super().open_input(path, may_change=may_change)


@pytest.mark.parametrize(("which", "read"), [(3, 1), (2, 2), (0, 4)])
def test_logs_before_the_commit_are_not_read(tmp_path: Path, which: int, read: int) -> None:
    """Those since may hold a command that took it back already."""
    path = tmp_path / "t"
    local.create(path, "COPY_ON_WRITE")
    for number in range(4):
        local.write(path, local.batch(0, 4, "v", number), f"k{number}")
    storage = _Counting()
    data = replace(HudiTable.open(str(path)), storage=storage)
    table = MetadataTable.open(storage, str(path), data.timeline, data.clock)
    (commit,) = commits_at(table, data.timeline.completed_commits()[which].timestamp)
    undo_commit(table, commit, "29991231235959001")
    assert len(storage.opened) == read
    timeline = table.timeline.reload()
    assert timeline.find(commit.timestamp) == ()
    (done,) = timeline.completed(Action.ROLLBACK)
    (cancelled,) = timeline.payload(done, data.clock)["partitionMetadata"]["files"]["logFilesFromFailedCommit"]
    assert cancelled == storage.opened[0]
