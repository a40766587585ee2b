"""Both distributions, built and installed in empty environments: each brings what it needs, no more, and works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.java import needs_java

pytestmark = pytest.mark.installs

ROOT = Path(__file__).parents[2]
ONE_COMMIT = "hoodie.compact.inline.max.delta.commits=1"
_TABLE = """
import pyarrow as pa
from pyhudi import HudiTable

table = HudiTable.create({path!r}, name="trips", table_type="MERGE_ON_READ", record_key_fields=["id"])
table.upsert(pa.table({{"id": [1, 2], "fare": [1.0, 2.0]}}))
table.refreshed().upsert(pa.table({{"id": [2], "fare": [3.0]}}))
"""
_READ = """
from pyhudi import HudiTable

print(sorted(HudiTable.open({path!r}).scan().to_arrow().select(["id", "fare"]).to_pylist(), key=lambda row: row["id"]))
"""
_SOURCE = """
import pyarrow as pa, pyarrow.parquet as pq

pq.write_table(pa.table({{"id": [3], "fare": [4.0]}}), {path!r})
"""


class Installed:
    """An environment of its own, in which nothing of this clone can be imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.elsewhere = folder.parent / f"{folder.name}-work"
        self.elsewhere.mkdir()

    def __call__(self, *words: str, **environment: str) -> str:
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        done = subprocess.run(
            [str(self.folder / "bin" / "python"), *words],
            cwd=self.elsewhere,
            env={**kept, "PATH": "/nonexistent", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{' '.join(words)[:200]}: {done.stderr[-4000:]}"
        return done.stdout

    def script(self, text: str, **environment: str) -> str:
        return self("-c", text, **environment)

    def lacks(self, *packages: str) -> bool:
        """Whether none of them can be imported there."""
        found = self.script(
            f"import importlib.util as u; print([n for n in {list(packages)!r} if u.find_spec(n) is not None])"
        )
        return found.strip() == "[]"


Install = Callable[[str], Installed]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both wheels, built from this clone."""
    into = tmp_path_factory.mktemp("wheels")
    for folder in (ROOT / "distributions" / "pyhudi", ROOT):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
    return into


@pytest.fixture
def install(tmp_path: Path, wheels: Path) -> Install:
    """Makes an empty environment and installs what is named, with the versions that the tests run with."""

    def make(wanted: str) -> Installed:
        folder = tmp_path / "environment"
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        pip += ["--no-input", "--constraint", str(ROOT / "constraints.txt"), "--find-links", str(wheels), wanted]
        done = subprocess.run(pip, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-2000:]
        return Installed(folder)

    return make


def test_tables_and_services_need_neither_spark_nor_airflow(install: Install, tmp_path: Path) -> None:
    python, path = install("pyhudi"), str(tmp_path / "trips")

    assert python.lacks("pyspark", "airflow", "pandas", "sqlglot", "pymetastore", "airflow_provider_pyhudi", "tests")
    said = python.script("try:\n    from pyhudi import read\nexcept ImportError as error:\n    print(error)")
    assert said.strip() == "pyhudi.read needs PySpark: pip install 'pyhudi[spark]'"
    python.script(_TABLE.format(path=path))
    # Every slice is compacted, by the same command that a task of Airflow's runs.
    told = python("-m", "spark_jobs.compact", "--base-path", path, "--engine", "local", "--hoodie-conf", ONE_COMMIT)

    assert '"state":"COMPLETED"' in told
    assert python.script(_READ.format(path=path)).strip() == "[{'id': 1, 'fare': 1.0}, {'id': 2, 'fare': 3.0}]"


def test_jobs_on_spark_need_pyspark_alone(install: Install, tmp_path: Path) -> None:
    python, path, source = install("pyhudi[spark]"), str(tmp_path / "trips"), str(tmp_path / "late.parquet")
    needs_java()

    assert python.lacks("airflow", "sqlglot", "pymetastore", "airflow_provider_pyhudi")
    python.script(_TABLE.format(path=path))
    python.script(_SOURCE.format(path=source))
    python(
        *("-m", "spark_jobs.ingest", "--base-path", path, "--op", "upsert"),
        *("--source", source, "--source-format", "parquet", "--engine", "spark"),
        PATH=os.environ["PATH"],
    )

    assert "{'id': 3, 'fare': 4.0}" in python.script(_READ.format(path=path))


def test_the_provider_brings_all_that_its_operators_use(install: Install, tmp_path: Path) -> None:
    python = install("airflow-provider-pyhudi")
    home = str(tmp_path / "airflow")

    told = python("-m", "airflow", "providers", "list", "--output", "plain", AIRFLOW_HOME=home, PATH="/usr/bin:/bin")

    assert "airflow-provider-pyhudi" in told
    python.script(
        "import importlib, pkgutil, airflow_provider_pyhudi as provider\n"
        "for one in pkgutil.walk_packages(provider.__path__, provider.__name__ + '.'):\n"
        "    importlib.import_module(one.name)\n"
        "import pyhudi, spark_jobs.hive.client, spark_jobs.ddl.statement, pyspark\n"
        "pyhudi.HudiTable, pyhudi.read\n",
        AIRFLOW_HOME=home,
    )
