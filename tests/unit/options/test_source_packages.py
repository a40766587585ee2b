"""Which Maven packages a source needs, beside those that the user names."""

from __future__ import annotations

import pytest

from spark_jobs.options.source_packages import packages_for, spark_version, with_packages

pytestmark = pytest.mark.unit

AVRO = "org.apache.spark:spark-avro_2.13:4.2.0"
KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"


@pytest.mark.parametrize(
    ("source_format", "needed"),
    [
        ("avro", (AVRO,)),
        ("Kafka", (KAFKA,)),
        ("parquet", ()),
        ("xml", ()),
        ("jdbc", ()),
        (None, ()),
    ],
)
def test_by_format(source_format: str | None, needed: tuple[str, ...]) -> None:
    assert packages_for(source_format, "4.2.0") == needed


def test_the_version_is_that_of_pyspark() -> None:
    version = spark_version()
    assert packages_for("avro") == ((f"org.apache.spark:spark-avro_2.13:{version}",) if version else ())


@pytest.mark.parametrize(
    ("given", "needed", "jars", "together"),
    [
        (None, (), None, None),
        (None, (AVRO,), None, AVRO),
        ("a:b:1, c:d:2", (AVRO,), None, f"a:b:1,c:d:2,{AVRO}"),
        ("a:b:1", (), None, "a:b:1"),
        ("org.apache.spark:spark-avro_2.13:4.1.0", (AVRO,), None, "org.apache.spark:spark-avro_2.13:4.1.0"),
        (AVRO, (KAFKA, AVRO), None, f"{AVRO},{KAFKA}"),
        ("", (AVRO,), None, ""),
        (None, (AVRO,), "s3://jars/x.jar, s3://jars/spark-avro_2.13-4.2.0.jar", None),
    ],
)
def test_beside_the_users_own(
    given: str | None, needed: tuple[str, ...], jars: str | None, together: str | None
) -> None:
    assert with_packages(given, needed, jars) == together
