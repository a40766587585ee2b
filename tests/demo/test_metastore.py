"""The embedded metastore: started once, found again, back after SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dags_examples.demo.metastore import (
    MetastoreStartError,
    running_metastore,
    start_metastore,
    stop_metastore,
)
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError
from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.client import ThriftMetastore, answers
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.metastore import MetastoreUnreachableError
from tests.java import needs_java
from tests.support.hive_sync import sync
from tests.unit.hive.left_by_hudi import facts_named

pytestmark = pytest.mark.spark

START = "import sys; from dags_examples.demo.metastore import start_metastore; start_metastore(sys.argv[1])"


@pytest.fixture(autouse=True)
def java() -> None:
    """A Java runtime, without which there is no metastore."""
    needs_java()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder whose server ends with the test."""
    yield tmp_path / "a folder"
    stop_metastore(tmp_path / "a folder")


def test_no_spark_is_imported_for_it() -> None:
    check = "import sys, dags_examples.demo.metastore; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_life_of_a_server(home: Path, tmp_path: Path) -> None:
    assert running_metastore(home) is None
    assert not stop_metastore(home)

    # Its starter ends, and it goes on; another start finds it.
    subprocess.run([sys.executable, "-c", START, str(home)], check=True, capture_output=True, timeout=120)
    first = running_metastore(home)
    assert first is not None
    assert start_metastore(home) == first
    assert Path(first.log_path) == home / "metastore.log"

    facts, config = facts_named("mor", str(tmp_path)), SyncConfig(database="kept")
    with ThriftMetastore.connect(first.uri) as metastore:
        sync(facts, config, metastore)

    # After SIGKILL the tables are there again, at the same address.
    os.kill(first.pid, signal.SIGKILL)
    second = start_metastore(home)
    assert second.pid != first.pid
    assert second.uri == first.uri
    with ThriftMetastore.connect(second.uri) as metastore:
        assert metastore.tables("kept") == ["mor", "mor_ro", "mor_rt"]
        assert isinstance(sync(facts, config, metastore), Nothing)

    assert stop_metastore(home)
    assert running_metastore(home) is None
    assert not answers(second.uri)


def test_a_killed_starter_leaves_a_server_that_is_found(home: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", START, str(home)], start_new_session=True)
    while running_metastore(home) is None:
        SYSTEM_CLOCK.sleep(0.005)
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()
    left = running_metastore(home)
    assert left is not None
    assert start_metastore(home) == left


@pytest.mark.parametrize("seconds", [0.7, 1.2, 1.8, 2.5])
def test_a_database_whose_making_was_broken_off_is_made_anew(home: Path, seconds: float) -> None:
    starter = subprocess.Popen([sys.executable, "-c", START, str(home)], start_new_session=True)
    while running_metastore(home) is None:
        SYSTEM_CLOCK.sleep(0.005)
    SYSTEM_CLOCK.sleep(seconds)
    server = running_metastore(home)
    assert server is not None
    for process in (starter.pid, server.pid):
        os.kill(process, signal.SIGKILL)
    starter.wait()
    with ThriftMetastore.connect(start_metastore(home).uri) as metastore:
        assert metastore.database_exists("default")


def test_a_server_that_can_not_start_names_its_log(tmp_path: Path) -> None:
    (tmp_path / "derby").write_text("no database")
    with pytest.raises(
        MetastoreStartError, match=r"did not start \(it ended before it answered\): see .*metastore\.log"
    ):
        start_metastore(tmp_path)
    assert running_metastore(tmp_path) is None


def test_a_server_that_does_not_answer_in_time_names_its_log(home: Path) -> None:
    with pytest.raises(MetastoreStartError, match=r"does not answer at thrift://.*: see .*metastore\.log"):
        start_metastore(home, timeout_seconds=0.3)


def test_a_pid_that_another_process_has_now_is_not_taken_for_the_server(tmp_path: Path) -> None:
    (tmp_path / "metastore.json").write_text(json.dumps({"pid": os.getpid(), "port": 1, "started": "0"}))
    assert running_metastore(tmp_path) is None
    assert not stop_metastore(tmp_path)


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is taken"):
            start_metastore(tmp_path, port)


def test_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match=r"no java below JAVA_HOME=.*install a Java 17 runtime"):
        start_metastore(tmp_path)


def test_an_address_without_a_metastore_is_named() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(MetastoreUnreachableError, match=rf"^no Hive metastore answers at \S+:{port} ") as found:
        ThriftMetastore.connect(f"thrift://127.0.0.1:{port}")
    assert "\n" not in str(found.value)
    for wrong in ("http://a:1", "thrift://", "thrift://a:b", "a:1"):
        with pytest.raises(ConfigError, match="give thrift://host:port"):
            ThriftMetastore.connect(wrong)
