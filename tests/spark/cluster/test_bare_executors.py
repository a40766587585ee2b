"""Writes and services on executors that have the four packages of docs/clusters.md, and the jobs' code by a zip."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from spark_jobs.engine.code_archive import write_code_archive
from tests.faults import local_table as local
from tests.java import needs_java
from tests.spark.cluster.standalone import environment, standalone_cluster
from tests.support.bare_python import bare_python

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
AT_ONCE = (
    *("--hoodie-conf", "hoodie.compact.inline.max.delta.commits=1"),
    *("--hoodie-conf", "hoodie.clustering.async.max.commits=1"),
    *("--hoodie-conf", "hoodie.clustering.plan.strategy.sort.columns=v,id"),
    *("--hoodie-conf", "hoodie.parquet.small.file.limit=0"),
)


def test_writes_and_services(tmp_path: Path) -> None:
    needs_java()
    table, python = tmp_path / "t", bare_python(tmp_path / "python")
    write_code_archive(code := tmp_path / "pyhudi.zip")
    local.create(table, "MERGE_ON_READ")
    local.write(table, old := local.batch(0, 40, "old", 1), "first")
    pq.write_table(new := local.batch(20, 60, "new", 2), tmp_path / "source.parquet")
    with standalone_cluster(tmp_path / "cluster", python=python) as cluster:

        def run(job: str, *words: str) -> dict[str, Any]:
            given = ("--base-path", str(table), "--engine", "spark", *AT_ONCE, *words)
            done = subprocess.run(
                cluster.submit(job, *given, conf={"spark.submit.pyFiles": str(code)}),
                env=environment(python),
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return dict(json.loads(done.stdout.splitlines()[-1]))

        source = ("--source-format", "parquet", "--source", str(tmp_path / "source.parquet"))
        states = [run("ingest", *source)["state"], run("compact")["state"], run("cluster")["state"]]
    assert states == ["COMPLETED"] * 3
    assert local.rows_of(table) == local.expected_rows(old, new)
    assert local.problems_of(table) == []
