"""This project's jobs as the serving end of ``tests.interop.lines``: one warm Spark session, like ``hudi_server``'s."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.engine.session import UNIX_SOCKETS
from spark_jobs.engine.spark import SparkEngine
from spark_jobs.options.choices import Operation, SourceReader, TableType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.write.ingest import ingest
from tests.interop.lines import serve
from tests.support.jobs import job_context


class OurServer:
    """The commands; their arguments are those of ``HudiServer`` where both have them."""

    def __init__(self, spark: SparkSession, source_reader: SourceReader = SourceReader.AUTO) -> None:
        self._spark = spark
        self._source_reader = source_reader
        self._engine = SparkEngine(spark)

    def ping(self) -> str:
        """Spark's version."""
        return self._spark.version

    def write(
        self, *, path: str, source: str, operation: str, options: Mapping[str, str], mode: str = "append"
    ) -> dict[str, Any]:
        """Write the Parquet file or directory ``source``; the job's result."""
        return ingest(
            self._spark,
            IngestOptions(
                base_path=path,
                source_format="parquet",
                source=(source,),
                source_reader=self._source_reader,
                op=Operation(operation),
                table_type=TableType(options["hoodie.datasource.write.table.type"]),
                hoodie_conf=tuple(options.items()),
            ),
        ).to_dict()

    def compact(self, *, path: str, options: Mapping[str, str]) -> dict[str, Any]:
        """Schedule and execute a compaction; the job's result."""
        given = CompactionOptions(base_path=path, hoodie_conf=tuple(options.items()))
        return run_compaction(given, job_context(engine=self._engine)).to_dict()

    def cluster(self, *, path: str, options: Mapping[str, str]) -> dict[str, Any]:
        """Schedule and execute a clustering; the job's result."""
        given = ClusteringOptions(base_path=path, hoodie_conf=tuple(options.items()))
        return run_clustering(given, job_context(engine=self._engine)).to_dict()

    def rollback(self, *, path: str, instant: str, options: Mapping[str, str]) -> dict[str, Any]:
        """Take a completed write back; the job's result."""
        given = RollbackOptions(base_path=path, instant_time=instant, hoodie_conf=tuple(options.items()))
        return run_rollback(given, job_context()).to_dict()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, required=True, help="descriptor that answers go to")
    parser.add_argument("--source-reader", type=SourceReader, default=SourceReader.AUTO)
    options = parser.parse_args()
    spark = SparkSession.builder.appName("ours").config(map=UNIX_SOCKETS).getOrCreate()
    serve(OurServer(spark, options.source_reader), options.answers)


if __name__ == "__main__":
    main()
