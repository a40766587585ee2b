"""What the built wheel carries: the demo must run from it, outside the clone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    outcome = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    (path,) = folder.glob("airflow_provider_pyhudi-*.whl")
    return zipfile.ZipFile(path)


def test_the_three_packages_and_nothing_else_are_inside(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    packages = {top for top in tops if not top.endswith(".dist-info")}
    assert packages == {"airflow_provider_pyhudi", "spark_jobs", "dags_examples"}


def test_the_demo_is_inside(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {
        "dags_examples/flights_demo.py",
        "dags_examples/.airflowignore",
        "dags_examples/demo/verify.py",
        "spark_jobs/ingest.py",
        "spark_jobs/core/table.py",
    } <= names


def test_entry_points_and_metadata(wheel: zipfile.ZipFile) -> None:
    (folder,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    entry_points = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "provider_info = airflow_provider_pyhudi.get_provider_info:get_provider_info" in entry_points
    assert "pyhudi-demo = dags_examples.demo.runner:main" in entry_points
    metadata = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()
