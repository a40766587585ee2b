"""A write as Airflow starts it: a ``spark-submit`` on two cores, with the time and the memory that it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyspark

from spark_jobs.core.clock import SYSTEM_CLOCK

ROOT = Path(__file__).resolve().parents[1]
JVM_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """``peaks``: for each process of the job its name and the most MiB that were resident (``VmHWM`` of Linux)."""

    seconds: float
    peaks: dict[int, tuple[str, float]]

    @property
    def java(self) -> float:
        """The most MiB of a JVM."""
        return max((peak for name, peak in self.peaks.values() if name == "java"), default=0.0)

    @property
    def workers(self) -> list[float]:
        """The most MiB of each Python process."""
        return [peak for name, peak in self.peaks.values() if name.startswith(("python", "pyspark"))]


def ingested(base_path: Path, operation: str, source: str, driver_memory: str, *others: str) -> Submitted:
    """One run of ``ingest.py`` on a Parquet source with the columns id, p and ts.

    :raises SystemExit: the job failed, with what it printed.
    """
    return _watched(
        [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--master", "local[2]", "--driver-memory", driver_memory),
            *("--driver-java-options", JVM_OPTIONS, "--conf", "spark.ui.enabled=false"),
            str(ROOT / "spark_jobs" / "ingest.py"),
            *("--base-path", str(base_path), "--table-name", "t", "--op", operation, "--source", source),
            *("--source-format", "parquet", "--record-key-fields", "id", "--partition-path-fields", "p"),
            *("--precombine-field", "ts", "--engine", "spark", *others),
        ]
    )


def _watched(command: list[str]) -> Submitted:
    home = str(Path(pyspark.__file__).parent)
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    variables = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT), **python}
    peaks: dict[int, tuple[str, float]] = {}
    begun = SYSTEM_CLOCK.monotonic()
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        while job.poll() is None:
            peaks |= family(job.pid)
            SYSTEM_CLOCK.sleep(0.1)
        _, errors = job.communicate()
    if job.returncode:
        raise SystemExit(errors)
    return Submitted(seconds=SYSTEM_CLOCK.monotonic() - begun, peaks=peaks)


def family(root: int) -> dict[int, tuple[str, float]]:
    """Of a process and all that it started the names and the most MiB that were resident (``VmHWM`` of Linux)."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[str, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:  # it ended meanwhile
            continue
        values = dict(line.split(":", 1) for line in lines if ":" in line)
        if "VmHWM" in values:
            pid = int(folder.name)
            parents[pid] = int(values["PPid"])
            found[pid] = (values["Name"].strip(), int(values["VmHWM"].split()[0]) / 1024)

    def is_below(pid: int) -> bool:
        while pid > 1:
            if pid == root:
                return True
            pid = parents.get(pid, 0)
        return False

    return {pid: facts for pid, facts in found.items() if is_below(pid)}
