"""Two attempts of one task at the same time: the slow one's file is taken away, each file group is written once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.faults import local_table as local
from tests.faults.commands import ingest_arguments
from tests.java import needs_java
from tests.spark.cluster.standalone import environment, standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "100ms",
}
MODULE = """
import time

import pyarrow.compute as pc
from pyspark import TaskContext


def slow_at_first(older, newer):
    # called when the task's new file is begun already
    if pc.any(pc.equal(newer["id"], 0)).as_py() and TaskContext.get().attemptNumber() == 0:
        time.sleep(600)
    return newer
"""


Task = tuple[int, int]
"""A stage and the number of a task in it."""


def attempts(events: Path) -> tuple[set[Task], set[Task]]:
    """Tasks whose first attempt began and did not end well, and those of which a speculative attempt did."""
    begun: set[Task] = set()
    done: set[Task] = set()
    won: set[Task] = set()
    for log in events.iterdir():
        for line in log.read_text().splitlines():
            event: dict[str, Any] = json.loads(line)
            if event["Event"] not in ("SparkListenerTaskStart", "SparkListenerTaskEnd"):
                continue
            info = event["Task Info"]
            task, speculative = (event["Stage ID"], info["Index"]), info["Speculative"]
            if event["Event"] == "SparkListenerTaskStart":
                begun |= set() if speculative else {task}
            elif event["Task End Reason"]["Reason"] == "Success":
                (won if speculative else done).add(task)
    return begun - done, won


def test_the_file_of_an_attempt_that_lost_is_taken_away(tmp_path: Path) -> None:
    needs_java()
    table, source = tmp_path / "t", tmp_path / "source.parquet"
    local.create(table, "COPY_ON_WRITE")
    old, new = local.batch(0, 40, "old", 1), local.batch(0, 60, "new", 2)
    local.write(table, old, "first")
    pq.write_table(new, source, row_group_size=10)
    module = tmp_path / "waits_once.py"
    module.write_text(MODULE)
    with standalone_cluster(tmp_path / "cluster", apart=True) as cluster:
        function = ("--payload-function", "waits_once:slow_at_first")
        arguments = ingest_arguments(table, source, *function, "--engine", "spark")
        command = cluster.submit("ingest", *arguments, conf={**SPECULATION, "spark.submit.pyFiles": str(module)})
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300, check=False)
        lost, won = attempts(cluster.events)
    assert done.returncode == 0, done.stderr
    assert lost
    assert lost <= won
    instant = json.loads(done.stdout.splitlines()[-1])["instant"]
    written = list(table.glob(f"*/*_{instant}.parquet"))
    assert sorted(one.parent.name for one in written) == ["a", "b"], written
    assert local.rows_of(table) == local.expected_rows(old, new)
    assert local.problems_of(table) == []
