"""Folders of HDFS: with ``PYHUDI_HDFS=mini`` each test process starts a cluster of its own (a NameNode and two
DataNodes in one JVM), with the URL of another one (``hdfs://host:port``) it takes that.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.real_hudi_env import java
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.storage.hdfs.clients import client_of, split
from spark_jobs.core.storage.hdfs.storage import HdfsStorage
from tests.support.hadoop import hadoop_jars

CLUSTER = os.environ.get("PYHUDI_HDFS", "")
OWN = "mini"
_MAIN = "org.apache.hadoop.test.MiniDFSClusterManager"
_SECONDS_TO_START = 90
_SETTINGS = {
    "dfs.replication": "2",
    # a file of two replicas is closed without a wait for the word of a DataNode, which is half a second
    "dfs.namenode.file.close.num-committed-allowed": "1",
}
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_STARTED: list[subprocess.Popen[str]] = []
"""The standard input of each is open while this process lives."""


@dataclass(frozen=True, slots=True)
class DatedStorage(HdfsStorage):
    """The same, whose files a test can date."""

    def date(self, path: str, modified_ms: int) -> None:
        authority, file = split(path)
        client_of(authority, self.settings).set_times(file, modified_ms, modified_ms)


@cache
def url() -> str:
    return _started() if CLUSTER in ("", OWN) else CLUSTER


def _started() -> str:
    """A cluster that ends with this process, however that ends: a shell waits for the end of its input."""
    jars = hadoop_jars()
    folder = Path(tempfile.mkdtemp(prefix="hdfs-"))
    details, log = folder / "details.json", folder.with_suffix(".log")
    words = [
        *(java(), *_JVM),
        *("-cp", ":".join(jars), f"-Dtest.build.data={folder}", _MAIN, "-format", "-datanodes", "2"),
        *("-writeDetails", str(details)),
        *(part for name, value in _SETTINGS.items() for part in ("-D", f"{name}={value}")),
    ]
    script = (
        f"{shlex.join(words)} >{shlex.quote(str(log))} 2>&1 & read _; kill -9 $!; rm -rf {shlex.quote(str(folder))}"
    )
    process = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, cwd=folder, text=True)
    _STARTED.append(process)
    deadline = SYSTEM_CLOCK.monotonic() + _SECONDS_TO_START
    while SYSTEM_CLOCK.monotonic() < deadline:
        text = details.read_text() if details.exists() else ""
        if text.endswith("}"):
            return f"hdfs://127.0.0.1:{json.loads(text)['namenode_port']}"
        SYSTEM_CLOCK.sleep(0.1)
    raise AssertionError(f"the cluster did not start: see {log}")
