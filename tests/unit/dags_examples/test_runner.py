"""What the demo's command says and how it follows Airflow, without running it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dags_examples.demo import report
from dags_examples.demo.progress import follow, last_error, state_in
from dags_examples.demo.runner import main
from dags_examples.demo.settings import CONNECTION_VARIABLE, Places, configured_metastore, environment
from spark_jobs.core.clock import SYSTEM_CLOCK

pytestmark = pytest.mark.unit


def test_a_wrong_argument_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--wrong"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == "pyhudi-demo: unrecognized arguments: --wrong (see pyhudi-demo --help)\n"


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_a_wrong_sample_is_one_line(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([f"--every={number}"])
    assert caught.value.code == 2
    assert f"{number} is not a whole number of 1 or more" in capsys.readouterr().err


def test_another_sample_than_the_tables_have_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".every").write_text("10")
    assert main(["--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"pyhudi-demo: {tmp_path} has tables of --every 10: give that, or another --directory\n"
    )


@pytest.mark.parametrize("uris", ["lake", "thrift://127.0.0.1:1"])
def test_a_metastore_that_does_not_answer_is_told_at_once(
    tmp_path: Path, uris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--directory", str(tmp_path), "--metastore-uris", uris]) == 1
    error = capsys.readouterr().err
    assert uris.removeprefix("thrift://") in error
    assert error.count("\n") == 1


def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["--directory", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err == (
        f"pyhudi-demo: can't make the folder {tmp_path / 'file'} (File exists): give another --directory\n"
    )


def test_missing_java_is_one_line_that_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main(["--directory", str(tmp_path / "demo")]) == 1
    error = capsys.readouterr().err
    assert "openjdk-17-jre-headless" in error
    assert error.count("\n") == 1


def test_the_metastore_connection_is_found_in_both_of_airflows_spellings() -> None:
    assert configured_metastore({}) is None
    assert configured_metastore({CONNECTION_VARIABLE: "hive-metastore://lake:9999"}) == "thrift://lake:9999"
    assert configured_metastore({CONNECTION_VARIABLE: '{"conn_type": "hive_metastore", "host": "lake"}'}) == (
        "thrift://lake:9083"
    )
    with pytest.raises(ValueError, match="names no host"):
        configured_metastore({CONNECTION_VARIABLE: "hive-metastore://"})


def test_airflow_is_kept_inside_the_folder(tmp_path: Path) -> None:
    variables = environment(
        Places(directory=tmp_path), "thrift://lake:9083", {"AIRFLOW_HOME": "/elsewhere", "PATH": "/bin"}
    )
    assert variables["AIRFLOW_HOME"] == str(tmp_path / "airflow")
    assert variables["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == f"sqlite:///{tmp_path}/airflow/airflow.db"
    assert variables["PATH"].endswith(":/bin")


def test_each_task_is_one_line_and_a_retried_task_has_not_failed() -> None:
    states = iter(["success", "up_for_retry", "success", "failed", "success"])
    lines = [
        "noise\n",
        "\x1b[32m[DAG TEST] starting task_id=load map_index=-1\x1b[0m\n",
        "[DAG TEST] end task task_id=load map_index=-1\n",
        "[DAG TEST] starting task_id=compact map_index=-1\n",
        "[DAG TEST] end task task_id=compact map_index=-1\n",
        "[DAG TEST] starting task_id=compact map_index=-1\n",
        "2026-03-01T12:00:00Z [info     ] Nothing to do: no log files [airflow.task.operators] loc=base.py:214\n",
        "[DAG TEST] end task task_id=compact map_index=-1\n",
        "[DAG TEST] starting task_id=clean map_index=-1\n",
        "[DAG TEST] end task task_id=clean map_index=-1\n",
        "[DAG TEST] starting task_id=upsert map_index=-1\n",
        "[info     ] Done before: instant 1 did it [airflow.task.operators] loc=base.py:214\n",
        "[DAG TEST] end task task_id=upsert map_index=-1\n",
    ]
    log, out = io.StringIO(), io.StringIO()
    assert follow(lines, log, out, SYSTEM_CLOCK, lambda task: next(states)) == ("clean",)
    words = [line.split(" s  ")[1] for line in out.getvalue().splitlines()]
    assert words == [
        "done",
        "failed, will be tried again",
        "nothing to do: no log files",
        "failed",
        "done before: instant 1 did it",
    ]
    assert "\x1b" not in log.getvalue()
    assert log.getvalue().count("\n") == len(lines)


def test_a_task_cut_off_has_failed() -> None:
    out = io.StringIO()
    assert follow(["[DAG TEST] starting task_id=load x"], io.StringIO(), out, SYSTEM_CLOCK, lambda task: None) == (
        "load",
    )
    assert out.getvalue().endswith("did not end\n")


def test_a_missing_database_tells_no_state(tmp_path: Path) -> None:
    assert state_in(tmp_path / "airflow.db", "flights_demo")("load") is None


def test_the_report_has_a_row_per_task() -> None:
    text = report.table(
        {
            "load": {
                "state": "COMPLETED",
                "instant": "20260301120000123",
                "files_out": 12,
                "bytes_in": 3_300_000,
                "bytes_out": 1234,
                "records_out": 336776,
                "seconds_by_phase": {"write": 3.21, "begin": 0.01},
            },
            "compact": {"state": "NOTHING_TO_DO", "reason": "no log files"},
        }
    )
    heading, rule, load, compact = text.splitlines()
    assert heading.startswith("task")
    assert set(rule) == {"-", " "}
    assert load.split("  ")[0] == "load"
    for part in ("20260301120000123", "3.3 MB", "1.2 kB", "336,776", "write 3.2"):
        assert part in load
    assert "begin" not in load
    assert compact.endswith("no log files")


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_500_000_000, "2.5 GB")])
def test_sizes(count: int, text: str) -> None:
    assert report.size(count) == text


def test_the_last_error_of_a_job_goes_before_airflows_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "[info     ] ingest: error: no such path [airflow.task.hooks] loc=spark_submit.py:965\n"
        "airflow.sdk.exceptions.AirflowException: ingest failed with exit code 5\n"
    )
    assert last_error(log) == "ingest: error: no such path"
    log.write_text("TypeError: wrong\n")
    assert last_error(log) == "TypeError: wrong"
    log.write_text("all is well\n")
    assert last_error(log) is None
