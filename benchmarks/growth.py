"""What a batch of fixed size costs in a table of 1, 4 and 16 times the size, by index.

    python benchmarks/growth.py                          # bucket and record index, COPY_ON_WRITE
    python benchmarks/growth.py --rows 500000 --index SIMPLE BUCKET --table-type MERGE_ON_READ

A table of n parts has n partitions of ``--rows`` rows; every batch has ``--batch`` records of the newest partition,
nine tenths of them updates. A time is the median of ``--runs`` batches in one warm session after one that is thrown
away, each until its instant is completed. With bucket and record index it should grow to 1.3 times at most.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from spark_jobs.engine.progress import Progress
from spark_jobs.engine.session import UNIX_SOCKETS
from spark_jobs.options.choices import Operation, TableType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.ingest import ingest

PARTS = (1, 4, 16)
TARGET = 1.3
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "SIMPLE": {},
    "BLOOM": {},
    "GLOBAL_SIMPLE": {},
    "GLOBAL_BLOOM": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "4"},
    "RECORD_INDEX": {"hoodie.metadata.record.index.enable": "true"},
}
JVM_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2"


def rows(keys: np.ndarray, part: int, revision: int) -> pa.Table:
    """Rows of one partition; keys are in no order over the files, as hashes are."""
    count = len(keys)
    mixed = (keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).astype(np.int64)
    return pa.table(
        {
            "id": pa.array([f"{key:020d}" for key in np.abs(mixed).tolist()]),
            "part": pa.repeat(pa.scalar(f"part-{part:03d}"), count),
            "revision": pa.repeat(pa.scalar(revision, pa.int64()), count),
            "amount": np.random.default_rng(revision).random(count),
            "text": pa.array([f"a text of revision {revision} for {key % 9973}" for key in keys.tolist()]),
        }
    )


class Growth:
    """The tables of one index, in one warm session."""

    def __init__(self, spark: SparkSession, scratch: Path, index: str, table_type: str, size: int, batch: int) -> None:
        self._spark, self._scratch, self._index = spark, scratch, index
        self._table_type, self._size, self._batch = table_type, size, batch

    def seconds(self, parts: int, runs: int) -> float:
        """The median over the batches into a new table of so many parts."""
        path = self._scratch / f"{self._index}-{parts}"
        for part in range(parts):
            keys = np.arange(part * self._size, (part + 1) * self._size)
            self._write(path, rows(keys, part, 0), "upsert" if self._index == "BUCKET" else "insert")
        newest, taken = parts - 1, []
        for run in range(runs + 1):
            stride = max(1, self._size * 10 // (self._batch * 9))
            old = np.arange(newest * self._size + run % stride, (newest + 1) * self._size, stride)
            new = np.arange(self._batch // 10) + (1000 + run) * self._size * parts
            taken.append(self._write(path, rows(np.concatenate([old, new]), newest, run + 1), "upsert"))
        shutil.rmtree(path)
        return statistics.median(taken[1:])

    def _write(self, path: Path, batch: pa.Table, operation: str) -> float:
        source = self._scratch / "source.parquet"
        pq.write_table(batch, source)
        options = IngestOptions(
            base_path=str(path),
            table_name="growth",
            table_type=TableType(self._table_type),
            op=Operation(operation),
            source_format="parquet",
            source=(str(source),),
            record_key_fields=("id",),
            partition_path_fields=("part",),
            precombine_field="revision",
            hoodie_conf={"hoodie.index.type": self._index, **OPTIONS[self._index]},
        )
        begun = time.monotonic()
        with open("/dev/null", "w") as nowhere:
            ingest(self._spark, options, Progress("growth", stream=nowhere))
        return time.monotonic() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--index", nargs="+", default=["BUCKET", "RECORD_INDEX"], choices=sorted(OPTIONS))
    parser.add_argument("--table-type", default="COPY_ON_WRITE", choices=["COPY_ON_WRITE", "MERGE_ON_READ"])
    given = parser.parse_args()
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[variable] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("growth")
        .config("spark.ui.enabled", "false")
        .config(map=UNIX_SOCKETS)
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", JVM_OPTIONS)
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    grew = False
    with tempfile.TemporaryDirectory(prefix="growth-") as scratch:
        for index in given.index:
            growth = Growth(spark, Path(scratch), index, given.table_type, given.rows, given.batch)
            seconds = {parts: growth.seconds(parts, given.runs) for parts in PARTS}
            ratio = seconds[PARTS[-1]] / seconds[PARTS[0]]
            bound = index in ("BUCKET", "RECORD_INDEX")
            grew |= bound and ratio > TARGET
            shown = {str(parts): round(value, 2) for parts, value in seconds.items()}
            print(
                json.dumps(
                    {"index": index, "seconds": shown, "ratio": round(ratio, 2), "target": TARGET if bound else None}
                )
            )
    spark.stop()
    return 1 if grew else 0


if __name__ == "__main__":
    sys.exit(main())
