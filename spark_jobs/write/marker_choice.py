"""Which markers a write has: direct ones, or batched by a service in this process (Hudi: WriteMarkersFactory)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from spark_jobs.core.config.keys import write as keys
from spark_jobs.core.files.marker_service import MarkerService
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.marker_server import MarkerServer, MarkerSettings


@contextmanager
def marker_service(
    spark: SparkSession, table: HudiTable, properties: Mapping[str, str], instant: str, notify: Callable[[str], None]
) -> Iterator[MarkerService | None]:
    """The service that the tasks of a write ask for markers; None for direct ones, which need none.

    At its end no more markers are written. As with Hudi, direct markers stand in where the driver can't serve: with
    ``hoodie.embed.timeline.server=false``, and through Spark Connect, whose executors don't know this process.
    """
    if keys.MARKERS_TYPE.of(properties) is keys.MarkersType.DIRECT:
        yield None
        return
    why_not = "Spark Connect has no driver here" if is_remote() else ""
    if not keys.EMBEDDED_SERVER.of(properties):
        why_not = f"{keys.EMBEDDED_SERVER.name}=false"
    if why_not:
        notify(f"markers are direct, not batched: {why_not}")
        yield None
        return
    settings = MarkerSettings(
        threads=keys.MARKERS_BATCH_THREADS.of(properties), interval_ms=keys.MARKERS_BATCH_INTERVAL.of(properties)
    )
    host = spark.conf.get("spark.driver.host", None) or "127.0.0.1"
    bind = spark.conf.get("spark.driver.bindAddress", None) or host
    with MarkerServer(table.storage, table.base_path, instant, table.clock, settings, host=host, bind=bind) as service:
        yield service
