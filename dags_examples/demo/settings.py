"""Where a run of the demo keeps its things, and the variables that Airflow and the DAG are started with."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dags_examples.demo.frames import EVERY_VARIABLE

DIRECTORY_VARIABLE = "FLIGHTS_DEMO_DIRECTORY"
METASTORE_VARIABLE = "FLIGHTS_DEMO_METASTORE"
LAKE_VARIABLE = "FLIGHTS_DEMO_LAKE"
"""Where sources and tables lie, if not in the directory: the URL of a folder."""
CONNECTION_VARIABLE = "AIRFLOW_CONN_METASTORE_DEFAULT"
"""Airflow's own name for its default Hive metastore connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Everything that a run writes, below one directory; ``lake`` is the URL of a folder that has sources and tables in
    its place, empty for none.
    """

    directory: Path
    lake: str = ""

    @property
    def airflow_home(self) -> Path:
        return self.directory / "airflow"

    @property
    def airflow_database(self) -> Path:
        return self.airflow_home / "airflow.db"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def metastore(self) -> Path:
        return self.directory / "metastore"

    @property
    def s3(self) -> Path:
        """The server of S3, where the demo has one: its log, and what is installed for it."""
        return self.directory / "s3"

    @property
    def tables(self) -> str:
        return f"{self.lake or self.directory}/tables"

    @property
    def results(self) -> Path:
        return self.directory / "results.json"

    @property
    def verification(self) -> Path:
        return self.directory / "verification.json"

    @property
    def every(self) -> Path:
        """Which flights the directory's tables are made of: n, for every n-th."""
        return self.directory / ".every"

    @property
    def lake_note(self) -> Path:
        """Where the directory's tables lie: the URL of their lake, or nothing for the directory."""
        return self.directory / ".lake"

    @property
    def picture(self) -> Path:
        return self.directory / "timeline.svg"


def environment(places: Places, metastore_uris: str, inherited: Mapping[str, str], *, every: int = 1) -> dict[str, str]:
    """The variables of the Airflow processes: SQLite and logs below the directory, and these DAGs alone."""
    binaries = str(Path(sys.executable).parent)
    return {
        **inherited,
        "PATH": os.pathsep.join([binaries, inherited.get("PATH", os.defpath)]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "AIRFLOW_HOME": str(places.airflow_home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).resolve().parent.parent),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{places.airflow_database}",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(places.logs / "tasks"),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        DIRECTORY_VARIABLE: str(places.directory),
        LAKE_VARIABLE: places.lake,
        METASTORE_VARIABLE: metastore_uris,
        EVERY_VARIABLE: str(every),
    }


def configured_metastore(variables: Mapping[str, str]) -> str | None:
    """The Thrift URI of an Airflow connection ``metastore_default`` that the environment carries, or None.

    :raises ValueError: the connection names no host.
    """
    text = variables.get(CONNECTION_VARIABLE, "").strip()
    if not text:
        return None
    if text.startswith("{"):
        found = json.loads(text)
        host, port = found.get("host"), found.get("port")
    else:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    if not host:
        raise ValueError(f"{CONNECTION_VARIABLE}={text} names no host: give hive_metastore://host:port")
    return f"thrift://{host}:{port or 9083}"
