"""One Spark session for all tests of this folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.java import QUICK, needs_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def kafka_connector() -> list[str]:
    """Jars of Spark's Kafka connector, where ``scripts/kafka_env.py`` fetched them: a session gets none later."""
    folder = os.environ.get("PYHUDI_KAFKA_ENV") or Path(__file__).parents[2] / ".cache" / "kafka"
    record = Path(folder) / "jars.json"
    found: list[str] = json.loads(record.read_text())["connector"] if record.is_file() else []
    return [jar for jar in found if Path(jar).exists()]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two task slots, its workers this Python."""
    needs_java()
    from pyspark.sql import SparkSession

    from spark_jobs.engine.session import OLD_TIMES_AS_THEY_ARE, UNIX_SOCKETS

    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[variable] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config(map={**UNIX_SOCKETS, **OLD_TIMES_AS_THEY_ARE})
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", QUICK)
        .config("spark.jars", ",".join(kafka_connector()))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
