"""Tasks that go on after their write was published or rolled back leave no file behind that nothing names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spark_jobs.core.errors import StorageError, WriteConflictError
from spark_jobs.core.files.base_file_writer import BaseFileWriter
from spark_jobs.core.files.markers import delete_markers, read_markers
from spark_jobs.core.files.names import Marker, MarkerType
from spark_jobs.core.format.folders import MARKER_FOLDER, META_FOLDER
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import WriteContext, forced_together, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.support import base_file, context_of, new_table, rows, scope

pytestmark = pytest.mark.unit

T1, T2 = "20240101000000001", "20240101000000002"
LATE = rf"instant {T2} ended while a task of it still wrote p/"
REFUSED = rf"{LATE}|no such file"
"""By HDFS itself, where the file that is written was deleted."""


class Ended(Through):
    """A storage on which the markers of the second instant go when the first is made: another process ended it."""

    is_first = True

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(path, data, durable=durable)
        base, found, _ = path.partition(f"/{MARKER_FOLDER}/")
        if found and self.is_first:
            self.is_first = False
            delete_markers(self, base, T2)


class RolledBack(Through):
    """A storage on which another process rolled a write back before its files are forced."""

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        for path in paths:
            self.delete(path)
        self.inner.sync(paths, names)


@pytest.fixture
def table(root: Folder) -> HudiTable:
    return new_table(root / "t")


def late(table: HudiTable) -> WriteContext:
    return context_of(table, T2, storage=Ended(table.storage))


def written(table: HudiTable) -> WriteStat:
    handle = CreateHandle(context_of(table, T1), scope(), "p", "g")
    handle.write(rows(("a", 1, "one"), partition="p"))
    (stat,) = handle.close()
    return stat


def changes(context: WriteContext, name: str) -> Changes:
    return Changes(stamp(rows(("a", 2, "two"), partition="p"), context, scope(), "p", name), np.array([False]))


def files(table: HudiTable) -> list[str]:
    return [status.name for status in table.storage.list(f"{table.base_path}/p") if "metadata" not in status.name]


def test_a_new_file_group(table: HudiTable) -> None:
    handle = CreateHandle(late(table), scope(), "p", "h")
    with pytest.raises(WriteConflictError, match=LATE):
        write_one(handle)
    handle.abort()
    assert files(table) == []


def test_a_merge(table: HudiTable) -> None:
    stat = written(table)
    old = base_file(stat.file_id, T1, stat.file_size_in_bytes, "p")
    context = late(table)
    with pytest.raises(WriteConflictError, match=LATE):
        merge_base_file(context, scope(), BaseFile("p", old.name, old.size), changes(context, ""))
    assert files(table) == [stat.file_name]


def test_a_log(table: HudiTable) -> None:
    stat = written(table)
    context = late(table)
    target = AppendTarget(
        partition="p", file_id=stat.file_id, base_instant=T1, base_file=stat.file_name, log_names=(), next_version=1
    )
    with pytest.raises(WriteConflictError, match=LATE):
        append_changes(context, scope(), target, changes(context, stat.file_id), hard_deletes=False)
    (log,) = [name for name in files(table) if name != stat.file_name]
    assert read_markers(table.storage, table.base_path, T2) == [Marker("p", log, MarkerType.APPEND)]


def test_a_log_of_a_completed_write(table: HudiTable) -> None:
    stat = written(table)
    completed = request(table.timeline, T2, Action.DELTA_COMMIT)
    context = replace(late(table), completion=table.timeline.completion(completed.at(State.INFLIGHT)))
    table.storage.create(f"{table.base_path}/{META_FOLDER}/{T2}.deltacommit", b"{}")
    target = AppendTarget(
        partition="p", file_id=stat.file_id, base_instant=T1, base_file=stat.file_name, log_names=(), next_version=1
    )
    with pytest.raises(WriteConflictError, match=LATE):
        append_changes(context, scope(), target, changes(context, stat.file_id), hard_deletes=False)
    assert files(table) == [stat.file_name]


def write_one(handle: CreateHandle) -> None:
    handle.write(rows(("b", 1, "one"), partition="p"))
    handle.close()


def roll_back(table: HudiTable) -> None:
    """As far as it concerns the files of the second instant."""
    for name in files(table):
        if T2 in name:
            table.storage.delete(f"{table.base_path}/p/{name}")
    delete_markers(table.storage, table.base_path, T2)


def test_a_new_file_group_that_is_closed_late(table: HudiTable) -> None:
    """On a store of objects the file is not there before."""
    handle = CreateHandle(context_of(table, T2), scope(), "p", "h")
    handle.write(rows(("b", 1, "one"), partition="p"))
    roll_back(table)
    with pytest.raises((WriteConflictError, StorageError), match=REFUSED):
        handle.close()
    handle.abort()
    assert files(table) == []


def test_a_merge_that_is_closed_late(table: HudiTable, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = written(table)
    old = base_file(stat.file_id, T1, stat.file_size_in_bytes, "p")
    context = context_of(table, T2)
    plain = BaseFileWriter.close

    def close(writer: BaseFileWriter) -> int:
        roll_back(table)
        return plain(writer)

    monkeypatch.setattr(BaseFileWriter, "close", close)
    with pytest.raises((WriteConflictError, StorageError), match=REFUSED):
        merge_base_file(context, scope(), BaseFile("p", old.name, old.size), changes(context, ""))
    assert files(table) == [stat.file_name]


def test_files_that_a_rollback_deleted_before_they_were_forced(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")  # only a local disk forces files when all are written
    context = context_of(table, T2, storage=RolledBack(table.storage))
    with pytest.raises(WriteConflictError, match=LATE):
        write_together(context)
    alone = CreateHandle(context, scope(), "p", "i")
    alone.write(rows(("c", 1, "one"), partition="p"))
    with pytest.raises(WriteConflictError, match=LATE):
        alone.close()
    assert files(table) == []


def write_together(context: WriteContext) -> None:
    with forced_together(context) as together:
        write_one(CreateHandle(together, scope(), "p", "h"))
