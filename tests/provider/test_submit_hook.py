"""Where spark-submit comes from, what it gets, and how it ends. The processes are real; no JVM takes part."""

import os
import signal
import stat
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_pyhudi.hooks.lake import StorageAccess
from airflow_provider_pyhudi.hooks.submit import HudiSparkSubmitHook
from airflow_provider_pyhudi.operators.result_file import ResultFile
from spark_jobs.options import JobResult, JobState
from spark_jobs.options.failed_file import FailedFile

pytestmark = pytest.mark.provider


@pytest.fixture(autouse=True)
def _no_spark_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "AIRFLOW_CONN_SPARK_DEFAULT"):
        monkeypatch.delenv(name, raising=False)


def _submit(folder: Path, body: str) -> str:
    """An executable in spark-submit's place, which starts a driver as its child where a test needs one."""
    path = folder / "bin" / "spark-submit"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n" + textwrap.dedent(body))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def _hook(**given: object) -> HudiSparkSubmitHook:
    return HudiSparkSubmitHook(job="ingest", **given)  # type: ignore[arg-type]


def test_without_a_connection_the_master_is_local(airflow_database: None, capsys: pytest.CaptureFixture[str]) -> None:
    command = _hook()._build_spark_submit_command("job.py")
    assert "There is no connection spark_default, and none is named: the master is local[*]" in capsys.readouterr().out
    assert command[command.index("--master") + 1] == "local[*]"
    assert "yarn" not in " ".join(command)


def test_a_master_in_the_conf_counts_where_there_is_no_connection(airflow_database: None) -> None:
    command = _hook(conf={"spark.master": "local[2]"})._build_spark_submit_command("job.py")
    assert command[command.index("--master") + 1] == "local[2]"


@pytest.mark.parametrize("name", ["sprak_cluster", "spark_default"])
def test_a_connection_that_is_named_has_to_be_there(name: str, airflow_database: None) -> None:
    with pytest.raises(AirflowFailException, match=f"spark_conn_id={name} is no connection of this Airflow: add it"):
        _hook(conn_id=name)


def test_a_connection_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", '{"conn_type": "spark", "host": "spark://m", "port": 7077}')
    command = _hook(conn_id="cluster")._build_spark_submit_command("job.py")
    assert command[command.index("--master") + 1] == "spark://m:7077"


def test_spark_submit_is_the_argument_or_spark_homes_or_pysparks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, airflow_database: None
) -> None:
    pysparks = _hook()._get_spark_binary_path()[0]
    assert pysparks.endswith("/pyspark/bin/spark-submit")
    assert os.access(pysparks, os.X_OK)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert _hook()._get_spark_binary_path() == [str(tmp_path / "bin" / "spark-submit")]
    assert _hook(spark_binary="/opt/spark-submit")._get_spark_binary_path() == ["/opt/spark-submit"]


def test_a_local_driver_is_this_python_unless_told_otherwise(tmp_path: Path, airflow_database: None) -> None:
    seen = tmp_path / "seen"
    names = "('PYSPARK_PYTHON', 'PYSPARK_DRIVER_PYTHON', 'EXTRA')"
    binary = _submit(tmp_path, f"import os; open({str(seen)!r}, 'w').write(repr([os.environ.get(n) for n in {names}]))")
    _hook(spark_binary=binary, env_vars={"PYSPARK_DRIVER_PYTHON": "/other", "EXTRA": "1"}).submit("job.py")
    assert seen.read_text() == repr([sys.executable, "/other", "1"])


def test_a_missing_spark_submit_is_named(airflow_database: None) -> None:
    with pytest.raises(AirflowFailException, match=r"/no/spark-submit can't be run: install pyspark"):
        _hook(spark_binary="/no/spark-submit").submit("job.py")


@pytest.mark.parametrize(("code", "kind"), [(1, AirflowException), (3, AirflowException), (2, AirflowFailException)])
def test_the_jobs_own_line_is_the_error(
    code: int, kind: type[Exception], tmp_path: Path, airflow_database: None
) -> None:
    binary = _submit(
        tmp_path, f"import sys; print('other: error: no'); print('ingest: error: it is so'); sys.exit({code})"
    )
    with pytest.raises(kind) as caught:
        _hook(spark_binary=binary).submit("job.py")
    assert type(caught.value) is kind
    assert str(caught.value) == f"ingest failed with exit code {code}: it is so"


def test_without_such_a_line_the_end_of_the_log_is_the_error(tmp_path: Path, airflow_database: None) -> None:
    binary = _submit(tmp_path, "import sys; print('a JVM crashed'); sys.exit(134)")
    with pytest.raises(AirflowException, match=r"(?s)Error code is: 134.*a JVM crashed"):
        _hook(spark_binary=binary).submit("job.py")


REMOTE = '{"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}'


@pytest.mark.parametrize(("code", "kind"), [(5, AirflowException), (2, AirflowFailException)])
def test_of_a_driver_on_a_node_a_file_says_why_it_failed(
    code: int, kind: type[Exception], tmp_path: Path, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_YARN", REMOTE)
    file = ResultFile(location=str(tmp_path / "r.json"), access=StorageAccess())
    failed = FailedFile.beside(file.location)
    body = "import sys; sys.exit(1)"
    Path(failed).write_text(FailedFile(message="of a run before", exit_code=3).to_json())
    before = file.from_now()
    with pytest.raises(AirflowException, match="Cannot execute"):
        _hook(conn_id="yarn", spark_binary=_submit(tmp_path, body)).submit("job.py", told=before.failure)
    said = FailedFile(message="it is so", exit_code=code).to_json()
    body = f"import sys; open({failed!r}, 'w').write({said!r}); sys.exit(1)"
    for _ in range(2):  # the same failure twice
        now = file.from_now()
        with pytest.raises(kind) as caught:
            _hook(conn_id="yarn", spark_binary=_submit(tmp_path, body)).submit("job.py", told=now.failure)
        assert type(caught.value) is kind
        assert str(caught.value) == f"ingest failed with exit code {code}: it is so"


def test_the_result_of_an_earlier_run_is_none(tmp_path: Path) -> None:
    file = ResultFile(location=str(tmp_path / "r.json"), access=StorageAccess())
    with pytest.raises(AirflowException, match="left no result"):
        file.from_now().result()
    text = JobResult(action="commit", state=JobState.COMPLETED, instant="1").to_json()
    now = file.from_now()
    (tmp_path / "r.json").write_text(text)
    assert now.result().instant == "1"
    later = file.from_now()
    with pytest.raises(AirflowException, match=r"the result in .*r\.json is that of an earlier run"):
        later.result()
    os.utime(tmp_path / "r.json", (1, 1))  # the same text, written again
    assert later.result().instant == "1"


@pytest.mark.parametrize(("given", "expected"), [({}, "1"), ({"spark.yarn.maxAppAttempts": "3"}, "3")])
def test_retries_of_a_driver_on_a_node_are_airflows(
    given: dict[str, str], expected: str, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_YARN", REMOTE)
    command = _hook(conn_id="yarn", conf=given)._build_spark_submit_command("job.py")
    assert f"spark.yarn.maxAppAttempts={expected}" in command


LAUNCHER = """
    import signal, subprocess, sys
    child = subprocess.Popen([sys.executable, {driver!r}])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(child.wait())
"""
DRIVER = """
    import signal, sys, time
    from pathlib import Path
    def stop(*_):
        {on_term}
    signal.signal(signal.SIGTERM, stop)
    Path({marker!r} + ".started").touch()
    while True:
        time.sleep(0.05)
"""


def _killed(tmp_path: Path, on_term: str, grace: float) -> tuple[Path, float]:
    """Submit a driver that runs until it is killed; its marker, and the seconds that the kill took."""
    marker = tmp_path / "marker"
    driver = tmp_path / "driver.py"
    driver.write_text(textwrap.dedent(DRIVER.format(on_term=on_term, marker=str(marker))))
    hook = _hook(spark_binary=_submit(tmp_path, LAUNCHER.format(driver=str(driver))), kill_grace_seconds=grace)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            hook.submit("job.py")
        except AirflowException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not Path(f"{marker}.started").exists():
        time.sleep(0.05)
    group = hook._submit_sp.pid  # type: ignore[union-attr]
    begin = time.monotonic()
    hook.on_kill()
    seconds = time.monotonic() - begin
    thread.join(10)
    assert [str(error) for error in caught] == ["ingest was killed"]
    time.sleep(0.1)
    left = [process for process in psutil.process_iter() if _group(process.pid) == group]
    assert [process for process in left if process.status() != psutil.STATUS_ZOMBIE] == []
    return marker, seconds


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def test_a_kill_waits_for_the_driver_to_release_what_it_holds(tmp_path: Path, airflow_database: None) -> None:
    on_term = (
        f"time.sleep(1); print('x' * 200000); Path({str(tmp_path / 'marker')!r}).write_text('released'); sys.exit(143)"
    )
    marker, seconds = _killed(tmp_path, on_term, grace=20)
    assert marker.read_text() == "released"
    assert 1 <= seconds < 10


def test_a_driver_that_does_not_end_is_killed_after_the_grace_period(tmp_path: Path, airflow_database: None) -> None:
    marker, seconds = _killed(tmp_path, f"Path({str(tmp_path / 'marker')!r}).write_text('heard')", grace=1)
    assert marker.read_text() == "heard"
    assert 1 <= seconds < 5


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """A shell starts its background commands with SIGINT ignored, and Python keeps it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_group_too(tmp_path: Path, airflow_database: None, heeds_interrupts: None) -> None:
    started = tmp_path / "marker.started"
    driver = tmp_path / "driver.py"
    driver.write_text(textwrap.dedent(DRIVER.format(on_term="sys.exit(143)", marker=str(tmp_path / "marker"))))
    hook = _hook(spark_binary=_submit(tmp_path, LAUNCHER.format(driver=str(driver))))

    def interrupt() -> None:
        while not started.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        hook.submit("job.py")
    thread.join()
    assert hook._submit_sp is not None
    assert not [p for p in psutil.process_iter() if _group(p.pid) == hook._submit_sp.pid and p.status() != "zombie"]
