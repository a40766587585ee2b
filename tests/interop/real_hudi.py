"""The Python side of ``hudi_server.py``: start it, ask it, stop it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.interop.lines import LineClient
from tests.java import QUICK

ROOT = Path(__file__).resolve().parents[2]
SESSION = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}


class RealHudi(LineClient):
    """Real Hudi 0.15.0 in a process of its own, at its defaults; what it raises comes as ``ServerError``.

    :param log: takes what Spark prints.
    :param metastore_uri: with one, ``sql`` sees the tables of that Hive metastore.
    :param memory: the JVM's heap.
    :param session: more Spark settings.
    :param java_options: of the JVM; the default is for one that lives for minutes.
    :param server: the module that serves, for one with more commands.
    :param jars: more of them for the class path.
    :param log_settings: a file of log4j's, for one that logs; without it Hudi's log goes nowhere, as its jars bring an
        older SLF4J than Spark's that finds nothing to write to.
    """

    def __init__(
        self,
        log: Path,
        *,
        metastore_uri: str | None = None,
        memory: str = "2g",
        master: str = "local[2]",
        session: Mapping[str, str] | None = None,
        java_options: str = QUICK,
        server: str = "tests.interop.hudi_server",
        jars: Sequence[str] = (),
        log_settings: Path | None = None,
    ) -> None:
        environment = prepare_environment()
        self._scratch = tempfile.TemporaryDirectory(prefix="real-hudi-")
        command = [environment["python"], "-m", server]
        if metastore_uri is not None:
            command += ["--metastore-uri", metastore_uri]
        environment["jars"] = [*environment["jars"], *jars]
        if log_settings is not None:
            environment["jars"] = [jar for jar in environment["jars"] if "slf4j-api" not in jar]
            java_options += f" -Dlog4j2.configurationFile=file:{log_settings}"
        variables = _variables(environment, memory, master, session or {}, java_options)
        super().__init__(command, variables, log, Path(self._scratch.name))

    def read(
        self,
        path: Path | str,
        query: str = "snapshot",
        *,
        begin: str | None = None,
        end: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows of a query (snapshot, read_optimized, incremental), meta fields first."""
        output = self._fresh("read")
        self.ask("read", path=str(path), output=output, query=query, begin=begin, end=end, options=options)
        return pq.read_table(output)

    def select(self, text: str) -> pa.Table:
        """The rows of a SELECT."""
        output = self._fresh("select")
        self.ask("sql", text=text, output=output)
        return pq.read_table(output)

    def sql(self, text: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.ask("sql", text=text)
        return rows

    def write(
        self,
        path: Path | str,
        rows: pa.Table | Path,
        operation: str,
        options: Mapping[str, str],
        *,
        mode: str = "append",
    ) -> float:
        """Write rows (or a Parquet file) by one of Hudi's operations; the seconds that Hudi took."""
        source = str(self.stage(rows) if isinstance(rows, pa.Table) else rows)
        seconds: float = self.ask(
            "write", path=str(path), source=source, operation=operation, options=dict(options), mode=mode
        )
        return seconds

    def stage(self, rows: pa.Table) -> Path:
        """Rows as a Parquet file that the server can read."""
        file = Path(self._fresh("rows") + ".parquet")
        pq.write_table(rows, file)
        return file

    def compact(self, path: Path | str, **args: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.ask("compact", path=str(path), **args)
        return rows

    def cluster(self, path: Path | str, **args: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.ask("cluster", path=str(path), **args)
        return rows

    def clean(self, path: Path | str, **args: Any) -> int:
        """Clean by path; the number of deleted files."""
        deleted: int = self.ask("clean", path=str(path), **args)
        return deleted

    def rollback(self, path: Path | str, instant: str) -> bool:
        done: bool = self.ask("rollback", path=str(path), instant=instant)
        return done

    def downgrade(self, path: Path | str, version: str) -> None:
        """Take a table down to an older version, named as in HoodieTableVersion (``FIVE``)."""
        self.ask("downgrade", path=str(path), version=version)

    def show_commits(self, path: Path | str) -> list[dict[str, str]]:
        """The active timeline, oldest first: ``{"instant", "action", "state"}``."""
        commits: list[dict[str, str]] = self.ask("show_commits", path=str(path))
        return commits

    def slices(self, path: Path | str, *, metadata: bool = True) -> dict[str, list[dict[str, Any]]]:
        """The latest slices by partition: ``{"file_id", "base_instant", "base", "logs"}``."""
        found: dict[str, list[dict[str, Any]]] = self.ask("slices", path=str(path), metadata=metadata)
        return found

    def files(self, path: Path | str, *, metadata: bool = True) -> dict[str, dict[str, int]]:
        """Bytes by name of all data files by partition, by the metadata table or by listing storage."""
        found: dict[str, dict[str, int]] = self.ask("files", path=str(path), metadata=metadata)
        return found

    def column_stats(self, path: Path | str, column: str) -> dict[str, list[Any]]:
        """[low, high, nulls, values] of a column by ``partition/file``, as the metadata table's index has them."""
        found: dict[str, list[Any]] = self.ask("column_stats", path=str(path), column=column)
        return found

    def validate(self, path: Path | str) -> list[str]:
        """What Hudi finds wrong with a table's metadata table: see ``hudi_validation``."""
        found: list[str] = self.ask("validate", path=str(path))
        return found

    def schedule_index(self, path: Path | str, partitions: Sequence[str], options: Mapping[str, str]) -> str:
        """Plan an indexing action for partitions of the metadata table; its instant."""
        instant: str = self.ask("schedule_index", path=str(path), partitions=list(partitions), options=dict(options))
        return instant

    def index(self, path: Path | str, instant: str, options: Mapping[str, str]) -> None:
        """Execute an indexing action."""
        assert self.ask("index", path=str(path), instant=instant, options=dict(options))

    def kill(self) -> None:
        super().kill()
        self._scratch.cleanup()

    def stop(self) -> None:
        super().stop()
        self._scratch.cleanup()

    def _fresh(self, name: str) -> str:
        return str(Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._scratch.name)) / "data")


def prepare_environment() -> dict[str, Any]:
    """What ``scripts/real_hudi_env.py`` made or found: python, spark_home, jars.

    :raises RuntimeError: it could not be made; the message says why.
    """
    script = ROOT / "scripts" / "real_hudi_env.py"
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{script.name} failed with exit code {done.returncode}: run it by hand to see why")
    environment: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return environment


def _variables(
    environment: Mapping[str, Any], memory: str, master: str, session: Mapping[str, str], java_options: str
) -> dict[str, str]:
    settings = {**SESSION, "spark.driver.memory": memory, "spark.master": master, **session}
    arguments = [
        "--driver-class-path",
        ":".join(environment["jars"]),
        "--driver-java-options",
        java_options,
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "pyspark-shell",
    ]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "SPARK_HOME": environment["spark_home"],
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": environment["python"],
        "PYSPARK_DRIVER_PYTHON": environment["python"],
        "PYSPARK_SUBMIT_ARGS": shlex.join(arguments),
    }
