"""A real Hive metastore server from PySpark's own jars, on Derby, for demos and tests.

``<directory>`` holds everything: ``metastore.json`` (which process serves it), ``metastore.log``, ``derby/`` and
``warehouse/``. The server lives in a session of its own, so it outlives whoever started it; after a SIGKILL the next
start opens the same Derby database, which recovers from its own log. Hive 2.3 listens on all interfaces and asks nobody
for a password: it is no server for a network that others share.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.hive.client import answers

STATE_FILE = "metastore.json"
LOG_FILE = "metastore.log"
_DATABASE = "derby"
_MADE_FILE = "metastore.made"
"""Says that the database was made to its end: Derby can't open one whose making was broken off."""
_LOCK_FILE = "metastore.lock"
_SITE = "conf"
_MAIN_CLASS = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_POLL_SECONDS = 0.1
_PORT_SECONDS = 3.0

# The process records itself before it turns into the server: whoever started it may be killed at any moment, and an
# unrecorded server would keep Derby locked for good. The outer shell ends at once: the server is nobody's child.
_DETACH = 'sh -c "$0" "$@" &'
_RECORD_AND_SERVE = """
if [ -r /proc/$$/stat ]; then started=$(cut -d' ' -f22 /proc/$$/stat); else started=$(ps -o lstart= -p $$); fi
printf '{"pid": %s, "port": %s, "started": "%s"}' "$$" "$1" "$started" > "$0.tmp" && mv "$0.tmp" "$0" || exit 1
shift
exec "$@"
"""


class MetastoreStartError(HudiError):
    """The embedded metastore ended, or did not answer, before its time was up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedMetastore:
    """A running server: its Thrift URI, its process and the file that it logs to."""

    uri: str
    pid: int
    log_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """The process that serves a directory; ``started`` tells it from a later one with the same pid."""

    pid: int
    port: int
    started: str

    @property
    def alive(self) -> bool:
        return _start_time(self.pid) == self.started


def start_metastore(
    directory: str | os.PathLike[str],
    port: int = 0,
    *,
    buckets: tuple[str, ...] = (),
    timeout_seconds: float = 90.0,
    java_options: tuple[str, ...] = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:UseAVX=2"),
    clock: Clock = SYSTEM_CLOCK,
) -> EmbeddedMetastore:
    """The metastore of ``directory``: the one that runs already, or a new one; it answers Thrift when this returns.

    :param port: TCP port; 0 takes the port that the directory's last server had where it is free, else any free one.
        Ignored where a server runs already.
    :param buckets: of S3, in which tables lie. Hive's server wants to make the folder of a table that it registers, and
        PySpark has no connector of S3: it makes empty folders below ``s3/`` here, and looks at no object.
    :raises ConfigError: there is no Java runtime, no PySpark, or the port is taken.
    :raises MetastoreStartError: the server ended, or did not answer within ``timeout_seconds``.
    """
    home = Path(directory).absolute()
    home.mkdir(parents=True, exist_ok=True)
    deadline = clock.monotonic() + timeout_seconds
    with _only_starter(home):
        recorded = _read_state(home)
        if recorded is not None and recorded.alive:
            # One that was killed a moment ago may still count as alive.
            server = _wait_until_it_answers(home, recorded, deadline, clock)
            if server is not None:
                (home / _MADE_FILE).touch()
                return server
        _set_unfinished_aside(home)
        _write_site(home, buckets)
        command = _command(home, _choose_port(port, recorded, clock), java_options)
        server = _wait_until_it_answers(home, _spawn(home, command, deadline, clock), deadline, clock)
        if server is None:
            raise _did_not_start(home, "it ended before it answered")
        (home / _MADE_FILE).touch()
        return server


def running_metastore(directory: str | os.PathLike[str]) -> EmbeddedMetastore | None:
    """The server of ``directory`` if its process is alive, without starting one."""
    home = Path(directory).absolute()
    recorded = _read_state(home)
    return _describe(home, recorded) if recorded is not None and recorded.alive else None


def stop_metastore(
    directory: str | os.PathLike[str], *, timeout_seconds: float = 15.0, clock: Clock = SYSTEM_CLOCK
) -> bool:
    """End the server (SIGTERM, and SIGKILL after ``timeout_seconds``); False where none was running."""
    home = Path(directory).absolute()
    recorded = _read_state(home)
    if recorded is None or not recorded.alive:
        return False
    _signal(recorded.pid, signal.SIGTERM)
    deadline = clock.monotonic() + timeout_seconds
    while _start_time(recorded.pid) == recorded.started:
        if clock.monotonic() > deadline:
            _signal(recorded.pid, signal.SIGKILL)
        clock.sleep(_POLL_SECONDS)
    return True


def _set_unfinished_aside(home: Path) -> None:
    """Make room for a new database where the making of the last one was broken off, before anybody was told of it."""
    if (home / _DATABASE).is_dir() and not (home / _MADE_FILE).exists():
        aside = home / f"{_DATABASE}.unfinished"
        shutil.rmtree(aside, ignore_errors=True)
        (home / _DATABASE).rename(aside)


def _spawn(home: Path, command: list[str], deadline: float, clock: Clock) -> _Recorded:
    (home / STATE_FILE).unlink(missing_ok=True)
    with open(home / LOG_FILE, "ab") as log:
        subprocess.run(
            ["sh", "-c", _DETACH, _RECORD_AND_SERVE, str(home / STATE_FILE), _port_of(command), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
            env={key: value for key, value in os.environ.items() if key not in ("HIVE_CONF_DIR", "HADOOP_CONF_DIR")},
            start_new_session=True,
            check=True,
        )
    while (recorded := _read_state(home)) is None:
        if clock.monotonic() > deadline:
            raise _did_not_start(home, "its process could not be started")
        clock.sleep(0.01)
    return recorded


def _wait_until_it_answers(home: Path, recorded: _Recorded, deadline: float, clock: Clock) -> EmbeddedMetastore | None:
    """The server, or None if its process ended."""
    server = _describe(home, recorded)
    while not answers(server.uri):
        if not recorded.alive:
            return None
        if clock.monotonic() > deadline:
            raise _did_not_start(home, f"process {recorded.pid} does not answer at {server.uri}")
        clock.sleep(_POLL_SECONDS)
    return server


def _did_not_start(home: Path, why: str) -> MetastoreStartError:
    log = home / LOG_FILE
    return MetastoreStartError(f"the Hive metastore of {home} did not start ({why})", todo=f"see {log}", log=str(log))


def _describe(home: Path, recorded: _Recorded) -> EmbeddedMetastore:
    return EmbeddedMetastore(uri=f"thrift://127.0.0.1:{recorded.port}", pid=recorded.pid, log_path=str(home / LOG_FILE))


def _command(home: Path, port: int, java_options: tuple[str, ...]) -> list[str]:
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home / _DATABASE};create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "hive.metastore.uris": "",
        "hive.metastore.warehouse.dir": f"{home / 'warehouse'}",
        "hive.async.log.enabled": "false",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.hmshandler.retry.attempts": "5",
        "hive.hmshandler.retry.interval": "1s",
        # Hive compares columns by position, so a table that gained a column in the middle would be refused.
        "hive.metastore.disallow.incompatible.col.type.changes": "false",
    }
    return [
        _java(),
        "-Xmx512m",
        *java_options,
        f"-Dderby.stream.error.file={home / 'derby.log'}",
        *(f"-D{key}={value}" for key, value in settings.items()),
        "-cp",
        f"{home / _SITE}{os.pathsep}{_pyspark_jars() / '*'}",
        _MAIN_CLASS,
        "-p",
        str(port),
    ]


def _write_site(home: Path, buckets: tuple[str, ...]) -> None:
    """Hadoop's settings of the server: each bucket as a folder of this machine, by its file system of mounts
    (``ViewFileSystemOverloadScheme``).
    """
    settings = {}
    for bucket in buckets:
        folder = home / "s3" / bucket
        folder.mkdir(parents=True, exist_ok=True)
        settings[f"fs.viewfs.mounttable.{bucket}.linkMergeSlash"] = folder.as_uri()
    if buckets:
        settings["fs.s3.impl"] = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
        settings["fs.viewfs.overload.scheme.target.s3.impl"] = "org.apache.hadoop.fs.LocalFileSystem"
    root = ElementTree.Element("configuration")
    for name, value in settings.items():
        told = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(told, "name").text = name
        ElementTree.SubElement(told, "value").text = value
    (home / _SITE).mkdir(exist_ok=True)
    ElementTree.ElementTree(root).write(home / _SITE / "core-site.xml")


def _port_of(command: list[str]) -> str:
    return command[-1]


def _java() -> str:
    java_home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(java_home, "bin"))) if java_home else shutil.which("java")
    if found is None:
        where = f"below JAVA_HOME={java_home}" if java_home else "on the PATH"
        raise ConfigError(
            f"no java {where}", todo="install a Java 17 runtime (Debian: openjdk-17-jre-headless) or set JAVA_HOME"
        )
    return found


def _pyspark_jars() -> Path:
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        jars = Path(place, "jars")
        if any(jars.glob("hive-metastore-*.jar")):
            return jars
    raise ConfigError(
        "PySpark's jars are not installed", todo="pip install 'pyspark>=4.2,<4.3' (pyspark-client has no jars)"
    )


def _choose_port(wanted: int, last: _Recorded | None, clock: Clock) -> int:
    if wanted:
        if not _is_free(wanted):
            raise ConfigError(f"port {wanted} is taken", todo="give another one, or 0 for any free port", port=wanted)
        return wanted
    # A killed server may hold its port for a moment after its process counts as ended.
    deadline = clock.monotonic() + _PORT_SECONDS
    while last is not None:
        if _is_free(last.port):
            return last.port
        if clock.monotonic() > deadline:
            break
        clock.sleep(_POLL_SECONDS)
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


@contextmanager
def _only_starter(home: Path) -> Iterator[None]:
    """Exclude other starters on this machine; the system frees the lock when its holder dies."""
    with open(home / _LOCK_FILE, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read_state(home: Path) -> _Recorded | None:
    try:
        state = json.loads((home / STATE_FILE).read_text())
        return _Recorded(pid=int(state["pid"]), port=int(state["port"]), started=str(state["started"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _start_time(pid: int) -> str | None:
    """When a process started (clock ticks since boot, or a date); None for one that has ended."""
    if os.path.isdir("/proc/self"):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def _signal(pid: int, which: signal.Signals) -> None:
    try:
        os.kill(pid, which)
    except ProcessLookupError:
        return
