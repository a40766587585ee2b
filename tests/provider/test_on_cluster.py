"""Operators on a Spark standalone cluster whose executors have four packages, and nothing of this project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_pyhudi import HudiCompactionOperator, HudiIngestOperator
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.java import needs_java
from tests.spark.cluster.standalone import StandaloneCluster, environment, standalone_cluster
from tests.support.bare_python import bare_python
from tests.support.operators import ON_CLUSTER, QUIET_CLUSTER, execute

pytestmark = [pytest.mark.provider, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    needs_java()
    folder = tmp_path_factory.mktemp("clusters")
    with standalone_cluster(folder / "cluster", python=bare_python(folder / "python")) as running:
        yield running


@pytest.fixture
def on_cluster(
    cluster: StandaloneCluster, monkeypatch: pytest.MonkeyPatch, airflow_database: None, tmp_path: Path
) -> dict[str, Any]:
    """Arguments of operators; the connection names the cluster, as a worker of Airflow has it."""
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", f'{{"conn_type": "spark", "host": "{cluster.url}"}}')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    settings = environment(cluster.folder.parent / "python" / "bin" / "python")
    names = ("SPARK_HOME", "SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    return {
        "spark_conn_id": "cluster",
        "env_vars": {name: settings[name] for name in names},
        **ON_CLUSTER,
        "conf": {**QUIET_CLUSTER, "spark.driver.host": "127.0.0.1"},
        "base_path": str(tmp_path / "t"),
    }


def test_the_code_goes_to_executors_with_the_job(on_cluster: dict[str, Any], tmp_path: Path) -> None:
    table = tmp_path / "t"
    local.create(table, "MERGE_ON_READ")
    local.write(table, old := local.batch(0, 40, "old", 1), "first")
    pq.write_table(new := local.batch(20, 60, "new", 2), tmp_path / "source.parquet")
    ingest = HudiIngestOperator(
        task_id="ingest",
        source_format="parquet",
        source=[str(tmp_path / "source.parquet")],
        idempotency_key="k",
        hoodie_conf={"hoodie.parquet.small.file.limit": "0"},
        **on_cluster,
    )
    inserted = execute(ingest)
    compact = HudiCompactionOperator(
        task_id="compact", hoodie_conf={"hoodie.compact.inline.max.delta.commits": "1"}, **on_cluster
    )
    compacted = execute(compact)
    assert (inserted["extra"]["engine"], compacted["extra"]["engine"]) == ("spark", "spark")
    assert local.rows_of(table) == local.expected_rows(old, new)
    assert not [one for one in HudiTable.open(str(table)).file_slices() if one.log_files]
    assert local.problems_of(table) == []


def test_without_it_the_error_says_what_executors_lack(on_cluster: dict[str, Any], tmp_path: Path) -> None:
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    pq.write_table(local.batch(0, 4, "new", 1), tmp_path / "source.parquet")
    ingest = HudiIngestOperator(
        task_id="ingest",
        source_format="parquet",
        source=[str(tmp_path / "source.parquet")],
        idempotency_key="k",
        ship_code=False,
        **on_cluster,
    )
    with pytest.raises(AirflowFailException, match="the Python of an executor has no spark_jobs: "):
        execute(ingest)
    assert local.rows_of(tmp_path / "t") == []


def on_a_node(monkeypatch: pytest.MonkeyPatch, master: str, **given: Any) -> HudiCompactionOperator:
    """Whose driver is to run on the cluster; it has no spark-submit."""
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", f'{{"conn_type": "spark", "host": "{master}"}}')
    return HudiCompactionOperator(
        task_id="c",
        base_path="/lake/t",
        spark_conn_id="cluster",
        deploy_mode="cluster",
        spark_binary="/no/spark-submit",
        **given,
    )


@pytest.mark.parametrize(
    "key", ["spark.yarn.submit.waitAppCompletion", "spark.kubernetes.submission.waitAppCompletion"]
)
def test_a_submission_that_does_not_wait_is_refused(
    key: str, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = on_a_node(monkeypatch, "yarn", result_file="/lake/r.json", conf={key: "false"})
    with pytest.raises(AirflowFailException, match=f"{key}=false lets the task end before its job: leave it out"):
        execute(operator)


@pytest.mark.parametrize(
    ("master", "said"),
    [
        (
            "spark://m:7077",
            "deploy_mode cluster is not for Python jobs on a standalone master (spark://m:7077): give client",
        ),
        ("local[2]", "deploy_mode cluster needs a cluster, and the master is local[2]: give client"),
        ("yarn", "deploy_mode cluster needs result_file: give a URL that both sides reach"),
    ],
)
def test_a_driver_that_the_cluster_does_not_run_is_refused(
    master: str, said: str, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = on_a_node(monkeypatch, master)
    with pytest.raises(AirflowFailException) as caught:
        execute(operator)
    assert str(caught.value) == said
