"""A file of properties on any storage, and options of storage: what the job gets of them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from spark_jobs.core.lake import Lake
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.job import run_job
from spark_jobs.engine.properties_file import properties_in
from spark_jobs.options import CleanOptions, JobResult, JobState, OptionsError
from spark_jobs.options.private_values import write_options_file
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
RESULT = JobResult(action="clean", state=JobState.COMPLETED, reason="the secret is in-the-file")


def test_the_job_reads_it_wherever_it_lies(root: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    file = root / "conf" / "job.properties"
    file.write_text("hoodie.cleaner.commits.retained=3\nhoodie.x.password=in-the-file\n")
    seen: list[tuple[dict[str, str], str]] = []

    def body(options: CleanOptions, context: JobContext) -> JobResult:
        seen.append((options.hoodie_properties(), str(options.props)))
        assert stat.S_IMODE(Path(str(options.props)).stat().st_mode) == 0o600 or root.is_local
        return RESULT

    assert run_job(body, CleanOptions, ["--base-path=/t", f"--props={file}"], lake=root.lake) == 0
    properties = {"hoodie.cleaner.commits.retained": "3", "hoodie.x.password": "in-the-file"}
    assert [found for found, _ in seen] == [properties] == [properties_in(root.lake, str(file))]
    assert Path(seen[0][1]).exists() is root.is_local
    assert "in-the-file" not in capsys.readouterr().out


def test_one_that_is_not_there_or_is_none_is_named(root: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    file = root / "job.properties"
    with pytest.raises(OptionsError, match=r"--props .*job\.properties can't be read"):
        properties_in(root.lake, str(file))
    file.write_text("a=\\u12")
    assert run_job(lambda *_: RESULT, CleanOptions, ["--base-path=/t", f"--props={file}"], lake=root.lake) in (0, 2)
    if not root.is_local:
        assert capsys.readouterr().err.endswith(
            f"clean: error: {file}: \\u12 is no escape: give four hexadecimal digits\n"
        )


def test_storage_options_reach_the_lake_and_stand_in_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "options.json"
    write_options_file(str(file), {"storage_options": {"aws_secret_access_key": "in-the-file"}})
    lakes: list[Lake] = []

    def body(options: CleanOptions, context: JobContext) -> JobResult:
        lakes.append(context.lake)
        assert "in-the-file" not in repr(options) + repr(context.lake) + " ".join(options.to_args("/f"))
        return RESULT

    words = ["--base-path=/t", f"--options-file={file}", "--storage-option=aws_region=r"]
    assert run_job(body, CleanOptions, words) == 0
    assert lakes[0].object_settings == ({"aws_secret_access_key": "in-the-file", "aws_region": "r"},)
    assert "in-the-file" not in capsys.readouterr().out
    assert run_job(body, CleanOptions, ["--base-path=/t", "--storage-option=aws_regoin=r"]) == 2
    assert "the storage option aws_regoin is not known" in capsys.readouterr().err
