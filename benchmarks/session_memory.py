"""Memory of a whole write as Airflow starts it: spark-submit, its JVM, and its Python workers.

    python benchmarks/session_memory.py                                  # 2 million rows, 10% updated
    python benchmarks/session_memory.py --driver-memory 512m --rows 4000000

A bulk insert and then an upsert over all file groups, each a ``spark-submit`` on two cores of this machine. The most
resident memory of each process below it is watched (``VmHWM`` of Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_jobs.core.clock import SYSTEM_CLOCK

ROOT = Path(__file__).resolve().parents[1]
JVM_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2"
PARTITIONS = 7


def source(path: Path, keys: np.ndarray, seed: int) -> str:
    random = np.random.default_rng(seed)
    table = pa.table(
        {
            "id": keys,
            "p": np.char.mod("p%d", keys % PARTITIONS),
            "ts": np.full(len(keys), seed),
            "text": np.char.mod("%016x", random.integers(0, 2**63, len(keys))),
            **{f"measure_{number}": random.random(len(keys)) for number in range(4)},
        }
    )
    pq.write_table(table, path, compression="zstd")
    return str(path)


def watched(command: list[str]) -> tuple[dict[str, Any], dict[int, tuple[str, float]]]:
    """A job's result, and for each process below it its name and the most MiB that it had."""
    home = str(Path(pyspark.__file__).parent)
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    variables = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT), **python}
    peaks: dict[int, tuple[str, float]] = {}
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        while job.poll() is None:
            peaks |= _family(job.pid)
            SYSTEM_CLOCK.sleep(0.1)
        out, err = job.communicate()
    if job.returncode:
        raise SystemExit(err)
    return json.loads(out.splitlines()[-1]), peaks


def _family(root: int) -> dict[int, tuple[str, float]]:
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--driver-memory", default="1g")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        steps = [
            ("bulk_insert", source(folder / "all.parquet", np.arange(options.rows), 1)),
            ("upsert", source(folder / "some.parquet", np.arange(0, options.rows, 10), 2)),
        ]
        print(f"driver memory {options.driver_memory}, {options.rows} rows")
        print(f"{'step':14}{'seconds':>9}{'JVM':>10}{'largest worker':>16}{'workers':>9}")
        for operation, path in steps:
            command = [
                str(Path(sys.executable).with_name("spark-submit")),
                *("--master", "local[2]", "--driver-memory", options.driver_memory),
                *("--driver-java-options", JVM_OPTIONS, "--conf", "spark.ui.enabled=false"),
                str(ROOT / "spark_jobs" / "ingest.py"),
                *("--base-path", str(folder / "t"), "--table-name", "t", "--op", operation, "--source", path),
                *("--source-format", "parquet", "--record-key-fields", "id", "--partition-path-fields", "p"),
                *("--precombine-field", "ts"),
            ]
            begun = SYSTEM_CLOCK.monotonic()
            _, peaks = watched(command)
            seconds = SYSTEM_CLOCK.monotonic() - begun
            java = max((peak for name, peak in peaks.values() if name == "java"), default=0.0)
            workers = [peak for name, peak in peaks.values() if name.startswith(("python", "pyspark"))]
            print(f"{operation:14}{seconds:9.1f}{java:6.0f} MiB{max(workers):12.0f} MiB{len(workers):9}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
