"""Records of finished pieces: they wait for no disk, since a piece whose record is lost is done again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.rewriting.completion import CompletionRecords

pytestmark = pytest.mark.unit

TIME = "20240506070809123"
NAME = f"f-0_0-0-1_{TIME}.parquet"


def test_a_record_is_not_forced_to_the_disk_and_counts_as_long_as_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage()
    create_marker(storage, str(tmp_path), TIME, "p", NAME, MarkerType.CREATE)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / NAME).write_bytes(b"12345")
    stat = WriteStat(file_id="f-0", path=f"p/{NAME}", partition_path="p", file_size_in_bytes=5)
    records = CompletionRecords(storage=storage, base_path=str(tmp_path), instant=TIME, plan_id="plan", pieces=1)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    records.note(0, [stat])
    assert synced == []
    assert [one.path for one in records.finished()[0]] == [stat.path]
    record = Path(records.folder) / "0.json"
    record.write_bytes(record.read_bytes()[:-1])  # as a loss of power may leave it
    assert records.finished() == {}
