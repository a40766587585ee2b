"""A Spark standalone cluster on this machine: one master, some workers, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK
from tests.faults.commands import ROOT
from tests.faults.commands import environment as job_environment
from tests.java import QUICK

DEADLINE_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneCluster:
    """``url`` is what ``--master`` takes; output of the processes is in ``folder``."""

    url: str
    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...]

    def submit(self, job: str, *arguments: str, conf: Mapping[str, str] | None = None) -> list[str]:
        """The line of spark-submit for a job: one core on each worker."""
        return [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--master", self.url, "--executor-cores", "1", "--executor-memory", "512m", "--driver-memory", "512m"),
            *("--driver-java-options", QUICK, "--conf", f"spark.executor.extraJavaOptions={QUICK}"),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=4"),
            *("--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", f"spark.cores.max={len(self.workers)}"),
            *("--conf", "spark.eventLog.enabled=true", "--conf", "spark.eventLog.compress=false"),
            *("--conf", "spark.eventLog.rolling.enabled=false", "--conf", f"spark.eventLog.dir={self.events.as_uri()}"),
            *(word for name, value in (conf or {}).items() for word in ("--conf", f"{name}={value}")),
            str(ROOT / "spark_jobs" / f"{job}.py"),
            *arguments,
        ]

    @property
    def events(self) -> Path:
        """Where Spark logs what its executors did."""
        return self.folder / "events"


def environment(python: Path | None = None) -> dict[str, str]:
    """That of a job, for the driver and the executors; the cluster's own processes get by with little.

    :param python: what the executors run, which then don't see this checkout.
    """
    found = {**job_environment(), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK}
    if python is not None:
        del found["PYTHONPATH"]
        found["PYSPARK_PYTHON"] = str(python)
    return found


@contextmanager
def standalone_cluster(
    folder: Path, workers: int = 2, *, apart: bool = False, python: Path | None = None
) -> Iterator[StandaloneCluster]:
    """A master and workers of one core each, gone at the end.

    :param apart: each worker has an address of its own, as if it were another machine: Spark starts no second attempt
        of a task on the host of the first.
    :param python: what the executors run, which don't see this checkout.
    :raises TimeoutError: they do not find each other.
    """
    (folder / "events").mkdir(parents=True)
    with ExitStack() as processes:

        def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
            return processes.enter_context(_process(folder / f"{name}.log", arguments, python))

        start("master", "org.apache.spark.deploy.master.Master", *_at("127.0.0.1"), "--port", "0")
        found = _wait(lambda: re.search(r"spark://127\.0\.0\.1:\d+", _text(folder / "master.log")))
        url = found.group()
        each = ("--cores", "1", "--memory", "1g", url)
        started = tuple(
            start(
                f"worker{number}",
                "org.apache.spark.deploy.worker.Worker",
                *_at(f"127.0.0.{number + 1 if apart else 1}"),
                *("--work-dir", str(folder / f"work{number}")),
                *each,
            )
            for number in range(workers)
        )
        for number in range(workers):
            log = folder / f"worker{number}.log"
            _wait(lambda log=log: re.search("Successfully registered with master", _text(log)))  # type: ignore[misc]
        yield StandaloneCluster(url=url, folder=folder, workers=started)


def _at(host: str) -> tuple[str, ...]:
    return ("--host", host, "--webui-port", "0")


@contextmanager
def _process(log: Path, arguments: tuple[str, ...], python: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [str(Path(environment()["SPARK_HOME"], "bin", "spark-class")), *arguments],
            env=environment(python),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for a process and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(path: Path) -> str:
    return path.read_text(errors="replace")


def _wait(look: Callable[[], re.Match[str] | None]) -> re.Match[str]:
    deadline = SYSTEM_CLOCK.monotonic() + DEADLINE_SECONDS
    while (found := look()) is None:
        if SYSTEM_CLOCK.monotonic() > deadline:
            raise TimeoutError(f"no cluster within {DEADLINE_SECONDS:.0f} s")
        SYSTEM_CLOCK.sleep(0.1)
    return found
