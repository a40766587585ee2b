"""Cleaning 1,000 file versions, as whole processes: ours, which starts no JVM, beside Hudi's on Spark.

    python benchmarks/clean.py                 # five runs of each, interleaved
    python benchmarks/clean.py --runs 1 --versions 200

A made-up COPY_ON_WRITE table of tiny files: 100 file groups in 10 partitions, written by as many commits as it takes,
with a metadata table. Each run cleans a fresh copy down to the newest commit, which leaves two versions of each group.
Ours is ``python spark_jobs/clean.py``; Hudi's is a driver that starts, cleans by the client that its ``run_clean``
makes, and stops. Both count from the start of the process to its end. The ratio should stay at most 0.15.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.storage import RelativePath
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.timeline.write_stat import WriteStat
from tests.interop.real_hudi import ROOT, RealHudi
from tests.java import JVM_OPTIONS

TARGET = 0.15
GROUPS, PARTITIONS = 100, 10
CONF = {
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.compact.max.delta.commits": "100",
}
SCHEMA = {
    "type": "record",
    "name": "t_record",
    "namespace": "hoodie.t",
    "fields": [{"name": "id", "type": ["null", "string"], "default": None}],
}
DATA = b"PAR1" + bytes(1016) + b"PAR1"
"""No cleaner opens a base file."""


def make_table(path: Path, commits: int) -> None:
    table = HudiTable.create(str(path), name="t", record_key_fields=["id"], partition_fields=["p"])
    settings = table.transaction_settings(CONF)
    for number in range(commits):
        timeline = settings.load_timeline()
        time = next_instant_time(table.clock.now(), table.config.timezone, timeline.last_time)
        inflight = transition(timeline, request(timeline, time, Action.COMMIT), State.INFLIGHT, b"")
        stats = []
        for group in range(GROUPS):
            partition = f"p{group % PARTITIONS}"
            if group < PARTITIONS:
                ensure_partition_metafile(table.storage, str(path), partition, time)
            name = f"00000000-0000-0000-0000-{group:012d}-0_{group}-1-{number}_{time}.parquet"
            (path / partition / name).write_bytes(DATA)
            stats.append(
                WriteStat(
                    file_id=f"00000000-0000-0000-0000-{group:012d}-0",
                    path=RelativePath(f"{partition}/{name}"),
                    partition_path=partition,
                    num_writes=1,
                    file_size_in_bytes=len(DATA),
                    total_write_bytes=len(DATA),
                )
            )
        metadata = CommitMetadata(
            write_stats=tuple(stats),
            operation_type=OperationType.UPSERT,
            extra_metadata={SCHEMA_KEY: json.dumps(SCHEMA)},
        ).payload()
        settings.update_metadata_table(settings.load_timeline(), inflight, metadata)
        transition(timeline, inflight, State.COMPLETED, metadata)


def clean_by_us(path: Path) -> tuple[float, int]:
    """Seconds of the process, and the files that it deleted."""
    conf = [word for name, value in CONF.items() for word in ("--hoodie-conf", f"{name}={value}")]
    command = [sys.executable, str(ROOT / "spark_jobs" / "clean.py"), "--base-path", str(path), *conf]
    begun = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    seconds = time.perf_counter() - begun
    assert done.returncode == 0, done.stderr.decode()
    return seconds, json.loads(done.stdout.splitlines()[-1])["files_in"]


def clean_by_hudi(path: Path) -> tuple[float, int]:
    begun = time.perf_counter()
    with RealHudi(path.with_name("hudi.log"), java_options=JVM_OPTIONS) as hudi:
        deleted = hudi.clean(path, options=CONF)
    return time.perf_counter() - begun, deleted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of each side")
    parser.add_argument("--versions", type=int, default=1000, help="file versions that a clean deletes")
    options = parser.parse_args()
    sides = {"ours": clean_by_us, "Hudi": clean_by_hudi}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory(prefix="clean-") as scratch:
        template, path = Path(scratch, "template"), Path(scratch, "t")
        make_table(path, options.versions // GROUPS + 2)
        path.rename(template)
        for run in range(options.runs):
            for name, clean in sides.items():
                shutil.copytree(template, path)
                took, deleted = clean(path)
                assert deleted == options.versions, f"{name} deleted {deleted} files"
                seconds[name].append(took)
                print(f"run {run + 1}: {name} {took:.2f} s", flush=True)
                shutil.rmtree(path)
    ours, hudi = (statistics.median(seconds[name]) for name in sides)
    ratio = ours / hudi
    print(f"clean of {options.versions} file versions: ours {ours:.2f} s, Hudi {hudi:.2f} s, ratio {ratio:.3f}")
    print(f"target at most {TARGET}: {'met' if ratio <= TARGET else 'missed'}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
