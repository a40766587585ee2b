"""One broker for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import kafka_connector
from tests.spark.kafka_broker import KafkaBroker, prepared_jars
from tests.spark.sources.reading import Make, Reading


@pytest.fixture(scope="session")
def broker(spark: SparkSession) -> Iterator[KafkaBroker]:
    """A broker, beside a session that can read it."""
    jars = prepared_jars()
    if not spark.conf.get("spark.jars", ""):
        pytest.fail("this session began before scripts/kafka_env.py had fetched the connector: run it first")
    assert kafka_connector() == jars["connector"]
    started = KafkaBroker(jars["broker"])
    yield started
    started.stop()


@pytest.fixture
def reading(spark: SparkSession, broker: KafkaBroker, tmp_path: Path) -> Make:
    """A new topic of so many partitions, and the ingest of it."""
    return lambda partitions=1: Reading(spark, broker, tmp_path / "t", partitions)
