"""What processes do that share a table: a writer that knows which rows it must hold, and each service in a loop.

``python -m tests.faults.roles ROLE TABLE FOLDER SEED`` does it until ``FOLDER/stop`` is there, and leaves ``ROLE.json``
in the folder: how often what came out, and what went wrong. A refusal (another had the file group, the lock, or the
right to publish, or archived an instant that was to be read) is no fault: it is counted, and done again, as Airflow
would.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import HudiError, LockNotAcquiredError, StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    JobResult,
    RollbackOptions,
    SavepointMode,
    SavepointOptions,
)
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint, savepoints_of
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.spark.tables import Jobs, Row, row, shown
from tests.support.jobs import job_context

CONF = {
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.clustering.async.max.commits": "3",
    "hoodie.clustering.inline.max.commits": "3",
    "hoodie.cleaner.commits.retained": "3",
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "6",
    "hoodie.metadata.compact.max.delta.commits": "4",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.write.lock.wait_time_ms": "120000",
}
KEYS = 60
ATTEMPTS = 200
REFUSALS = (WriteConflictError, LockNotAcquiredError, StorageError)
"""Of the storage: an instant that was on the timeline when it was loaded, and was archived before it was read."""


@dataclass(kw_only=True)
class Worker:
    """One process's hands on the table, and its report."""

    path: Path
    folder: Path
    choose: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def goes_on(self) -> bool:
        return not (self.folder / "stop").exists()

    def loop(self, *services: Callable[[], JobResult | str], pause: float) -> None:
        while self.goes_on:
            service = self.choose.choice(services)
            name = service.__name__
            try:
                done = service()
                self.counts[f"{name}: {done if isinstance(done, str) else done.state.value}"] += 1
            except REFUSALS as error:
                self.refused(name, error)
            except Exception:
                self.wrong.append(f"{name}: {traceback.format_exc()}")
            SYSTEM_CLOCK.sleep(self.choose.uniform(0, pause))

    def refused(self, name: str, error: HudiError) -> None:
        """Count what another try may mend.

        :raises HudiError: the same, where it is more than that: a storage that does not give what is there.
        """
        path = error.details.get("path")
        if isinstance(error, StorageError) and not (isinstance(path, str) and not Path(path).exists()):
            raise error
        self.counts[f"{name}: refused ({type(error).__name__})"] += 1

    def report(self, role: str) -> None:
        (self.folder / f"{role}.json").write_text(json.dumps({"counts": self.counts, "wrong": self.wrong}))

    def compact(self) -> JobResult:
        mode = self.choose.choice(["schedule", "execute", "scheduleAndExecute"])
        options = CompactionOptions(base_path=str(self.path), hoodie_conf=CONF, mode=mode)
        return run_compaction(options, job_context())

    def log_compact(self) -> JobResult | str:
        """A compaction that is planned later makes its plan void: it is taken back then, as the message says."""
        options = CompactionOptions(base_path=str(self.path), hoodie_conf=CONF, log_compaction=True)
        try:
            return run_compaction(options, job_context())
        except WriteConflictError:
            self.take_back(Action.LOG_COMPACTION)
            raise

    def cluster(self) -> JobResult:
        mode = self.choose.choice(["schedule", "execute", "scheduleAndExecute"])
        conf = {**CONF, "hoodie.clustering.plan.strategy.sort.columns": "v"}
        options = ClusteringOptions(base_path=str(self.path), hoodie_conf=conf, mode=mode)
        try:
            return run_clustering(options, job_context())
        except WriteConflictError:
            self.take_back(Action.REPLACE_COMMIT)
            raise

    def take_back(self, action: Action) -> None:
        for one in HudiTable.open(str(self.path)).timeline.pending({action}):
            logs = action is Action.LOG_COMPACTION
            kind = {"base_path": str(self.path), "hoodie_conf": CONF, "mode": "cancel", "instant_time": one.timestamp}
            if logs:
                run_compaction(CompactionOptions(**kind, log_compaction=True), job_context())
            else:
                run_clustering(ClusteringOptions(**kind), job_context())

    def clean(self) -> JobResult:
        return run_cleaning(CleanOptions(base_path=str(self.path), hoodie_conf=CONF), job_context())

    def archive(self) -> JobResult:
        return run_archival(ArchiveOptions(base_path=str(self.path), hoodie_conf=CONF), job_context())

    def maintain(self) -> str:
        said: list[str] = []
        maintain_metadata_table(HudiTable.open(str(self.path)).transaction_settings(CONF), CONF, said.append)
        return "done"

    def save(self) -> JobResult:
        return run_savepoint(SavepointOptions(base_path=str(self.path), hoodie_conf=CONF), job_context())

    def forget(self) -> JobResult | str:
        found = savepoints_of(HudiTable.open(str(self.path)))
        if not found:
            return "none"
        gone = self.choose.choice(found).instant
        mode = SavepointMode.DELETE
        return run_savepoint(
            SavepointOptions(base_path=str(self.path), hoodie_conf=CONF, mode=mode, instant_time=gone), job_context()
        )

    def die_writing(self) -> str:
        """A write whose process is gone before it published."""
        child = os.fork()
        if child == 0:
            try:
                local.begin_and_leave(self.path, local.batch(self.choose.randrange(KEYS), 4, "never", 1 << 40))
            except Exception:  # another rewrote the file meanwhile: it dies of that
                os._exit(1)
            os._exit(0)
        return f"left with {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}"

    def roll_back(self) -> JobResult:
        return run_rollback(RollbackOptions(base_path=str(self.path), hoodie_conf=CONF), job_context())

    def validate(self) -> str:
        """A finding has to be there twice: what it read may have been replaced while it read."""
        first = {str(one) for one in validate(str(self.path), deep=True) if one.is_error}
        if not first:
            return "sound"
        left = first & {str(one) for one in validate(str(self.path), deep=True) if one.is_error}
        self.wrong += sorted(left)
        return "seen once"


def write_rows(worker: Worker, table_type: str) -> None:
    """Upserts, inserts and deletes by Spark; ``rows.json`` is what the table has to hold at the end.

    When the time is over nobody may be left to carry out a plan that refuses the last batch: it is given up then, and
    no row of it may be seen.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = session.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    jobs = Jobs(spark=spark, path=worker.path, table_type=table_type, conf=CONF)
    known: dict[int, Row] = {}
    number = 0
    while worker.goes_on or not number:
        number += 1
        op = "insert" if number == 1 else worker.choose.choice(["upsert", "upsert", "upsert", "insert", "delete"])
        batch = _batch(worker.choose, op, known, number)
        for _ in range(ATTEMPTS):
            try:
                done = jobs.write(op, batch, idempotency_key=f"write {number}")
            except REFUSALS as error:
                worker.refused(op, error)
                if number > 1 and not worker.goes_on:
                    batch = []
                    break
                SYSTEM_CLOCK.sleep(worker.choose.uniform(0, 0.5))
                continue
            worker.counts[f"{op}: {done.state.value}"] += 1
            break
        else:
            raise AssertionError(f"{op} was refused {ATTEMPTS} times")
        for one in batch:
            if op == "delete":
                known.pop(one["id"], None)
            else:
                known[one["id"]] = one
        (worker.folder / "begun").touch()
    (worker.folder / "rows.json").write_text(json.dumps(shown(known.values())))
    spark.stop()


def _batch(choose: random.Random, op: str, known: dict[int, Row], number: int) -> list[Row]:
    value = f"write {number}"
    if op == "insert":
        first = max(known, default=-1) + 1
        return [row(one, "ab"[one % 2], value, number) for one in range(first, first + (20 if number == 1 else 3))]
    ids = choose.sample(sorted(known), min(len(known), 4))
    if op == "delete":
        return [known[one] | {"ts": number} for one in ids[:2]] or [row(0, "a", value, number)]
    fresh = max(known, default=-1) + 1
    return [row(one, "ab"[one % 2], value, number) for one in [*ids, fresh]]


def main(role: str, path: str, folder: str, seed: str) -> None:
    worker = Worker(path=Path(path), folder=Path(folder), choose=random.Random(f"{seed} {role}"))
    try:
        while role != "writer" and worker.goes_on and not (worker.folder / "begun").exists():
            SYSTEM_CLOCK.sleep(0.1)
        if role == "writer":
            write_rows(worker, HudiTable.open(path).config.table_type.value)
        elif role == "rewriter":
            kind = HudiTable.open(path).config
            worker.loop(
                *((worker.compact, worker.log_compact) if kind.is_merge_on_read else (worker.cluster,)), pause=1
            )
        elif role == "clusterer":
            worker.loop(worker.cluster, pause=3)
        elif role == "cleaner":
            worker.loop(worker.clean, pause=2)
        elif role == "archivist":
            worker.loop(worker.archive, worker.maintain, pause=2)
        elif role == "keeper":
            worker.loop(worker.save, worker.forget, pause=3)
        elif role == "breaker":
            worker.loop(worker.die_writing, worker.roll_back, pause=3)
        else:
            worker.loop(worker.validate, pause=2)
    except BaseException:
        worker.wrong.append(traceback.format_exc())
    worker.report(role)


ROLES = ("writer", "rewriter", "clusterer", "cleaner", "archivist", "keeper", "breaker", "validator")

if __name__ == "__main__":
    main(*sys.argv[1:])
