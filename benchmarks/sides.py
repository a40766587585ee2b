"""Both sides of a benchmark: what each is told, and what it leaves on storage."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self, cast

import pyarrow.parquet as pq

from benchmarks.lineitem_data import KEY, PARTITION, PRECOMBINE, SHIP_YEARS
from tests.interop.lines import LineClient
from tests.interop.real_hudi import ROOT, RealHudi
from tests.java import JVM_OPTIONS

GROUPS_PER_PARTITION: Final = 7
SORTED_BY: Final = "l_partkey"
BATCH_ROWS: Final = 65_536
ZSTD_LEVEL: Final = 3
"""What Parquet's Java writer takes for zstd; pyarrow's own default is 1."""
SPARK_SETTINGS: Final = {
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "4",
    "spark.sql.session.timeZone": "UTC",
    # the source is read in as many tasks as file groups are wanted in each partition
    "spark.sql.files.minPartitionNum": str(GROUPS_PER_PARTITION),
}


_MODULES: Final = {
    "write": "spark_jobs.ingest",
    "compact": "spark_jobs.compact",
    "cluster": "spark_jobs.cluster",
    "rollback": "spark_jobs.rollback",
}
"""The entry point of each command that a job without Spark does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Data files that a write added to a table, and their bytes."""

    files: int
    bytes: int


def hoodie_options(table_type: str, *, metadata_table: bool) -> dict[str, str]:
    """The options that both sides get."""
    return {
        "hoodie.table.name": "lineitem",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": KEY,
        "hoodie.datasource.write.partitionpath.field": PARTITION,
        "hoodie.datasource.write.precombine.field": PRECOMBINE,
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.bulkinsert.shuffle.parallelism": str(GROUPS_PER_PARTITION),
        "hoodie.upsert.shuffle.parallelism": "4",
        "hoodie.metadata.enable": str(metadata_table).lower(),
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
    }


def service_options(*, metadata_table: bool) -> dict[str, str]:
    """The options of a compaction, a clustering and a rollback, for both sides."""
    return {
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.clustering.inline.max.commits": "1",
        "hoodie.clustering.plan.strategy.sort.columns": SORTED_BY,
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.metadata.enable": str(metadata_table).lower(),
    }


def start_hudi(
    log: Path, memory: str, session: Mapping[str, str] = MappingProxyType({}), jars: Sequence[str] = ()
) -> LineClient:
    """
    :param session: more settings, as of a file system of Hadoop's.
    :param jars: what that needs.
    """
    settings = {**SPARK_SETTINGS, **session}
    return RealHudi(log, memory=memory, session=settings, java_options=JVM_OPTIONS, jars=jars)


def start_ours(log: Path, memory: str, root: Path = ROOT, source_reader: str = "auto") -> LineClient:
    """The jobs of a checkout of this project, with the environment of this process."""
    settings = {**SPARK_SETTINGS, "spark.master": "local[2]", "spark.driver.memory": memory}
    arguments = ["--driver-java-options", JVM_OPTIONS]
    arguments += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
        "PYTHONPATH": str(root),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": shlex.join([*arguments, "pyspark-shell"]),
    }
    asked = [] if source_reader == "auto" else ["--source-reader", source_reader]
    return LineClient([sys.executable, "-m", "benchmarks.our_server", *asked], variables, log, root)


class LocalJob:
    """The jobs with ``--engine local``: a process for each, which needs no JVM."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.seconds = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return

    def ask(
        self,
        command: str,
        *,
        path: str,
        options: Mapping[str, str],
        source: str = "",
        operation: str = "",
        instant: str = "",
    ) -> Any:
        """Do a write, a service or a rollback, as the serving ends do; the job's result. ``seconds`` is then what
        the whole process took.

        :raises SystemExit: it failed.
        """
        words = ["--base-path", path]
        if command == "write":
            words += ["--source", source, "--source-format", "parquet", "--op", operation]
        if instant:
            words += ["--instant-time", instant]
        words += [word for name, value in options.items() for word in ("--hoodie-conf", f"{name}={value}")]
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", _MODULES[command], "--engine", "local", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.seconds = time.monotonic() - begun
        with open(self._log, "a") as log:
            log.write(done.stderr)
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])


def start_local(log: Path, memory: str) -> LocalJob:
    """
    :param memory: of a JVM, which it has not.
    """
    return LocalJob(log)


LOCAL: Final = "local"
"""The side that whole processes alone have; its tables begin as ours."""
SIDES: Final[Mapping[str, Callable[[Path, str], LineClient]]] = {"hudi": start_hudi, "ours": start_ours}


def add_side_options(parser: argparse.ArgumentParser) -> None:
    """The options that every benchmark of both sides has."""
    parser.add_argument("--side", choices=(*SIDES, "both"), default="both")
    parser.add_argument("--memory", default="4g", help="heap of each side's JVM")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache" / "pyhudi-bench", help="for data and tables"
    )
    parser.add_argument("--json", type=Path, help="file that gets every measure")


def chosen_sides(options: argparse.Namespace) -> list[str]:
    return list(SIDES) if options.side == "both" else [options.side]


def data_files(table: Path) -> dict[Path, int]:
    """Base and log files of a table with their sizes."""
    found = {}
    for directory in (table, *table.iterdir()):
        if directory.is_dir() and directory.name != ".hoodie":
            for file in directory.iterdir():
                if file.suffix == ".parquet" or (".log." in file.name and not file.name.endswith(".crc")):
                    found[file] = file.stat().st_size
    return found


def added(before: Mapping[Path, int], after: Mapping[Path, int]) -> Output:
    """What came between two listings; a file that grew counts with its growth."""
    grown = {file: size - before.get(file, 0) for file, size in after.items() if size != before.get(file)}
    return Output(files=len(grown), bytes=sum(grown.values()))


def rewrite_limit(files: list[Path], target: Path) -> float:
    """Seconds to read the files and write them again, batch by batch in zstd, by pyarrow in 2 processes.

    That is what disk and codec cost: no row changes, and the same columns have a dictionary.
    """
    target.mkdir(parents=True, exist_ok=True)
    pairs = [(str(file), str(target / f"{number}.parquet")) for number, file in enumerate(files)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(os.path.getsize, [source for source, _ in pairs])  # both workers are up before the clock starts
        begun = time.monotonic()
        pool.starmap(_rewrite, pairs, chunksize=1)
        return time.monotonic() - begun


def _rewrite(source: str, target: str) -> None:
    with pq.ParquetFile(source) as reader:
        group = reader.metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        dictionary = [one.path_in_schema for one in columns if any("DICTIONARY" in name for name in one.encodings)]
        schema = reader.schema_arrow.remove_metadata()
        with pq.ParquetWriter(
            target,
            schema,
            compression="zstd",
            compression_level=ZSTD_LEVEL,
            use_dictionary=cast(Any, dictionary),
            store_schema=False,  # it would repeat the footer, bloom filter and all, in base64
        ) as writer:
            for batch in reader.iter_batches(BATCH_ROWS, use_threads=False):
                writer.write_batch(batch.replace_schema_metadata(None))
            writer.add_key_value_metadata(cast(Any, reader.metadata.metadata))


def expected_groups() -> int:
    return SHIP_YEARS * GROUPS_PER_PARTITION
