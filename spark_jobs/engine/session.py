"""The Spark session of one job."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError
from spark_jobs.engine.streams import started_by_spark_submit
from spark_jobs.options.source_packages import with_packages

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""A variable of PySpark: what Java is started with where spark-submit has not started it."""

SparkSettings: TypeAlias = dict[str, bool | float | int | str | None]
UNIX_SOCKETS: Final[SparkSettings] = {"spark.python.unix.domain.socket.enabled": "true"}
"""Python workers talk to Java by Unix sockets (Spark 4.1 and later; others ignore it). By TCP a task waits some 40 ms
for an acknowledgement that the system delays: Spark leaves Nagle's algorithm on.
"""
OLD_TIMES_AS_THEY_ARE: Final[SparkSettings] = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
}
"""Dates before 1582 and times before 1900 are read as files have them: the default of Spark 4, where 3.5 refuses files
that don't say who wrote them.
"""
SOCKET_FOLDER_LENGTH: Final = 61
"""Characters of the longest folder for such sockets (Spark: PYTHON_UNIX_DOMAIN_SOCKET_DIR)."""


@contextmanager
def job_session(job: str, *, debug: bool = False, packages: Sequence[str] = ()) -> Iterator[SparkSession]:
    """A session by the settings of spark-submit, stopped at the end.

    :param packages: Maven packages that the job needs. They are added where this process starts Java itself;
        spark-submit has started it already, and takes them by ``--packages``.

    Java's own log is kept off stderr, which belongs to the job's progress and its one line of error (what Spark would
    log of a failed task is in that error); with ``debug``, or where the user configured a log, it is as Spark has it.

    :raises ConfigError: pyspark and pyspark-client are installed in different versions; they overwrite each other's
        files.
    """
    refuse_mixed_versions()
    if packages and SparkContext._gateway is None and not started_by_spark_submit():
        os.environ[_ARGUMENTS] = submit_arguments(os.environ.get(_ARGUMENTS), packages)
        _start_java(packages)
    quiet = not debug and not _log_is_configured()
    if quiet:
        _silence_java()
    given = SparkContext.getSystemProperty
    settings = {
        **socket_settings(given),
        **{name: mode for name, mode in OLD_TIMES_AS_THEY_ARE.items() if not given(name)},
    }
    spark = SparkSession.builder.appName(f"pyhudi {job}").config(map=settings).getOrCreate()
    if quiet:
        spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def socket_settings(get: Callable[[str], str | None]) -> SparkSettings:
    """:data:`UNIX_SOCKETS` for a session whose workers run on this machine, where the user did not decide on them and
    the temporary folder of Java has a path short enough for the name of a socket.

    A cluster's executors have temporary folders of their own, which nobody can ask for here.

    :param get: a property of Java's, or a setting of Spark's.
    """
    is_local = (get("spark.master") or "").startswith("local")
    is_short = 0 < len(get("java.io.tmpdir") or "") <= SOCKET_FOLDER_LENGTH
    return UNIX_SOCKETS if is_local and is_short and not any(map(get, UNIX_SOCKETS)) else {}


def _start_java(packages: Sequence[str]) -> None:
    """
    :raises ConfigError: it ended at once, most likely because no repository has the packages.
    """
    try:
        SparkContext.getSystemProperty("java.version")
    except PySparkException as error:
        raise ConfigError(
            f"Java did not start with --packages {','.join(packages)} (its own lines stand above)",
            todo="give a version that a repository has by --packages of PYSPARK_SUBMIT_ARGS, or the jars by --jars",
        ) from error


def submit_arguments(given: str | None, packages: Sequence[str]) -> str:
    """The words with which PySpark starts Java, and packages beside those that they name already."""
    words = shlex.split(given or "pyspark-shell")
    place = words.index("--packages") + 1 if "--packages" in words[:-1] else 0
    named = with_packages(words[place] if place else None, packages)
    if place:
        words[place] = named or ""
    else:
        words = ["--packages", named or "", *words] if named else words
    return shlex.join(words)


def _log_is_configured() -> bool:
    """Whether the user said how Spark logs: by an option of spark-submit, or a file in Spark's conf folder."""
    options = ("spark.log.level", "log4j.configurationFile", "log4j2.configurationFile")
    if any(SparkContext.getSystemProperty(name) for name in options):
        return True
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    return folder is not None and any(Path(folder).glob("log4j2*"))


def _silence_java() -> None:
    """Give Log4j a configuration without output before the session's first lines; no option of Spark's does that."""
    jvm = SparkContext._jvm
    assert jvm is not None  # asking for a system property started it
    log4j = jvm.org.apache.logging.log4j
    with suppress(Py4JError):  # a Spark that has it otherwise shows its first lines
        # Spark installs its default configuration once, over any other: let it do that now, without a word
        jvm.org.apache.spark.SparkConf(False).initializeLogIfNecessary(False, True)
        builder = log4j.core.config.builder.api.ConfigurationBuilderFactory.newConfigurationBuilder()
        builder.add(builder.newAppender("none", "Null"))
        builder.add(builder.newRootLogger(log4j.Level.OFF).add(builder.newAppenderRef("none")))
        log4j.core.config.Configurator.reconfigure(builder.build())


def refuse_mixed_versions() -> None:
    """
    :raises ConfigError: the two distributions differ.
    """
    try:
        full, client = version("pyspark"), version("pyspark-client")
    except PackageNotFoundError:
        return
    if full != client:
        raise ConfigError(
            f"pyspark {full} and pyspark-client {client} share their files but not their version",
            todo=f"install pyspark=={client} and pyspark-client=={client}",
        )
