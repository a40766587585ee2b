"""How HDFS is addressed, by which settings it is reached, and what it says in one line; no cluster is asked."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage.hdfs.clients import permissions_of, split
from spark_jobs.core.storage.hdfs.failure import one_line, reason_of
from spark_jobs.core.storage.hdfs.names import settings_of

pytestmark = pytest.mark.unit
DENIED = 'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=me\\n\\tat x.y")'


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("hdfs://host:8020/lake/t/", ("host:8020", "/lake/t")),
        ("hdfs://lake/a%20b", ("lake", "/a%20b")),
        ("hdfs:///t", ("", "/t")),
        ("hdfs://host", ("host", "/")),
    ],
)
def test_urls(url: str, parts: tuple[str, str]) -> None:
    assert split(url) == parts


def test_settings_are_hadoops_each_source_over_those_before() -> None:
    sources = [
        {"spark.hadoop.dfs.replication": "3", "fs.s3a.access.key": "k", "fs.defaultFS": "hdfs://old"},
        {"fs.defaultFS": " hdfs://new "},
    ]
    assert settings_of(sources) == (("dfs.replication", "3"), ("fs.defaultFS", "hdfs://new"))


def test_a_lake_hands_its_settings_on_and_pickles() -> None:
    lake = Lake().reached_by({"dfs.replication": "2", "aws_region": "eu-west-1"})
    place = pickle.loads(pickle.dumps(lake)).place("hdfs://host:8020/lake/t/")
    assert (place.url, place.path) == ("hdfs://host:8020/lake/t", "hdfs://host:8020/lake/t")
    assert place.storage.settings == (("dfs.replication", "2"),)
    with pytest.raises(ConfigError, match="dfsreplication is not known"):
        Lake().reached_by({"dfsreplication": "2"})


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("spark_jobs.core.storage.hdfs.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(StorageError, match=r"without the package hdfs-native: pip install 'pyhudi\[hdfs\]'"):
        Lake().place("hdfs://host/t")


def test_the_mask_of_new_files() -> None:
    assert permissions_of(()) == (0o644, 0o755)
    assert permissions_of((("fs.permissions.umask-mode", "077"),)) == (0o600, 0o700)


def test_the_mask_of_hadoops_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    site = "<configuration><property><name>{}</name><value>{}</value></property></configuration>"
    (tmp_path / "core-site.xml").write_text(site.format("fs.permissions.umask-mode", "027"))
    (tmp_path / "hdfs-site.xml").write_text(site.format("dfs.replication", "2"))
    assert permissions_of(()) == (0o640, 0o750)
    assert permissions_of((("fs.permissions.umask-mode", "077"),)) == (0o600, 0o700)


def test_a_file_of_hadoops_that_is_none_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    with pytest.raises(ConfigError, match=r"hdfs-site\.xml can't be read \(no element found"):
        permissions_of(())
    with pytest.raises(ConfigError, match=r"umask-mode=u=rwx is no octal number"):
        permissions_of((("fs.permissions.umask-mode", "u=rwx"),))


def test_an_answer_is_one_line() -> None:
    assert reason_of(RuntimeError(DENIED)) == "access denied"
    assert reason_of(FileNotFoundError("File does not exist: /t\n\tat x")) == "no such file or folder"
    assert reason_of(RuntimeError('RPCError("a.b.OddException", "what it is\\n\\tat x.y")')) == "what it is"
    with pytest.raises(StorageError) as caught, one_line("hdfs://h/t", "written"):
        raise RuntimeError(DENIED)
    assert "\n" not in str(caught.value)
    assert "HADOOP_USER_NAME" in str(caught.value)
