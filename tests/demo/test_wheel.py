"""What the built wheels carry: the demo must run from them, outside the clone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]


def built(project: Path, folder: Path) -> zipfile.ZipFile:
    outcome = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(project)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Of the provider."""
    return built(ROOT, tmp_path_factory.mktemp("provider"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Of ``pyhudi``."""
    return built(ROOT / "distributions" / "pyhudi", tmp_path_factory.mktemp("tables"))


def packages(wheel: zipfile.ZipFile) -> set[str]:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    return {top for top in tops if not top.endswith(".dist-info")}


def test_each_package_is_in_one_of_them(wheel: zipfile.ZipFile, tables: zipfile.ZipFile) -> None:
    assert packages(wheel) == {"airflow_provider_pyhudi", "dags_examples"}
    assert packages(tables) == {"pyhudi", "spark_jobs"}
    assert not [name for name in tables.namelist() if name.endswith(".pyc")]


def test_the_demo_is_inside(wheel: zipfile.ZipFile, tables: zipfile.ZipFile) -> None:
    names = {*wheel.namelist(), *tables.namelist()}
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
