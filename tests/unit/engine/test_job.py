"""What a job's caller sees: the result, the one line of error, the exit code, and a clean end on SIGTERM."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.lake import Lake
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import Failure
from spark_jobs.engine.job import run_job
from spark_jobs.options import ArchiveOptions, CleanOptions, JobOptions, JobResult, JobState

pytestmark = pytest.mark.unit

RESULT = JobResult(action="clean", state=JobState.COMPLETED, instant="20240101000000000", files_in=3)


def body(options: CleanOptions, context: JobContext) -> JobResult:
    with context.progress.phase("delete"):
        return RESULT


def test_the_result_is_the_last_line_and_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out" / "result.json"
    assert run_job(body, CleanOptions, ["--base-path=/t", "--table-name=n", f"--result-file={target}"]) == 0
    printed = capsys.readouterr()
    result = JobResult.from_json(printed.out.splitlines()[-1])
    assert result == JobResult.from_json(target.read_text())
    assert (result.base_path, result.table, result.files_in, list(result.seconds_by_phase)) == (
        "/t",
        "n",
        3,
        ["delete"],
    )
    assert "clean: delete done in" in printed.err


def test_a_job_works_in_the_lake_of_its_edge_and_by_the_engine_of_its_options() -> None:
    lake, seen = Lake(), []

    def work(options: JobOptions, context: JobContext) -> JobResult:
        assert context.lake is lake
        seen.append(context.engine.settle(2**40))
        assert seen[-1] == "spark" or context.engine.run_each([2, 3], lambda item, scope: item * item) == [4, 9]
        return RESULT

    assert run_job(work, CleanOptions, ["--base-path=/t"], lake=lake) == 0
    assert run_job(work, CleanOptions, ["--base-path=/t", "--engine=local"], lake=lake) == 0
    assert run_job(work, ArchiveOptions, ["--base-path=/t"], lake=lake) == 0
    assert seen == ["spark", "local", "local"]


def test_bad_options_end_with_2_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_job(body, CleanOptions, ["--base-pth=/t"]) == 2
    assert capsys.readouterr().err == "clean: error: --base-pth is no option of clean: did you mean --base-path?\n"


def test_a_result_file_without_a_storage_is_refused_before_any_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_job(body, CleanOptions, ["--base-path=/t", "--result-file=nfs9://x/y"]) == 5
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "delete" not in printed.err


def test_a_result_that_is_a_failure_is_handed_over_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--base-path=/t", f"--result-file={tmp_path}/result.json"]
    assert run_job(body, CleanOptions, words, verdict=lambda result: Failure(message="no fit", exit_code=2)) == 2
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == "clean: error: no fit"
    assert printed.out == (tmp_path / "result.json").read_text()


@pytest.mark.parametrize("debug", [False, True])
def test_an_error_is_one_line_and_a_traceback_only_with_debug(debug: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(options: CleanOptions, context: JobContext) -> JobResult:
        raise WriteConflictError("changed", todo="run it again")

    assert run_job(fail, CleanOptions, ["--base-path=/t", *(["--debug"] if debug else [])]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("clean: error: changed: run it again\n")
    assert ("Traceback" in printed.err) is debug
    assert debug or printed.err.count("\n") == 1


def test_help_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_job(body, CleanOptions, ["--help"]) == 0
    assert "--base-path" in capsys.readouterr().out


def test_signal_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    run_job(body, CleanOptions, ["--base-path=/t"])
    assert signal.getsignal(signal.SIGTERM) is before


SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests with it ignored
from pathlib import Path
from spark_jobs.engine.job import run_job
from spark_jobs.options import CleanOptions, JobResult

def body(options, context):
    try:
        with context.progress.phase("wait"):
            print("ready", flush=True)
            time.sleep(60)
    finally:
        Path(options.base_path).write_text("released")
        {last}

sys.exit(run_job(body, CleanOptions))
"""


@pytest.mark.parametrize(
    ("number", "code", "message"), [(signal.SIGTERM, 143, "terminated by SIGTERM"), (signal.SIGINT, 130, "interrupted")]
)
@pytest.mark.parametrize("last", ["", "raise KeyError('the JVM is gone')"])
def test_a_signal_runs_what_has_to_run_and_ends_with_its_code(
    last: str, number: int, code: int, message: str, tmp_path: Path
) -> None:
    script = tmp_path / "job.py"
    script.write_text(SCRIPT.format(last=last))
    marker = tmp_path / "marker"
    job = subprocess.Popen(
        [sys.executable, str(script), f"--base-path={marker}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "ready\n"
    job.send_signal(number)
    out, err = job.communicate(timeout=30)
    assert job.returncode == code
    assert marker.read_text() == "released"
    assert err.splitlines()[-1] == f"clean: error: {message}"
    assert "Traceback" not in err
    assert out == ""


def test_the_result_file_is_whole_json(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    run_job(body, CleanOptions, ["--base-path=/t", f"--result-file={target}"])
    assert json.loads(target.read_text())["state"] == "COMPLETED"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def fail(options: CleanOptions, context: JobContext) -> JobResult:
    raise WriteConflictError("changed", todo="run it again")


def test_what_stands_at_the_result_file_stays_until_a_job_is_done(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_text("precious")
    words = ["--base-path=/t", f"--result-file={target}"]
    seen = []

    def look(options: CleanOptions, context: JobContext) -> JobResult:
        seen.append(target.read_text())
        return RESULT

    assert run_job(fail, CleanOptions, words) == 3
    assert target.read_text() == "precious"
    assert run_job(look, CleanOptions, words) == 0
    assert seen == ["precious"]
    assert JobResult.from_json(target.read_text()).state is JobState.COMPLETED
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def _no_place(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "lake" / "trips" / ".hoodie").mkdir(parents=True)
    (tmp_path / "lake" / "trips" / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=trips")
    (tmp_path / "folder").mkdir()
    (tmp_path / "inside").symlink_to(tmp_path / "lake" / "trips")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    return {
        "of a table": tmp_path / "lake" / "trips" / ".hoodie" / "hoodie.properties",
        "in a partition": tmp_path / "lake" / "trips" / "r=1" / "result.json",
        "in a table by a link": tmp_path / "inside" / "result.json",
        "in the table to be": tmp_path / "new" / "result.json",
        "folder": tmp_path / "folder",
        "pipe": tmp_path / "pipe",
        "link": tmp_path / "link",
    }


@pytest.mark.parametrize(
    "kind",
    ["of a table", "in a partition", "in a table by a link", "in the table to be", "folder", "pipe", "link"],
)
def test_no_place_for_a_result(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = _no_place(tmp_path)[kind]
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
    assert run_job(body, CleanOptions, [f"--base-path={tmp_path}/new", f"--result-file={place}"]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"clean: error: --result-file={place} ")
    assert line.count("\n") == 1
    assert before == sorted((str(path), path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))


def test_a_result_that_cannot_be_written_is_told_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "result.json"

    def takes_the_place(options: CleanOptions, context: JobContext) -> JobResult:
        target.mkdir()
        return RESULT

    assert run_job(takes_the_place, CleanOptions, ["--base-path=/t", f"--result-file={target}"]) == 5
    printed = capsys.readouterr()
    assert JobResult.from_json(printed.out.splitlines()[-1]).state is JobState.COMPLETED
    assert "the job is COMPLETED but its result could not be written" in printed.err


def test_what_a_job_says_has_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(options: CleanOptions, context: JobContext) -> JobResult:
        context.progress.note("signing in with 12345678")
        raise WriteConflictError("the server refused 12345678", todo="give another password")

    def ends(options: CleanOptions, context: JobContext) -> JobResult:
        return dataclasses.replace(RESULT, records_in=12345678, extra={"url": "https://me:12345678@host"})

    props = tmp_path / "secret.properties"
    props.write_text("some.password=12345678")
    words = ["--base-path=/t", "--debug", f"--props={props}", f"--result-file={tmp_path}/result.json"]
    assert run_job(fails, CleanOptions, words) == 3
    said = capsys.readouterr()
    assert "12345678" not in said.out + said.err
    assert said.err.endswith("clean: error: the server refused ***: give another password\n")
    assert run_job(ends, CleanOptions, words) == 0
    for text in (capsys.readouterr().out, (tmp_path / "result.json").read_text()):
        result = JobResult.from_json(text)
        assert (result.records_in, result.extra) == (12345678, {"url": "https://me:***@host"})
