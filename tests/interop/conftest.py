"""Real Hudi and our own side, one of each for the whole run of the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.real_hudi import RealHudi
from tests.java import QUICK, has_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.interop.ours import Ours


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start a JVM need a Java runtime, and may take minutes."""
    java = has_java()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.interop)
        if {"real_hudi", "another_hudi", "spark"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.timeout(600))
            if not java:
                item.add_marker(pytest.mark.skip(reason="no Java: install a Java 17 runtime (openjdk-17-jre-headless)"))


@pytest.fixture(scope="session")
def real_hudi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHudi]:
    """Real Hudi 0.15.0, at its defaults."""
    with RealHudi(tmp_path_factory.mktemp("real-hudi") / "spark.log") as hudi:
        yield hudi


@pytest.fixture
def another_hudi(tmp_path: Path) -> Iterator[Callable[[str | None], RealHudi]]:
    """More processes of real Hudi: one to kill, or one that sees the metastore of the given URI."""
    started: list[RealHudi] = []

    def start(metastore_uri: str | None = None) -> RealHudi:
        started.append(RealHudi(tmp_path / f"another-{len(started)}.log", metastore_uri=metastore_uri))
        return started[-1]

    yield start
    for hudi in started:
        hudi.kill()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that our jobs run in."""
    from pyspark.sql import SparkSession

    from spark_jobs.engine.session import UNIX_SOCKETS

    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[variable] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("interop")
        .config("spark.ui.enabled", "false")
        .config(map=UNIX_SOCKETS)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", QUICK)
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def ours(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ours:
    """Our side: the jobs."""
    from tests.interop.ours import Ours

    return Ours(spark, tmp_path_factory.mktemp("ours"))
