"""The jobs' code as a zip: the same bytes for the same code, and all that a task of Spark's imports."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from spark_jobs.engine import code_archive
from spark_jobs.engine.code_archive import cached_code_archive, main, write_code_archive
from tests.support.bare_python import bare_python

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
TASKS = "spark_jobs.write.direct.write, spark_jobs.services.compaction.execute, spark_jobs.options.registry"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("code") / "code.zip"
    write_code_archive(target)
    return target


def test_a_python_with_four_packages_runs_the_code_of_the_archive(archive: Path, tmp_path: Path) -> None:
    told = subprocess.run(
        [bare_python(tmp_path / "python"), "-c", f"import {TASKS}, pyhudi; print(spark_jobs.__file__)"],
        env={"PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == f"{archive}/spark_jobs/__init__.pyc"


def test_another_process_makes_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "spark_jobs.engine.code_archive", str(tmp_path / "code.zip")]
    subprocess.run(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert (tmp_path / "code.zip").read_bytes() == archive.read_bytes()


def test_all_modules_are_in_it_and_nothing_else_of_this_machine(archive: Path) -> None:
    names = set(zipfile.ZipFile(archive).namelist())
    modules = {str(one.relative_to(ROOT)) for folder in code_archive.PACKAGES for one in (ROOT / folder).rglob("*.py")}
    assert names == modules | {f"{one}c" for one in modules}


def test_a_cached_one_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(code_archive, "PACKAGES", ("pyhudi",))
    first = cached_code_archive(tmp_path)
    made = first.stat().st_mtime_ns
    assert first.parent == tmp_path / "cache" / "pyhudi"
    assert cached_code_archive(tmp_path) == first
    assert first.stat().st_mtime_ns == made


def test_a_cache_in_which_others_may_write_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(code_archive, "PACKAGES", ("pyhudi",))
    (tmp_path / "cache" / "pyhudi").mkdir(parents=True)
    (tmp_path / "cache" / "pyhudi").chmod(0o777)
    (tmp_path / "own").mkdir()
    assert cached_code_archive(tmp_path / "own").parent == tmp_path / "own"
    assert list((tmp_path / "cache" / "pyhudi").iterdir()) == []


def test_a_place_that_takes_no_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main([str(tmp_path / "file" / "code.zip")]) == 2
    assert capsys.readouterr().err.startswith(
        f"code_archive: error: the code archive can't be written to {tmp_path}/file"
    )
