"""The Spark session of one job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError


@contextmanager
def job_session(job: str) -> Iterator[SparkSession]:
    """A session by the settings of spark-submit, stopped at the end.

    :raises ConfigError: pyspark and pyspark-client are installed in different versions; they overwrite each
        other's files.
    """
    refuse_mixed_versions()
    spark = SparkSession.builder.appName(f"pyhudi {job}").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


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
