"""A table of 20,000 partitions and 100,000 files in S3: what opening, planning, cleaning and health take.

    python benchmarks/large_on_s3.py --gateway-folder DIR      # DIR is what a versitygw at --gateway gives (posix)

The table is made up, as in ``view.py``: its data files have sizes and no content. Each step is a process of its own,
whose peak of memory should stay below 500 MB; a proxy before the gateway counts its requests. The gateway lists a
thousand keys at a time, as S3 does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.request_log import Kind, request_log
from benchmarks.view import make_table, peak
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.health import HealthOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.health.job import run_health
from tests.support.jobs import job_context
from tests.support.s3 import S3_SERVER

MOST_MB: Final = 500
BUCKET: Final = "large"
URL: Final = f"s3://{BUCKET}/t"
VERSIONS, LOGS = 4, 1
CLEANS: Final[Mapping[str, str]] = {
    "hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.cleaner.fileversions.retained": "1",
}


def view(lake: Lake) -> int:
    return len(HudiTable.open(URL, lake=lake).file_slices())


def listed(lake: Lake) -> int:
    return len(HudiTable.open(URL, lake=lake, lists_storage=True).file_slices())


def plan(lake: Lake) -> int:
    return (
        run_cleaning(CleanOptions(base_path=URL, hoodie_conf=CLEANS, dry_run=True), job_context(lake=lake)).files_in
        or 0
    )


def clean(lake: Lake) -> int:
    return run_cleaning(CleanOptions(base_path=URL, hoodie_conf=CLEANS), job_context(lake=lake)).files_in or 0


def health(lake: Lake) -> int:
    return run_health(HealthOptions(base_path=URL, json=True), job_context(lake=lake)).files_in or 0


STEPS: Final[Mapping[str, Callable[[Lake], int]]] = {
    "view by the metadata table": view,
    "view by listing": listed,
    "plan of a clean": plan,
    "health": health,
    "clean": clean,
}
"""Each gives the number of slices or files that it is about."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway-folder", type=Path, required=True)
    parser.add_argument("--gateway", default="http://127.0.0.1:7070", help="its URL; keys are 'tests' and 'tests'")
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--only", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        lake = Lake().reached_by(S3_SERVER.options(options.gateway))
        begun = time.perf_counter()
        number = STEPS[options.only](lake)
        print(json.dumps({"number": number, "seconds": time.perf_counter() - begun, "peak": peak() / 1e6}))
        return 0
    folder: Path = options.gateway_folder / BUCKET
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    files = make_table(folder / "t", options.partitions, 1, VERSIONS, LOGS)
    print(f"{files:,} files in {options.partitions:,} partitions", flush=True)
    largest = 0.0
    print(f"{'step':28}{'of':>9}{'seconds':>9}{'MB':>6}  {'  '.join(kind.value for kind in Kind)}", flush=True)
    with tempfile.TemporaryDirectory() as scratch, request_log(options.gateway, Path(scratch) / "log") as log:
        for step in STEPS:
            command = [sys.executable, __file__, "--only", step, "--gateway", log.url, "--gateway-folder", "-"]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            kinds = log.taken().by_kind()
            largest = max(largest, found["peak"])
            numbers = "  ".join(f"{kinds[kind]:>{len(kind.value)}}" for kind in Kind)
            print(f"{step:28}{found['number']:>9,}{found['seconds']:9.1f}{found['peak']:6.0f}  {numbers}", flush=True)
    left = sum(1 for _ in (folder / "t").rglob("*.parquet"))
    right = left == options.partitions
    print(f"base files left: {left:,}{'' if right else f', expected {options.partitions:,}'}")
    print(f"largest: {largest:.0f} MB (below {MOST_MB})")
    return 0 if right and largest < MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
