"""The jobs as a person starts them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark

from tests.java import QUICK

ROOT = Path(__file__).parents[2]


def spark_submit(job: str, *arguments: str, cores: int = 1) -> list[str]:
    """The line of spark-submit for a job on a local master; an ingest runs in a session of it."""
    if job == "ingest":
        arguments = (*arguments, "--engine", "spark")
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--master", f"local[{cores}]", "--driver-java-options", QUICK),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
        str(ROOT / "spark_jobs" / f"{job}.py"),
        *arguments,
    ]


def without_spark_submit(job: str, *arguments: str) -> list[str]:
    """The same job by Python alone: it reaches the point where it would start Spark."""
    return [sys.executable, str(ROOT / "spark_jobs" / f"{job}.py"), *arguments]


def ingest_by(engine: str, *arguments: str) -> list[str]:
    """An ingest on Spark, or in its own process."""
    if engine == "spark":
        return spark_submit("ingest", *arguments)
    return without_spark_submit("ingest", *arguments, "--engine", engine)


def ingest_arguments(table: Path, source: Path, *more: str) -> list[str]:
    return [
        *("--base-path", str(table), "--table-name", "t", "--source-format", "parquet", "--source", str(source)),
        *("--record-key-fields", "id", "--partition-path-fields", "p", "--precombine-field", "ts"),
        *("--hoodie-conf", "hoodie.index.bloom.num_entries=100", *more),
    ]


def environment() -> dict[str, str]:
    """PySpark's own Spark, this Python, this checkout."""
    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
