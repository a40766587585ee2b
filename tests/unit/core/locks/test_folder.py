"""Which folder ``hoodie.write.lock.filesystem.path`` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError, LockNotAcquiredError
from spark_jobs.core.locks.folder import lock_folder
from spark_jobs.core.table import HudiTable

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("asked", "base_path", "folder"),
    [
        ("/locks/t", "/lake/t", "/locks/t"),
        ("/locks/t/", "/lake/t", "/locks/t"),
        ("file:///locks/t", "/lake/t", "/locks/t"),
        ("file:/locks/a:b", "/lake/t", "/locks/a:b"),
        ("/locks/t", "hdfs://nn:8020/lake/t", "hdfs://nn:8020/locks/t"),
        ("hdfs:///locks/t", "hdfs://nn:8020/lake/t", "hdfs://nn:8020/locks/t"),
        ("hdfs://nn:8020/locks/t", "hdfs://nn:8020/lake/t", "hdfs://nn:8020/locks/t"),
        ("/locks/t", "hdfs:///lake/t", "hdfs:///locks/t"),
    ],
)
def test_a_url_names_the_folder_that_its_path_does(asked: str, base_path: str, folder: str) -> None:
    assert lock_folder(asked, base_path) == folder


@pytest.mark.parametrize(
    ("asked", "base_path", "why"),
    [
        ("locks/t", "/lake/t", "is another folder for each process: give an absolute path"),
        ("file:locks", "/lake/t", "is another folder for each process"),
        ("hdfs://nn/locks", "/lake/t", "lies on another storage than the table"),
        ("s3://bucket/locks", "/lake/t", "lies on another storage than the table"),
        ("hdfs://other:8020/locks", "hdfs://nn:8020/lake/t", "lies on another storage than the table"),
        ("file:///locks", "hdfs://nn:8020/lake/t", "lies on another storage than the table"),
    ],
)
def test_what_not_every_writer_finds_is_refused(asked: str, base_path: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        lock_folder(asked, base_path)


def test_writers_in_two_folders_exclude_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = HudiTable.create(f"{tmp_path}/t", name="t", record_key_fields=["id"])
    conf = {"hoodie.write.lock.filesystem.path": f"file://{tmp_path}/locks", "hoodie.write.lock.wait_time_ms": "0"}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with table.transaction_settings(conf).new_lock():
        assert (tmp_path / "locks" / "lock").exists()
        monkeypatch.chdir(tmp_path / "b")
        with pytest.raises(LockNotAcquiredError):
            table.transaction_settings(conf).new_lock().__enter__()
