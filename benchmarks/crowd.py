"""Writers and services on one table, each a process, for some minutes: rows as the writers know them, commits per
second, conflicts, tries and seconds of a write, requests.

    python benchmarks/crowd.py                             # 8 writers for 5 minutes, on a server of its own (moto)
    python benchmarks/crowd.py --server http://127.0.0.1:7070 --table-type COPY_ON_WRITE --seconds 60
    python benchmarks/crowd.py --disk                      # on a local disk

Each writer has keys of its own in partitions and file groups that all write to, and upserts, inserts and deletes some
at a time under an idempotency key until it is told that it is done. Some batches have two records that lie in two
partitions and change together: readers must see both or none. Beside them run compaction or clustering (two of it),
cleaning, archival with the upkeep of the metadata table, and rollback, each again and again. A proxy before the server
counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.crowd_roles import CONF, SERVICES, Job, rows_of
from benchmarks.request_log import Kind, RequestLog, request_log
from benchmarks.steps import MOR
from spark_jobs.core.format.instant import Action
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options import ClusteringOptions, CompactionOptions, RollbackOptions, ServiceMode
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.run import validate
from tests.support.jobs import job_context
from tests.support.s3 import S3_SERVER

BUCKET: Final = "crowd"
LAST_SECONDS: Final = 300.0
"""For what each process has begun when the time is over."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--table-type", default=MOR, choices=("COPY_ON_WRITE", "MERGE_ON_READ"))
    parser.add_argument("--disk", action="store_true", help="the table lies on a local disk")
    parser.add_argument("--server", help=f"URL of a server with conditional puts and an empty bucket {BUCKET!r}")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowd-") as scratch:
        if options.disk:
            return _crowd(options, Job(url=f"{scratch}/t", endpoint="", folder=scratch, seed=options.seed), None)
        server = options.server or S3_SERVER.endpoint()
        if options.server is None:
            S3_SERVER.put_bucket(server, BUCKET)
        with request_log(server, Path(scratch) / "log") as log:
            return _crowd(
                options, Job(url=f"s3://{BUCKET}/t", endpoint=log.url, folder=scratch, seed=options.seed), log
            )


def _crowd(options: argparse.Namespace, job: Job, log: RequestLog | None) -> int:
    folder, url = Path(job.folder), job.url
    HudiTable.create(
        url,
        name="t",
        table_type=options.table_type,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=job.lake,
    )
    roles = [*(f"writer {number}" for number in range(options.writers)), *SERVICES, "reader"]
    begun = time.monotonic()
    processes = {role: _start(role, job) for role in roles}
    try:
        _wait(begun + options.seconds, processes)
        (folder / "stop").touch()
        for process in processes.values():
            process.wait(timeout=LAST_SECONDS)
    finally:
        for process in processes.values():
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
    seconds = time.monotonic() - begun
    requests = log.taken().by_kind() if log is not None else None
    reports = {role: json.loads((folder / f"{role}.json").read_text()) for role in roles}
    wrong = [f"{role}: {line}" for role, report in reports.items() for line in report["wrong"]]
    wrong += compared(url, job.lake, reports)
    _finish(url, job.lake)
    wrong += compared(url, job.lake, reports)
    wrong += [str(one) for one in validate(url, deep=True, lake=job.lake) if one.is_error]
    print(told(options, reports, seconds, requests, instants_of(url, job.lake)))
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


def _start(role: str, job: Job) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(Path(__file__).with_name("crowd_roles.py")), role, job.to_json()]
    with open(Path(job.folder) / f"{role}.log", "wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ})


def _wait(until: float, processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """
    :raises SystemExit: a process ended before its time.
    """
    while time.monotonic() < until:
        gone = [role for role, process in processes.items() if process.poll() is not None]
        if gone:
            raise SystemExit(f"{', '.join(gone)} ended before the time")
        time.sleep(0.5)


def compared(url: str, lake: Lake, reports: dict[str, Any]) -> list[str]:
    """Where the table differs from what its writers were told."""
    expected = {int(key): value for report in reports.values() for key, value in report.get("rows", {}).items()}
    found = rows_of(HudiTable.open(url, lake=lake))
    return [
        f"record {key} has {found.get(key)}, acknowledged was {expected.get(key)}"
        for key in sorted(found.keys() | expected.keys())
        if found.get(key) != expected.get(key)
    ][:20]


def _finish(url: str, lake: Lake) -> None:
    """Take back what died, carry out the plans that are left."""
    given: dict[str, Any] = {"base_path": url, "hoodie_conf": CONF}
    run_rollback(RollbackOptions(**given), job_context(lake=lake))
    pending = HudiTable.open(url, lake=lake).timeline.pending
    for one in pending({Action.REPLACE_COMMIT}):
        options = ClusteringOptions(**given, mode=ServiceMode.CANCEL, instant_time=one.timestamp)
        run_clustering(options, job_context(lake=lake))
    while HudiTable.open(url, lake=lake).timeline.pending({Action.COMPACTION}):
        run_compaction(CompactionOptions(**given, mode=ServiceMode.EXECUTE), job_context(lake=lake))


def instants_of(url: str, lake: Lake) -> int:
    table = HudiTable.open(url, lake=lake)
    instants = {one.timestamp for one in table.timeline.completed_commits()}
    return len(instants | {one.timestamp for one in table.archived_timeline().states if one.is_completed})


def told(
    options: argparse.Namespace, reports: dict[str, Any], seconds: float, kinds: Counter[Kind] | None, instants: int
) -> str:
    counts: Counter[str] = Counter()
    for role, report in reports.items():
        for name, number in report["counts"].items():
            counts[f"{role.split(' ')[0]}: {name}"] += number
    writes = counts["writer: done"]
    refused = sum(number for name, number in counts.items() if name.startswith("writer: refused"))
    rows = sum(len(report.get("rows", {})) for report in reports.values())
    lines = [
        f"{options.table_type}, {options.writers} writers for {seconds:.0f} s: {writes} writes were acknowledged "
        f"({writes / seconds:.2f} a second), {refused} tries were refused; {rows} rows, {instants} instants",
        f"tries of a write: {_spread(reports, 'tries')}; seconds: {_spread(reports, 'seconds')}",
        *_requests(kinds, seconds),
        *(f"  {name}: {number}" for name, number in sorted(counts.items())),
    ]
    return "\n".join(lines)


def _spread(reports: dict[str, Any], name: str) -> str:
    """Of all writes together."""
    found = sorted(one for report in reports.values() for one in report[name])
    if not found:
        return "none"
    return f"p50 {found[len(found) // 2]:.3g}, p99 {found[len(found) * 99 // 100]:.3g}, at most {found[-1]:.3g}"


def _requests(kinds: Counter[Kind] | None, seconds: float) -> list[str]:
    if kinds is None:
        return []
    of_each = ", ".join(f"{kinds[kind]} {kind.value}" for kind in Kind)
    return [f"requests: {kinds.total()}, {kinds.total() / seconds:.0f} a second; {of_each}"]


if __name__ == "__main__":
    sys.exit(main())
