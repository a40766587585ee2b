"""spark-submit for this provider's jobs: a local master by default, a clean kill, the job's own line as the error."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY, SparkSubmitHook
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    Connection,
)

from spark_jobs.options.failed_file import FailedFile

DEFAULT_SPARK_CONN_ID = "spark_default"
LOCAL_MASTER = "local[*]"
BAD_OPTIONS = 2
_ERROR_LINE = re.compile(r"^(\w+): error: (.*)$")
_SECONDS_BETWEEN_LOOKS = 0.1
_ONE_ATTEMPT = {"spark.yarn.maxAppAttempts": "1"}
"""YARN would run a driver that failed once more; retries are Airflow's, after the delay that the task has."""
_PYTHONS = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
_PYTHON_SETTINGS = ("spark.pyspark.python", "spark.pyspark.driver.python")


class _NoConnectionError(Exception):
    """Not Airflow's own kind: for that, the Spark provider's hook would take yarn."""

    def __init__(self, conn_id: str) -> None:
        super().__init__(f"spark_conn_id={conn_id} is no connection of this Airflow: add it, or name one that is there")


class HudiSparkSubmitHook(SparkSubmitHook):
    """The Spark provider's hook, but for four things.

    - Where no connection is named and there is no ``spark_default``, the master is ``local[*]`` (or ``spark.master`` of
      ``conf``), never yarn. A connection that is named has to be there.
    - spark-submit comes from ``spark_binary``, else from SPARK_HOME, else from the installed PySpark, else from PATH.
    - It runs in a process group of its own. :meth:`on_kill` sends SIGTERM to the group, so that the driver's Python
      releases what it holds, and SIGKILL to what is left of it after ``kill_grace_seconds``. Should Airflow end the
      task's own process before that, the job goes on and ends by itself.
    - A job's one line of error is the exception's message; one about bad options (exit code 2) is not retried.

    :param job: name of the job in messages.
    :param conn_id: a connection of type ``spark``; ``spark_default`` without it.
    :raises AirflowFailException: there is no connection of the name that was given.
    :param kill_grace_seconds: seconds between SIGTERM and SIGKILL.
    """

    def __init__(
        self, *, job: str = "job", kill_grace_seconds: float = 30.0, conn_id: str | None = None, **kwargs: Any
    ) -> None:
        self.job = job
        self._connection_is_named = conn_id is not None
        self.get_connection = self._own_connection  # type: ignore[method-assign]  # which the Spark provider's hook asks
        self.kill_grace_seconds = kill_grace_seconds
        self._error_line: str | None = None
        self._killed = False
        super().__init__(conn_id=conn_id or DEFAULT_SPARK_CONN_ID, **kwargs)
        if self.driver_is_remote and self.master.startswith("yarn"):
            self._conf = {**_ONE_ATTEMPT, **self._conf}

    def _own_connection(self, conn_id: str) -> Connection:
        """The connection of that name; one to the local master where nobody named one and the default is not there."""
        try:
            return type(self).get_connection(conn_id)
        except AirflowNotFoundException:
            if self._connection_is_named:
                raise _NoConnectionError(conn_id) from None
            master = (self._conf or {}).get("spark.master", LOCAL_MASTER)
            self.log.info("There is no connection %s, and none is named: the master is %s", conn_id, master)
            return Connection(conn_id=conn_id, conn_type="spark", host=master)

    def _resolve_connection(self) -> dict[str, Any]:
        try:
            resolved: dict[str, Any] = super()._resolve_connection()
        except _NoConnectionError as error:
            raise AirflowFailException(str(error)) from None
        if resolved["master"] == LOCAL_MASTER:
            resolved["master"] = self._conf.get("spark.master", LOCAL_MASTER)
        return resolved

    @property
    def application_args(self) -> list[str]:
        """The words for the job itself."""
        return list(self._application_args or [])

    @application_args.setter
    def application_args(self, words: list[str]) -> None:
        self._application_args = words

    def bring_file(self, path: str) -> None:
        """Have spark-submit bring one more file into the folder in which the driver runs."""
        self._files = ",".join(filter(None, [self._files, path]))

    def bring_code(self, archive: str) -> None:
        """Have driver and executors import the jobs from an archive, before whatever else they have of them."""
        self._py_files = ",".join(filter(None, [archive, self._py_files]))

    @property
    def master(self) -> str:
        """The cluster, as spark-submit takes it."""
        return str(self._connection["master"])

    @property
    def master_is_local(self) -> bool:
        """Whether driver and tasks are of one process on this machine."""
        return self.master.startswith("local")

    @property
    def driver_is_remote(self) -> bool:
        """Whether the job runs on another machine than spark-submit."""
        return bool(self._connection["deploy_mode"] == "cluster")

    def submit(
        self, application: str = "", *, told: Callable[[], FailedFile | None] = lambda: None, **kwargs: Any
    ) -> str | None:
        """Run spark-submit to its end, its whole output in the task's log.

        :param told: why the job failed, for one whose stderr does not come here.
        :raises AirflowFailException: the job refused its options.
        :raises AirflowException: it failed otherwise, or was killed.
        """
        if self._killed:
            raise AirflowException(f"{self.job} was killed before it began")
        self._env_vars = {**self._environment(), **(self._env_vars or {})} or None
        try:
            driver_id: str | None = super().submit(
                application, process_group=0, stdin=subprocess.DEVNULL, errors="replace", **kwargs
            )
        except FileNotFoundError as error:
            raise AirflowFailException(
                f"{error.filename} can't be run: install pyspark beside Airflow, set SPARK_HOME, or give spark_binary"
            ) from None
        except AirflowException:
            if self._killed:
                raise AirflowException(f"{self.job} was killed") from None
            failed = self._failure() or told()
            if failed is None:
                raise
            kind = AirflowFailException if failed.exit_code == BAD_OPTIONS else AirflowException
            raise kind(f"{self.job} failed with exit code {failed.exit_code}: {failed.message}") from None
        except BaseException:
            self.on_kill()
            raise
        return driver_id

    def on_kill(self) -> None:
        """End the job: SIGTERM, then SIGKILL after the grace period; in a cluster as the Spark provider does."""
        self._killed = True
        if not self.driver_is_remote:
            self._end_group()
        super().on_kill()

    def _failure(self) -> FailedFile | None:
        """By the line of error among what spark-submit said."""
        if self._error_line is None or self._submit_sp is None:
            return None
        return FailedFile(message=self._error_line, exit_code=self._submit_sp.returncode)

    def _get_spark_binary_path(self) -> list[str]:
        binary = self._connection["spark_binary"]
        return [binary if binary != DEFAULT_SPARK_BINARY else self._find_spark_submit()]

    def _find_spark_submit(self) -> str:
        home = (self._env_vars or {}).get("SPARK_HOME") or os.environ.get("SPARK_HOME") or _pyspark_home()
        if home:
            return str(Path(home, "bin", DEFAULT_SPARK_BINARY))
        return shutil.which(DEFAULT_SPARK_BINARY) or DEFAULT_SPARK_BINARY

    def _environment(self) -> dict[str, str]:
        """What a local master needs so that driver and workers are this Python with this PySpark; of a cluster the
        driver, where it runs here and nobody said by which Python.
        """
        if not self.master_is_local:
            return self._python_of_driver()
        found = {name: sys.executable for name in _PYTHONS if name not in os.environ}
        home = _pyspark_home()
        if home and "SPARK_HOME" not in os.environ and self._connection["spark_binary"] == DEFAULT_SPARK_BINARY:
            found["SPARK_HOME"] = home
        if "SPARK_LOCAL_IP" not in os.environ:
            found["SPARK_LOCAL_IP"] = "127.0.0.1"  # else Spark looks the host name up, and warns at a loopback
        return found

    def _python_of_driver(self) -> dict[str, str]:
        given = {**os.environ, **(self._env_vars or {})}
        is_said = any(given.get(name) for name in _PYTHONS) or any(name in self._conf for name in _PYTHON_SETTINGS)
        return {} if is_said or self.driver_is_remote else {"PYSPARK_DRIVER_PYTHON": sys.executable}

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        super()._process_spark_submit_log(self._noting_errors(itr))

    def _noting_errors(self, lines: Iterator[Any]) -> Iterator[Any]:
        for line in lines:
            self._note_error(line)
            yield line

    def _note_error(self, line: str) -> None:
        if (match := _ERROR_LINE.match(line.strip())) and match[1] == self.job:
            self._error_line = match[2]

    def _end_group(self) -> None:
        process = self._submit_sp
        if process is None or not _alive(process.pid):
            return
        self.log.info("Sending SIGTERM to process group %s", process.pid)
        _signal_group(process.pid, signal.SIGTERM)
        if self._gone_within(process, self.kill_grace_seconds):
            return
        self.log.warning("Sending SIGKILL to process group %s after %s s", process.pid, self.kill_grace_seconds)
        _signal_group(process.pid, signal.SIGKILL)

    def _gone_within(self, process: Any, seconds: float) -> bool:
        """Wait for the group's end, reading what it says: a full pipe would keep the driver from ending."""
        from spark_jobs.core.clock import SYSTEM_CLOCK

        deadline = SYSTEM_CLOCK.monotonic() + seconds
        output = [process.stdout.fileno()] if process.stdout and not process.stdout.closed else []
        while _alive(process.pid):
            if SYSTEM_CLOCK.monotonic() > deadline:
                return False
            readable, _, _ = select.select(output, [], [], _SECONDS_BETWEEN_LOOKS)
            if readable:
                text = os.read(output[0], 65536).decode(errors="replace")
                output = output if text else []
                for line in text.splitlines():
                    self._note_error(line)
                    self.log.info(line)
        return True


def _pyspark_home() -> str | None:
    """The folder of the installed PySpark, which is a whole SPARK_HOME; found without importing it."""
    spec = find_spec("pyspark")
    home = Path(spec.origin).parent if spec and spec.origin else None
    return str(home) if home and (home / "bin" / DEFAULT_SPARK_BINARY).is_file() else None


def _alive(group: int) -> bool:
    """Whether any process of the group still runs; a zombie does not."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
        except (ProcessLookupError, psutil.Error):  # it ended while we looked
            continue
    return False


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:  # it ended by itself
        return
