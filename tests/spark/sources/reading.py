"""A topic, a table, and the ingest from one into the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.checkpoint import CHECKPOINT_KEY
from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.write.ingest import ingest
from tests.spark.kafka_broker import KafkaBroker, Topic

SCHEMA = "id bigint, v string, ts bigint"


class Reading:
    """A topic, a table, and the ingest from one into the other."""

    def __init__(self, spark: SparkSession, broker: KafkaBroker, path: Path, partitions: int) -> None:
        self.spark, self.path = spark, path
        self.topic = Topic(spark, broker.servers, f"t{uuid4().hex[:8]}", partitions)

    def options(self, conf: dict[str, str] | None = None, **more: Any) -> IngestOptions:
        settings = {"auto.offset.reset": "earliest", "hoodie.index.bloom.num_entries": "100", **(conf or {})}
        return IngestOptions(
            **{
                "base_path": str(self.path),
                "table_name": "t",
                "source_format": "kafka",
                "source": (self.topic.name,),
                "source_options": {"kafka.bootstrap.servers": self.topic.servers, **more.pop("source_options", {})},
                "source_schema": SCHEMA,
                "record_key_fields": ("id",),
                "precombine_field": "ts",
                "hoodie_conf": settings,
                **more,
            }
        )

    def run(self, conf: dict[str, str] | None = None, **more: Any) -> JobResult:
        return ingest(self.spark, self.options(conf, **more), Progress.silent("ingest"))

    def place(self, *offsets: int) -> str:
        """The checkpoint behind so many messages of each partition."""
        return ",".join([self.topic.name, *(f"{number}:{offset}" for number, offset in enumerate(offsets))])

    def rows(self) -> dict[int, str]:
        found = HudiTable.open(str(self.path)).scan(columns=["id", "v"]).to_arrow().to_pylist()
        assert len({one["id"] for one in found}) == len(found)
        return {one["id"]: one["v"] for one in found}

    def said(self) -> list[str | None]:
        """What each commit says of the checkpoint, oldest first."""
        line = HudiTable.open(str(self.path)).timeline
        commits = line.completed_commits()
        return [line.commit_metadata(one, SYSTEM_CLOCK).extra_metadata.get(CHECKPOINT_KEY) for one in commits]


Make = Callable[..., Reading]


def messages(keys: range, value: str = "x", ts: int = 1) -> list[dict[str, Any]]:
    return [{"id": key, "v": value, "ts": ts} for key in keys]
