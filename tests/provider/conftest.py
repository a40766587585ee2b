"""A real Airflow: its database is SQLite in a folder of the session, its provider registry the real one."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_HOME = tempfile.TemporaryDirectory(prefix="pyhudi-airflow-")

# Airflow reads these when it is first imported, which collecting the tests already does.
os.environ.update(
    {
        "AIRFLOW_HOME": _HOME.name,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": f"{_HOME.name}/dags",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{_HOME.name}/airflow.db",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
)


@pytest.fixture(scope="session")
def airflow_database() -> Iterator[None]:
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True, text=True)
    yield
    _HOME.cleanup()
