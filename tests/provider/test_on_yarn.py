"""Operators on YARN, the driver on Airflow's machine or on a node; nothing of this project is on the nodes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_pyhudi import HudiCompactionOperator, HudiIngestOperator
from tests.faults import local_table as local
from tests.java import needs_java
from tests.spark.cluster.standalone import environment
from tests.support.bare_python import OF_EXECUTORS, bare_python
from tests.support.operators import ON_CLUSTER, QUIET_CLUSTER, execute
from tests.support.yarn import YarnCluster, yarn_cluster

pytestmark = [pytest.mark.provider, pytest.mark.spark, pytest.mark.timeout(900)]
OF_DRIVERS = (*OF_EXECUTORS, "pandas", "python-dateutil", "pytz", "six", "tzdata")
"""In cluster mode the driver runs by the Python of the executors, which has pandas then."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    needs_java()
    with yarn_cluster(tmp_path_factory.mktemp("yarn")) as running:
        yield running


@pytest.fixture(params=["client", "cluster"])
def on_yarn(
    request: pytest.FixtureRequest,
    cluster: YarnCluster,
    monkeypatch: pytest.MonkeyPatch,
    airflow_database: None,
    tmp_path: Path,
) -> dict[str, Any]:
    """Arguments of operators, by the lines of docs/clusters.md."""
    monkeypatch.setenv("AIRFLOW_CONN_YARN", '{"conn_type": "spark", "host": "yarn"}')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    is_cluster = request.param == "cluster"
    python = str(bare_python(tmp_path / "python", OF_DRIVERS if is_cluster else OF_EXECUTORS))
    spark = environment()["SPARK_HOME"]
    return {
        "spark_conn_id": "yarn",
        "deploy_mode": request.param,
        "result_file": str(tmp_path / "result.json") if is_cluster else None,
        "env_vars": {
            "HADOOP_CONF_DIR": str(cluster.settings),
            "SPARK_HOME": spark,
            "SPARK_LOCAL_IP": "127.0.0.1",
            **({} if is_cluster else {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}),
        },
        **ON_CLUSTER,
        "conf": {
            **QUIET_CLUSTER,
            **({"spark.pyspark.python": python} if is_cluster else {}),
            "spark.yarn.jars": f"local:{spark}/jars/*",  # else they are copied to each container
        },
        "base_path": str(tmp_path / "t"),
    }


def _ingest(on_yarn: dict[str, Any], source: Path) -> HudiIngestOperator:
    return HudiIngestOperator(
        task_id="ingest",
        source_format="parquet",
        source=[str(source)],
        idempotency_key="k",
        hoodie_conf={"hoodie.parquet.small.file.limit": "0"},
        **on_yarn,
    )


def test_writes_and_services(on_yarn: dict[str, Any], tmp_path: Path) -> None:
    table = tmp_path / "t"
    local.create(table, "MERGE_ON_READ")
    local.write(table, old := local.batch(0, 40, "old", 1), "first")
    pq.write_table(new := local.batch(20, 60, "new", 2), tmp_path / "source.parquet")
    inserted = execute(_ingest(on_yarn, tmp_path / "source.parquet"))
    compact = HudiCompactionOperator(
        task_id="compact", hoodie_conf={"hoodie.compact.inline.max.delta.commits": "1"}, **on_yarn
    )
    assert (execute(compact)["state"], inserted["extra"]["engine"]) == ("COMPLETED", "spark")
    assert local.rows_of(table) == local.expected_rows(old, new)
    assert local.problems_of(table) == []
    again = execute(_ingest(on_yarn, tmp_path / "source.parquet"))
    assert (again["repeated"], again["instant"]) == (True, inserted["instant"])
    assert execute(compact)["state"] == "NOTHING_TO_DO"


def test_a_failure_is_one_line(on_yarn: dict[str, Any], tmp_path: Path) -> None:
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    with pytest.raises(AirflowException) as raised:
        execute(_ingest(on_yarn, tmp_path / "none"))
    said = f"ingest failed with exit code 5: source {tmp_path / 'none'} does not exist: check --source"
    assert str(raised.value) == said
