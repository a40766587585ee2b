"""Records of finished pieces: they wait for no disk, since a piece whose record is lost is done again."""

from __future__ import annotations

import os

import pytest

from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.storage import RelativePath
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.rewriting.completion import CompletionRecords
from tests.support.folder import Folder, file_at

pytestmark = pytest.mark.unit

TIME = "20240506070809123"
NAME = f"f-0_0-0-1_{TIME}.parquet"


def test_a_record_is_not_forced_to_the_disk_and_counts_as_long_as_it_is_whole(
    root: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_marker(root.storage, str(root), TIME, "p", NAME, MarkerType.CREATE)
    (root / "p" / NAME).write_bytes(b"12345")
    stat = WriteStat(file_id="f-0", path=RelativePath(f"p/{NAME}"), partition_path="p", file_size_in_bytes=5)
    records = CompletionRecords(storage=root.storage, base_path=str(root), instant=TIME, plan_id="plan", pieces=1)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    records.note(0, [stat])
    assert synced == []
    assert [one.path for one in records.finished()[0]] == [stat.path]
    record = file_at(root.storage, records.folder) / "0.json"
    record.write_bytes(record.read_bytes()[:-1])  # as a loss of power may leave it
    assert records.finished() == {}


def test_a_piece_whose_file_was_cut_or_is_gone_is_done_again(root: Folder) -> None:
    create_marker(root.storage, str(root), TIME, "p", NAME, MarkerType.CREATE)
    file = root / "p" / NAME
    file.write_bytes(b"12345")
    stat = WriteStat(file_id="f-0", path=RelativePath(f"p/{NAME}"), partition_path="p", file_size_in_bytes=5)
    records = CompletionRecords(storage=root.storage, base_path=str(root), instant=TIME, plan_id="plan", pieces=1)
    records.note(0, [stat])
    assert list(records.finished()) == [0]
    file.write_bytes(b"1234")  # as a loss of power may leave it
    assert records.finished() == {}
    file.unlink()
    assert records.finished() == {}
