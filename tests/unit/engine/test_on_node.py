"""Why a job failed on a node of a cluster. The properties of spark-submit's JVM stand for a pod or a container here; a
real YARN is in tests/provider/test_on_yarn.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import Failure
from spark_jobs.engine.job import run_job
from spark_jobs.options import CleanOptions, JobResult, JobState
from spark_jobs.options.failed_file import FailedFile

pytestmark = pytest.mark.unit
RESULT = JobResult(action="clean", state=JobState.COMPLETED)
ON_KUBERNETES = {"spark.submit.deployMode": "client", "spark.kubernetes.submitInDriver": "true"}
IN_CLIENT_MODE = {"spark.submit.deployMode": "client"}


def conflicting(options: CleanOptions, context: JobContext) -> JobResult:
    raise WriteConflictError("file group f-1 was changed by s3cr3t-of-somebody", todo="run it again")


@pytest.fixture
def properties(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    pyspark = pytest.importorskip("pyspark")
    given = dict(ON_KUBERNETES)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(pyspark.SparkContext, "getSystemProperty", given.get)
    return given


def job(target: Path, *words: str, **how: object) -> int:
    given = ["--base-path=/t", f"--result-file={target}", *words]
    return run_job(conflicting, CleanOptions, given, **how)  # type: ignore[arg-type]


def test_a_failure_stands_beside_the_result(properties: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_text("an older result")
    assert job(target, "--storage-option", "aws_secret_access_key=s3cr3t-of-somebody") == 3
    failed = FailedFile.from_json(Path(FailedFile.beside(str(target))).read_text())
    assert (failed.exit_code, failed.message) == (3, "file group f-1 was changed by ***: run it again")
    assert target.read_text() == "an older result"


def test_so_does_a_verdict(properties: dict[str, str], tmp_path: Path) -> None:
    for verdict, expected in (("2 problems", 1), (Failure(message="2 problems", exit_code=4), 4)):
        target = tmp_path / "result.json"
        code = run_job(
            lambda options, context: RESULT,
            CleanOptions,
            ["--base-path=/t", f"--result-file={target}"],
            verdict=lambda result, verdict=verdict: verdict,  # type: ignore[misc]
        )
        failed = FailedFile.from_json((tmp_path / "result.json.failed").read_text())
        assert (code, failed) == (expected, FailedFile(message="2 problems", exit_code=expected))
        assert JobResult.from_json(target.read_text()).state is JobState.COMPLETED


def test_where_stderr_is_seen_nothing_is_written(
    properties: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties.clear()
    properties.update(IN_CLIENT_MODE)
    assert job(tmp_path / "result.json") == 3
    assert "clean: error: file group f-1" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"message": "m", "exit_code": "x"}', "\udcff"])
def test_a_file_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="does not say why a job failed"):
        FailedFile.from_json(text)
