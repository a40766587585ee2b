"""Operators in a real Airflow (`dag.test()` in a process of its own), with real spark-submit where it matters."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.provider, pytest.mark.spark]

DAG = Path(__file__).parent / "scripts" / "probe_dag.py"


def _is_driver(process: psutil.Process) -> bool:
    try:
        return "probe.py" in str(process.cmdline())
    except psutil.NoSuchProcess:  # it ended meanwhile, or is a zombie
        return False


def _start(name: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(DAG), name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PROBE_FOLDER": str(folder), "AIRFLOW__CORE__DAGS_FOLDER": str(DAG.parent)},
    )


class Outcome:
    """What the run of the DAG left."""

    def __init__(self, folder: Path, log: str) -> None:
        self.log = log
        line = next((line for line in log.splitlines() if line.startswith("states: ")), None)
        assert line is not None, log
        self.states: dict[str, str] = json.loads(line.removeprefix("states: "))
        self.xcom: dict[str, Any] = json.loads((folder / "xcom.json").read_text())


@pytest.fixture(scope="module")
def outcome(airflow_database: None, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("finished")
    process = _start("finished", folder)
    log, _ = process.communicate(timeout=180)
    return Outcome(folder, log)


def test_each_task_ends_as_its_job(outcome: Outcome) -> None:
    assert outcome.states == {
        "count": "success",
        "conflict": "failed",
        "bad_job": "failed",
        "bad_option": "failed",
        "nothing": "skipped",
        "nothing_for_consumers": "success",
        "repeated_for_consumers": "success",
        "dry_for_consumers": "success",
        "look": "success",
        "unseen": "skipped",
        "mistyped": "failed",
        "plan": "success",
        "execute": "success",
        "mapped[0]": "success",
        "mapped[1]": "success",
        "collect": "success",
    }


def test_the_result_is_the_xcom(outcome: Outcome) -> None:
    count = outcome.xcom["count"]
    assert (count["state"], count["instant"], count["records_out"]) == ("COMPLETED", "20240101000000001", 1000)
    assert count["seconds_by_phase"]["probe"] > 0
    assert count["extra"]["python"] == sys.executable


def test_the_instant_of_a_plan_reaches_the_task_that_executes_it(outcome: Outcome) -> None:
    assert outcome.xcom["execute"]["extra"]["executed"] == outcome.xcom["plan"]["instant"]


def test_the_idempotency_key_names_the_task_instance(outcome: Outcome) -> None:
    keys = [result["extra"]["idempotency_key"] for result in outcome.xcom["mapped"]]
    assert [key.split("/")[:2] + key.split("/")[3:] for key in keys] == [
        ["finished", "mapped", "0"],
        ["finished", "mapped", "1"],
    ]
    assert [result["extra"]["source"] for result in outcome.xcom["mapped"]] == [["a"], ["b", "c"]]
    assert outcome.xcom["count"]["extra"]["idempotency_key"].endswith("/-1")
    assert outcome.xcom["plan"]["extra"]["idempotency_key"].startswith("finished/plan/")
    assert outcome.xcom["execute"]["extra"]["idempotency_key"] is None


def test_an_error_in_a_python_worker_keeps_its_exit_code_and_its_line(outcome: Outcome) -> None:
    assert "ingest failed with exit code 3: file group f-1 was changed: run it again" in outcome.log


def test_bad_options_fail_at_once(outcome: Outcome) -> None:
    assert "ingest failed with exit code 2: hoodie.probe=bad is not valid: give another" in outcome.log
    assert "ingest: --op=upsrt is not valid: give one of upsert" in outcome.log


def test_the_reason_of_a_skip_is_in_the_log(outcome: Outcome) -> None:
    assert "Nothing to do: no log files" in outcome.log


def test_a_killed_task_lets_the_driver_release_what_it_holds(airflow_database: None, tmp_path: Path) -> None:
    process = _start("killed", tmp_path)
    deadline = time.monotonic() + 300
    while not (tmp_path / "marker.started").exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    drivers = [child for child in psutil.Process(process.pid).children(recursive=True) if _is_driver(child)]
    assert drivers
    process.send_signal(signal.SIGTERM)
    log, _ = process.communicate(timeout=60)
    assert (tmp_path / "marker").read_text() == "released"
    assert '"wait": "failed"' in log
    assert "ingest was killed" in log
    assert [driver for driver in drivers if driver.is_running() and driver.status() != psutil.STATUS_ZOMBIE] == []


def test_the_event_of_the_asset_tells_the_instant(outcome: Outcome) -> None:
    with sqlite3.connect(Path(os.environ["AIRFLOW_HOME"], "airflow.db")) as database:
        extras = [
            json.loads(extra)
            for (extra,) in database.execute("SELECT extra FROM asset_event WHERE source_dag_id = 'finished'")
        ]
    assert [extra.get("instant") for extra in extras] == ["20240101000000001"]
    assert extras[0] == {
        "instant": "20240101000000001",
        "action": "commit",
        "records_out": 1000,
        "inserts": 0,
        "updates": 0,
        "deletes": 0,
    }


def test_a_repeated_write_says_so(outcome: Outcome) -> None:
    assert "Nothing was written, an earlier run did this: instant 20240101000000003 already" in outcome.log


def test_a_hash_that_came_to_nothing_runs_nothing(outcome: Outcome) -> None:
    assert "plan_hash came to nothing: no dry run showed a plan, so none is carried out" in outcome.log


def test_a_mistyped_connection_fails(outcome: Outcome) -> None:
    assert "spark_conn_id=sprak_cluster is no connection of this Airflow: add it, or name one" in outcome.log
