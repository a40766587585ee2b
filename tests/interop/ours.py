"""Our side of the tests: the jobs as their entry points call them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

from spark_jobs.engine.spark import SparkEngine
from spark_jobs.options.choices import EngineKind, Operation, TableType
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.write.ingest import ingest
from tests.interop.flights import KEY, PARTITION, PRECOMBINE
from tests.interop.real_hudi import ROOT
from tests.java import QUICK
from tests.support.jobs import job_context
from tests.words import all_words

COMPACT_AT_ONCE = {"hoodie.compact.inline.max.delta.commits": "1"}


class Ours:
    """The jobs on tables of flights; ``scratch`` takes the files that they read."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self._spark = spark
        self._engine = SparkEngine(spark)
        self._scratch = scratch

    def write(
        self,
        path: Path,
        rows: pa.Table,
        operation: str,
        *,
        table_type: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> JobResult:
        return ingest(self._spark, self.ingest_options(path, rows, operation, table_type=table_type, options=options))

    def ingest_options(
        self,
        path: Path,
        rows: pa.Table,
        operation: str,
        *,
        table_type: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> IngestOptions:
        source = self._scratch / f"{uuid4()}.parquet"
        pq.write_table(rows, source)
        return IngestOptions(
            base_path=str(path),
            table_name=path.name,
            source_format="parquet",
            source=(str(source),),
            op=Operation(operation),
            table_type=TableType(table_type) if table_type else None,
            record_key_fields=KEY,
            partition_path_fields=(PARTITION,),
            precombine_field=PRECOMBINE,
            hoodie_conf=tuple((options or {}).items()),
        )

    def compact(self, path: Path) -> JobResult:
        options = CompactionOptions(base_path=str(path), hoodie_conf=tuple(COMPACT_AT_ONCE.items()))
        return run_compaction(options, job_context(engine=self._engine))

    def cluster(self, path: Path, *sort_columns: str) -> JobResult:
        conf = {
            "hoodie.clustering.plan.strategy.sort.columns": ",".join(sort_columns),
            "hoodie.clustering.inline.max.commits": "1",
            "hoodie.clustering.async.max.commits": "1",
        }
        options = ClusteringOptions(base_path=str(path), hoodie_conf=tuple(conf.items()))
        return run_clustering(options, job_context(engine=self._engine))

    def clean(self, path: Path, retained: int = 1) -> JobResult:
        conf = (("hoodie.cleaner.commits.retained", str(retained)),)
        options = CleanOptions(base_path=str(path), hoodie_conf=conf)
        return run_cleaning(options, job_context())


def submit_command(options: IngestOptions) -> list[str]:
    """The spark-submit line that a user would write for a write on Spark."""
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--master", "local[2]", "--driver-java-options", QUICK, "--conf", "spark.ui.enabled=false"),
        str(ROOT / "spark_jobs" / "ingest.py"),
        *all_words(replace(options, engine=EngineKind.SPARK)),
    ]


def submit_variables() -> dict[str, str]:
    """The environment of that line: PySpark's own Spark, this Python, this checkout."""
    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
