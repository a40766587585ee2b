"""An executor is killed in the middle of a write, its Python workers too, while its worker of the cluster lives on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from tests.faults import local_table as local
from tests.faults.commands import ingest_arguments
from tests.java import needs_java
from tests.spark.cluster.standalone import StandaloneCluster, environment, standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

MODULE = """
import os
import time
from pathlib import Path

from pyspark import TaskContext

seen = set()


def held_once(older, newer):
    # called when a new file is begun already: at its second, the task has the first one whole
    attempt = TaskContext.get().taskAttemptId()
    if attempt not in seen:
        seen.add(attempt)
        return newer
    try:
        Path({flag!r}).touch(exist_ok=False)
    except FileExistsError:
        return newer
    Path({flag!r} + ".pid").write_text(str(os.getpid()))
    time.sleep(600)
    return newer
"""


PARTITIONS = sorted(f"p{number}" for number in range(24))
"""More than tasks: each writes the files of several."""


def batch(ids: range, value: str, ts: int) -> pa.Table:
    columns = {"id": ids, "p": [f"p{one % 24}" for one in ids], "v": [value] * len(ids), "ts": [ts] * len(ids)}
    return pa.table(columns, schema=local.SCHEMA)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    needs_java()
    with standalone_cluster(tmp_path / "cluster") as running:
        yield running


def kill_executor_of(pid: int) -> int:
    """SIGKILL for the JVM that started a Python worker, and for all Python that it started; how many there were."""
    worker = psutil.Process(pid)
    (executor,) = (one for one in worker.parents() if "CoarseGrainedExecutorBackend" in " ".join(one.cmdline()))
    family = [executor, *executor.children(recursive=True)]
    for one in family:  # the JVM first: it must not tell the driver of a worker that ended
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    return len(family)


def _process_that_writes(named: Path, writing: subprocess.Popen[bytes]) -> int:
    """The Python worker that waits with a file half written."""
    deadline = SYSTEM_CLOCK.monotonic() + 240
    while not (named.is_file() and (text := named.read_text())):
        assert writing.poll() is None, "the write ended before an executor could be killed"
        assert SYSTEM_CLOCK.monotonic() < deadline
        SYSTEM_CLOCK.sleep(0.05)
    return int(text)


def lost_executors(events: Path) -> list[dict[str, Any]]:
    lines = [line for log in events.iterdir() for line in log.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["Event"] == "SparkListenerExecutorRemoved"]


def test_a_write_outlives_an_executor(cluster: StandaloneCluster, tmp_path: Path) -> None:
    table, source, flag = tmp_path / "t", tmp_path / "source.parquet", tmp_path / "held"
    local.create(table, "COPY_ON_WRITE")
    old, new = batch(range(480), "old", 1), batch(range(720), "new", 2)
    local.write(table, old, "first")
    pq.write_table(new, source, row_group_size=100)
    module = tmp_path / "holds.py"
    module.write_text(MODULE.format(flag=str(flag)))
    words = ingest_arguments(table, source, "--payload-function", "holds:held_once", "--engine", "spark")
    command = cluster.submit("ingest", *words, conf={"spark.submit.pyFiles": str(module)})
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writing:
        pid = _process_that_writes(Path(f"{flag}.pid"), writing)
        whole = sum(len(list(table.glob(f"{name}/*.parquet"))) > 1 for name in PARTITIONS)
        assert kill_executor_of(pid) >= 2
        out, err = writing.communicate(timeout=300)
    assert writing.returncode == 0, err.decode()
    assert lost_executors(cluster.events)
    assert whole, "no file of the killed attempt was there to be taken away"
    result = json.loads(out.decode().splitlines()[-1])
    assert (result["updates"], result["inserts"]) == (480, 240)
    assert local.rows_of(table) == local.expected_rows(old, new)
    written = list(table.glob(f"*/*_{result['instant']}.parquet"))
    assert sorted(one.parent.name for one in written) == PARTITIONS, written
    assert not list((table / ".hoodie" / ".temp").glob("*"))
    assert local.problems_of(table) == []
