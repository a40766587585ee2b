"""A real ZooKeeper, of the jars that PySpark brings, that ends with the test process."""

from __future__ import annotations

import importlib.util
import shlex
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from scripts.real_hudi_env import java
from spark_jobs.core.clock import SYSTEM_CLOCK

PROVIDER = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
_JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.admin.enableServer=false")
_JARS = ("zookeeper", "metrics-core", "snappy-java", "slf4j-api", "netty-", "log4j")
_SECONDS_TO_START = 60
TICK_MS = 100
"""Sessions last between 2 and 20 of them, but for what the tests ask for: 200 s at most."""
_STARTED: list[subprocess.Popen[str]] = []
"""The standard input of each is open while this process lives."""


def keys(base_path: str, **more: str) -> dict[str, str]:
    """What a writer of Hudi or ours is given; a lock of its own for each ``base_path``."""
    prefix = "hoodie.write.lock.zookeeper."
    return {
        "hoodie.write.lock.provider": PROVIDER,
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        f"{prefix}url": address(),
        f"{prefix}base_path": base_path,
        f"{prefix}lock_key": "t",
        **{f"{prefix}{name}": value for name, value in more.items()},
    }


@cache
def address() -> str:
    """``host:port``. However this process ends, a shell waits for the end of its input and ends the server."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    jars = Path((spec.submodule_search_locations or [""])[0]) / "jars"
    found = [str(jar) for jar in sorted(jars.glob("*.jar")) if jar.name.startswith(_JARS)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="zookeeper-"))
    log = folder.with_suffix(".log")
    config = folder / "zoo.cfg"
    config.write_text(
        f"dataDir={folder}\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime={TICK_MS}\n"
        f"maxSessionTimeout=200000\nmaxClientCnxns=0\n"
    )
    command = shlex.join([java(), *_JVM, "-cp", ":".join(found), _MAIN, str(config)])
    script = f"{command} >{shlex.quote(str(log))} 2>&1 & read _; kill -9 $!; rm -rf {shlex.quote(str(folder))}"
    _STARTED.append(subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, cwd=folder, text=True))
    deadline = SYSTEM_CLOCK.monotonic() + _SECONDS_TO_START
    while SYSTEM_CLOCK.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"127.0.0.1:{port}"
        SYSTEM_CLOCK.sleep(0.1)
    raise AssertionError(f"ZooKeeper did not start: see {log}")
