"""Real Hudi 0.15 in place of the writers of ``crowd.py``: each a JVM of its own, on one table on a local disk under
Hudi's file lock, with the same batches and without services; what is refused is tried again, as Airflow would.

    python benchmarks/crowd_of_hudi.py                     # 8 writers for 5 minutes, from when all have started
    python benchmarks/crowd_of_hudi.py --writers 2 --seconds 60
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa

from benchmarks.crowd import compared, instants_of, told
from benchmarks.crowd_roles import KEYS_EACH, Job, Role, rows_with
from benchmarks.steps import MOR
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.lake import Lake
from tests.interop.lines import ServerError
from tests.interop.real_hudi import RealHudi

REFUSED: Final = ("HoodieWriteConflictException", "HoodieLockException", "Unable to acquire lock")
CONF: Final = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.wait_time_ms": "120000",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
JVM: Final = "-XX:TieredStopAtLevel=4 -XX:+UseSerialGC"
"""It lives for minutes; with its own collector threads, eight would have more of them than the machine has cores."""


@dataclass(slots=True, kw_only=True)
class HudiRole(Role):
    """A writer that is a JVM."""

    hudi: RealHudi
    table_type: str

    def begin(self, number: int) -> None:
        key, value = number * KEYS_EACH, "batch 0"
        self.apply("", "upsert", rows_with([key], value, 0))
        self.rows[key] = value

    def apply(self, name: str, kind: str, rows: pa.Table) -> None:
        del name
        options = {**CONF, "hoodie.datasource.write.table.type": self.table_type}
        try:
            self.hudi.write(self.job.url, rows, kind, options)
        except ServerError as error:
            if any(one in str(error) for one in REFUSED):
                raise WriteConflictError("another writer was faster, or has the lock", todo="run it again") from error
            raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--table-type", default=MOR, choices=("COPY_ON_WRITE", "MERGE_ON_READ"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowd-of-hudi-") as scratch, ExitStack() as running:
        job = Job(url=f"{scratch}/t", endpoint="", folder=scratch, seed=options.seed)
        writers = [
            HudiRole(
                job=job,
                choose=random.Random(f"{job.seed} writer {number}"),
                hudi=running.enter_context(
                    RealHudi(Path(scratch) / f"{number}.log", memory="1g", master="local[1]", java_options=JVM)
                ),
                table_type=options.table_type,
            )
            for number in range(options.writers)
        ]
        for number, writer in enumerate(writers):  # one after the other, and the first makes the table
            writer.begin(number)
        begun = time.monotonic()
        threads = [
            threading.Thread(target=_write, args=(writer, number), name=f"writer {number}")
            for number, writer in enumerate(writers)
        ]
        for thread in threads:
            thread.start()
        time.sleep(options.seconds)
        (Path(scratch) / "stop").touch()
        for thread in threads:
            thread.join()
        reports = {f"writer {number}": writer.report() for number, writer in enumerate(writers)}
        seconds = time.monotonic() - begun
        wrong = [f"{role}: {line}" for role, report in reports.items() for line in report["wrong"]]
        wrong += compared(job.url, Lake(), reports)
        print(told(options, reports, seconds, None, instants_of(job.url, Lake())))
        for line in wrong:
            print(f"WRONG: {line}")
        return 1 if wrong else 0


def _write(writer: HudiRole, number: int) -> None:
    try:
        writer.write(number)
    except Exception:
        writer.wrong.append(traceback.format_exc())


if __name__ == "__main__":
    sys.exit(main())
