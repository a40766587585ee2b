"""The jobs on a Spark standalone cluster of two workers, and with one of them killed in the middle of a write."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.table import HudiTable
from tests.java import needs_java
from tests.spark.cluster.standalone import StandaloneCluster, environment, kill_group, standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PARTITIONS = "abcdefgh"
CONF = (
    *("--hoodie-conf", "hoodie.index.bloom.num_entries=1000"),
    *("--hoodie-conf", "hoodie.compact.inline.max.delta.commits=1"),
    *("--hoodie-conf", "hoodie.parquet.small.file.limit=0"),
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    needs_java()
    with standalone_cluster(tmp_path / "cluster") as running:
        yield running


def batch(path: Path, keys: range, value: str, ts: int) -> Path:
    """A folder of four Parquet files, so that the source has several splits."""
    path.mkdir()
    for part in range(4):
        mine = [key for key in keys if key % 4 == part]
        columns = {
            "id": mine,
            "p": [PARTITIONS[key % 8] for key in mine],
            "v": [f"{value}{key}" for key in mine],
            "ts": [ts] * len(mine),
        }
        pq.write_table(pa.table(columns), path / f"{part}.parquet")
    return path


def ingest(table: Path, table_type: str, op: str, source: Path) -> list[str]:
    return [
        *("--base-path", str(table), "--table-name", "t", "--table-type", table_type, "--op", op),
        *("--source-format", "parquet", "--source", str(source), "--record-key-fields", "id"),
        *("--partition-path-fields", "p", "--precombine-field", "ts", *CONF, "--engine", "spark"),
    ]


def run(command: list[str]) -> dict[str, Any]:
    """The result that a job prints on its last line."""
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def executors_with_tasks(events: Path) -> dict[str, set[str]]:
    """Of each application, the executors that finished tasks."""
    found: dict[str, set[str]] = {}
    for log in events.iterdir():
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event["Task End Reason"]["Reason"] == "Success":
                found.setdefault(log.name, set()).add(event["Task Info"]["Executor ID"])
    return found


def values(table: Path) -> dict[int, str]:
    rows = HudiTable.open(str(table)).scan(columns=["id", "v"]).to_arrow().to_pylist()
    by_key = {row["id"]: row["v"] for row in rows}
    assert len(by_key) == len(rows), "a key stands in the table twice"
    return by_key


def test_two_workers_share_each_job(cluster: StandaloneCluster, tmp_path: Path) -> None:
    table, kind = tmp_path / "t", "MERGE_ON_READ"
    first, second = batch(tmp_path / "one", range(4000), "a", 1), batch(tmp_path / "two", range(2000, 6000), "b", 2)
    run(cluster.submit("ingest", *ingest(table, kind, "bulk_insert", first)))
    run(cluster.submit("ingest", *ingest(table, kind, "upsert", second)))
    run(cluster.submit("compact", "--base-path", str(table), "--table-name", "t", "--engine", "spark", *CONF))
    assert values(table) == {key: f"{'b' if key >= 2000 else 'a'}{key}" for key in range(6000)}
    assert not [one for one in HudiTable.open(str(table)).file_slices() if one.log_files]
    assert [len(executors) for executors in executors_with_tasks(cluster.events).values()] == [2, 2, 2]


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_write_outlives_a_worker(cluster: StandaloneCluster, tmp_path: Path, table_type: str) -> None:
    """Spark runs the tasks of the lost worker again: each file group is written once all the same."""
    table = tmp_path / "t"
    first, second = batch(tmp_path / "one", range(40_000), "a", 1), batch(tmp_path / "two", range(60_000), "b", 2)
    run(cluster.submit("ingest", *ingest(table, table_type, "bulk_insert", first)))
    command = cluster.submit("ingest", *ingest(table, table_type, "upsert", second))
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writing:
        deadline = SYSTEM_CLOCK.monotonic() + 120
        while not (markers := list((table / ".hoodie" / ".temp").glob("*/*/*.marker.*"))):
            assert writing.poll() is None, "the write ended before a worker could be killed"
            assert SYSTEM_CLOCK.monotonic() < deadline
            SYSTEM_CLOCK.sleep(0.005)
        kill_group(cluster.workers[0])
        out, err = writing.communicate(timeout=300)
    assert writing.returncode == 0, err.decode()
    result = json.loads(out.decode().splitlines()[-1])
    assert values(table) == {key: f"b{key}" for key in range(60_000)}
    assert result["records_out"] >= 60_000 - 40_000
    written = [one for one in table.rglob("*") if os.path.isfile(one) and result["instant"] in one.name]
    groups = {one.name.split("_")[0].lstrip(".") for one in written if one.parent.name in set(PARTITIONS)}
    files = [one for one in written if one.parent.name in set(PARTITIONS)]
    assert len(files) == len(groups), f"{len(files)} files of {len(groups)} file groups; markers: {markers}"
