"""``validate.py`` as its caller sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.engine.job import run_job
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.validate import ValidateOptions
from spark_jobs.services.validation.finding import INVARIANTS
from spark_jobs.services.validation.job import not_sound, run_validation
from tests import hudi_tables
from tests.support.folder import Folder
from tests.unit.services.validation.damage import data_files, make_old

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[4]


def validate(base: Folder, *words: str) -> int:
    return run_job(run_validation, ValidateOptions, [f"--base-path={base}", *words], lake=base.lake, verdict=not_sound)


def test_a_sound_table(tmp_path: Path) -> None:
    base = hudi_tables.unpack("tables/mor_logs", tmp_path / "mor_logs")
    done = subprocess.run(
        [sys.executable, "spark_jobs/validate.py", "--base-path", str(base), "--deep"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert result["extra"] == {
        "sound": True,
        "deep": True,
        "engine": "local",
        "errors": 0,
        "warnings": 0,
        "findings": [],
    }
    assert result["files_in"] > 0
    assert "pyspark" not in done.stderr


def test_a_dry_run_says_what_would_be_read_and_judges_nothing(
    unpack: Callable[[str], Folder], capsys: pytest.CaptureFixture[str]
) -> None:
    base = unpack("tables/cow_upserts")
    path = data_files(base)[-1]
    (base / path).unlink()
    assert validate(base, "--dry-run", "--deep") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (result["state"], result["extra"]) == ("DRY_RUN", {})
    assert result["plan"]["deep"]
    assert result["plan"]["bytes_of_rows"] > 0
    assert result["plan"]["files_opened"] > 0
    assert result["files_in"] >= len(data_files(base))


def test_findings_are_lines_and_objects_and_end_with_1(
    unpack: Callable[[str], Folder], root: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    base = unpack("tables/cow_upserts")
    path = data_files(base)[-1]
    (base / path).unlink()
    assert validate(base, f"--result-file={root}/result.json") == 1
    printed = capsys.readouterr()
    result = json.loads((root / "result.json").read_text())
    assert json.loads(printed.out.splitlines()[-1]) == result
    assert (result["extra"]["sound"], result["extra"]["errors"]) == (False, 2)
    first = result["extra"]["findings"][0]
    assert (first["invariant"], first["severity"], first["path"]) == (5, "ERROR", path)
    assert first["invariant"] in INVARIANTS
    assert f"validate: ERROR (invariant 5) {path}: " in printed.err
    assert printed.err.splitlines()[-1] == (
        f"validate: the table is not sound: 2 error(s), 0 warning(s); the first at {path}"
    )


def test_warnings_end_with_1_only_where_they_are_asked_to(unpack: Callable[[str], Folder]) -> None:
    base = unpack("tables/mor_pending_compaction")
    make_old(next(base.glob(".hoodie/*.compaction.requested")), 30)
    assert validate(base) == 0
    assert validate(base, "--strict") == 1
    assert validate(base, "--strict", "--overdue-hours=100") == 0


def test_no_table_ends_with_5(root: Folder) -> None:
    assert validate(root) == 5


def test_hours_below_zero_are_refused() -> None:
    with pytest.raises(OptionsError, match="--overdue-hours=-1 is not valid: give 0 or more"):
        ValidateOptions(base_path="/t", overdue_hours=-1)
