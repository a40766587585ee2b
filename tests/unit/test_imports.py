"""Who may do without whom, tried in fresh interpreters: every module is imported with other packages blocked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spark_jobs.options.registry import JOBS

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]

WALK = """
import importlib, importlib.abc, pkgutil, sys

package, blocked, only_standard_library, absent = sys.argv[1], sys.argv[2].split(","), sys.argv[3] == "1", sys.argv[4]

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        foreign = only_standard_library and top not in sys.stdlib_module_names and top != package.partition(".")[0]
        if top in blocked or foreign:
            raise ModuleNotFoundError(f"{name} is blocked here", name=name)
        return None

sys.meta_path.insert(0, Blocker())
root = importlib.import_module(package)
count = 1
for found in pkgutil.walk_packages(root.__path__, package + "."):
    importlib.import_module(found.name)
    count += 1
loaded = [name for name in sys.modules if absent and (name + ".").startswith(absent + ".")]
assert not loaded, f"importing {package} loads {loaded}"
print(count)
"""


def walk(
    tmp_path: Path, package: str, *, blocked: str = "-", only_standard_library: bool = False, absent: str = ""
) -> int:
    """Import all modules of ``package`` in a new process; the number of modules."""
    outcome = subprocess.run(
        [sys.executable, "-c", WALK, package, blocked, "1" if only_standard_library else "0", absent],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "AIRFLOW_HOME": str(tmp_path / "airflow")},
    )
    assert outcome.returncode == 0, outcome.stderr
    return int(outcome.stdout.split()[-1])


def test_the_table_format_needs_neither_spark_nor_airflow(tmp_path: Path) -> None:
    assert walk(tmp_path, "spark_jobs.core", blocked="pyspark,airflow,pandas") > 10


def test_options_need_the_standard_library_only(tmp_path: Path) -> None:
    assert walk(tmp_path, "spark_jobs.options", only_standard_library=True, absent="spark_jobs.core") > 3


def test_services_and_hive_need_no_spark(tmp_path: Path) -> None:
    walk(tmp_path, "spark_jobs.services", blocked="pyspark,airflow,pandas")
    walk(tmp_path, "spark_jobs.hive", blocked="pyspark,airflow,pandas")


def test_the_provider_needs_no_spark_and_loads_the_table_format_lazily(tmp_path: Path) -> None:
    assert walk(tmp_path, "airflow_provider_pyhudi", blocked="pyspark", absent="spark_jobs.core") > 5


def test_beside_the_packages_stand_the_entry_points_of_jobs_which_nothing_imports() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (ours,) = (one for one in layers if one.get("containers") == ["spark_jobs"])
    named = {name.strip() for layer in ours["layers"] for name in re.split("[:|]", layer)}
    packages = {one.parent.name for one in (ROOT / "spark_jobs").glob("*/__init__.py")}
    entries = {one.stem for one in (ROOT / "spark_jobs").glob("*.py")} - {"__init__"}
    assert packages == named
    assert entries == {job.options.job for job in JOBS}
    names = "|".join(entries)
    imported = re.compile(rf"(from|import) spark_jobs\.({names})\b|from spark_jobs import .*\b({names})\b")
    folders = ("airflow_provider_pyhudi", "pyhudi", "spark_jobs", "dags_examples")
    modules = [one for folder in folders for one in (ROOT / folder).rglob("*.py")]
    assert [str(one) for one in modules if imported.search(one.read_text())] == []


def test_both_distributions_have_one_version() -> None:
    provider, tables = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        for folder in ("", "distributions/pyhudi")
    )
    assert provider["version"] == tables["version"]
    assert f"pyhudi[ddl,hive,objects,spark]=={tables['version']}" in provider["dependencies"]


def test_no_test_is_imported_by_another() -> None:
    """What several of them use stands in a module of its own, in ``tests/support`` where they are of several suites."""
    taken = re.compile(r"^(?:from|import) tests\.[\w.]*\btest_\w+|^from tests\.[\w.]* import .*\btest_\w+", re.M)
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 300
    assert [str(one.relative_to(ROOT)) for one in files if taken.search(one.read_text())] == []
