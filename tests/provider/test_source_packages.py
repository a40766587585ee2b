"""The packages with which the ingest operator calls spark-submit."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_pyhudi.operators.ingest import HudiIngestOperator
from spark_jobs.options import IngestOptions
from spark_jobs.options.source_packages import packages_for

pytestmark = pytest.mark.provider

AVRO, KAFKA = packages_for("avro")[0], packages_for("kafka")[0]


@pytest.mark.parametrize(
    ("source", "given", "packages"),
    [
        ({"source_format": "parquet"}, {}, None),
        ({"source_format": "avro"}, {}, AVRO),
        (
            {"source_format": "avro"},
            {"packages": "org.postgresql:postgresql:42.7.4"},
            f"org.postgresql:postgresql:42.7.4,{AVRO}",
        ),
        ({"source_format": "avro"}, {"packages": ""}, ""),
        ({"source_format": "avro"}, {"conf": {"spark.jars.packages": "a:b:1"}}, f"a:b:1,{AVRO}"),
        ({"source_format": "avro"}, {"jars": "/jars/spark-avro_2.13-4.2.0.jar"}, None),
        ({"source_format": "kafka"}, {}, KAFKA),
    ],
)
def test_the_sources_packages_beside_the_tasks(
    source: dict[str, Any], given: dict[str, Any], packages: str | None
) -> None:
    operator = HudiIngestOperator(task_id="write", base_path="/lake/t", **source, **given)
    assert operator.packages_for(IngestOptions(base_path="/lake/t", **source)) == packages
