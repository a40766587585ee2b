"""What each process of ``crowd.py`` does until it is told to stop: a writer that knows its rows, services, a reader."""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa

from spark_jobs.core.errors import HudiError, LockNotAcquiredError, StorageError, WriteConflictError
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options import ClusteringOptions, CompactionOptions, RollbackOptions
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.clean import CleanOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rollback.job import run_rollback
from tests.support.jobs import job_context
from tests.support.s3 import S3_SERVER

CONF: Final[Mapping[str, str]] = {
    "hoodie.compact.inline.max.delta.commits": "3",
    "hoodie.clustering.async.max.commits": "4",
    "hoodie.cleaner.commits.retained": "10",
    "hoodie.keep.min.commits": "20",
    "hoodie.keep.max.commits": "30",
    "hoodie.write.lock.wait_time_ms": "120000",
    "hoodie.index.bloom.num_entries": "1000",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
SERVICES: Final = ("rewriter 1", "rewriter 2", "cleaner", "archivist", "undoer")
PARTITIONS: Final = 16
KEYS_EACH: Final = 1_000_000
PAIR: Final = (999_990, 999_991)
"""Of each writer: two records that change together."""
REFUSALS: Final = (WriteConflictError, LockNotAcquiredError)
END_SECONDS: Final = 120.0
"""For the last batch of a writer; it is given up then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all processes know.

    :param endpoint: of the server of S3; empty for a table on a disk.
    """

    url: str
    endpoint: str
    folder: str
    seed: int

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @property
    def lake(self) -> Lake:
        return Lake().reached_by(S3_SERVER.options(self.endpoint)) if self.endpoint else Lake()

    @property
    def goes_on(self) -> bool:
        return not (Path(self.folder) / "stop").exists()


@dataclass(slots=True, kw_only=True)
class Role:
    """One process and its report."""

    job: Job
    choose: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    tries: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def table(self) -> HudiTable:
        return HudiTable.open(self.job.url, lake=self.job.lake)

    def report(self) -> dict[str, Any]:
        names = ("counts", "wrong", "rows", "tries", "seconds")
        return {name: getattr(self, name) for name in names}

    def write(self, number: int) -> None:
        first, batch = number * KEYS_EACH, 0
        while self.job.goes_on:
            batch += 1
            kind, rows = self._batch(first, batch)
            if not self._until_done(f"writer {number}, batch {batch}", kind, rows):
                return
            for key, value in zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True):
                if kind == "delete":
                    self.rows.pop(key, None)
                else:
                    self.rows[key] = value

    def _until_done(self, name: str, kind: str, rows: pa.Table) -> bool:
        """Whether it was acknowledged."""
        begun, given_up = time.monotonic(), 0.0
        for tried in range(1, 10_000):
            try:
                self.apply(name, kind, rows)
            except HudiError as error:
                self._refused(error)
                if not self.job.goes_on:
                    given_up = given_up or time.monotonic() + END_SECONDS
                    if time.monotonic() > given_up:
                        return False
                time.sleep(self.choose.uniform(0, min(0.2 * tried, 5)))
                continue
            self.counts["done"] += 1
            self.tries.append(tried)
            self.seconds.append(time.monotonic() - begun)
            return True
        raise AssertionError(f"{name} was refused ten thousand times")

    def apply(self, name: str, kind: str, rows: pa.Table) -> None:
        """Try a batch once.

        :raises HudiError: another was faster, or more than that.
        """
        getattr(self.table, kind)(rows, idempotency_key=name, hoodie_conf=dict(CONF))

    def _batch(self, first: int, batch: int) -> tuple[str, pa.Table]:
        """What is done, and the rows: of one partition, or the pair."""
        value = f"batch {batch}"
        if batch % 5 == 0:
            return "upsert", rows_with([first + one for one in PAIR], value, batch)
        kind = self.choose.choice(["upsert", "upsert", "insert", "delete"])
        known = [key for key in self.rows if key - first not in PAIR]
        if kind == "delete" and len(known) > 10:
            return kind, rows_with(self.choose.sample(known, 2), value, batch)
        partition = self.choose.randrange(PARTITIONS)
        fresh = [first + batch * PARTITIONS * 3 + partition + PARTITIONS * one for one in range(3)]
        if kind == "insert":
            return kind, rows_with(fresh, value, batch)
        there = [key for key in known if key % PARTITIONS == partition]
        return "upsert", rows_with([*self.choose.sample(there, min(len(there), 5)), *fresh[:1]], value, batch)

    def serve(self, *services: Callable[[], object], pause: float) -> None:
        while self.job.goes_on:
            service = self.choose.choice(services)
            try:
                done = service()
                self.counts[f"{service.__name__} {getattr(done, 'state', 'done')}"] += 1
            except HudiError as error:
                self._refused(error)
            time.sleep(self.choose.uniform(0, pause))

    def _refused(self, error: HudiError) -> None:
        """Count what another try may mend: another was faster, or archived an instant that was to be read.

        :raises HudiError: the same, where it is more than that.
        """
        path = error.details.get("path")
        gone = isinstance(error, StorageError) and isinstance(path, str)
        if not isinstance(error, REFUSALS) and not (
            gone and self.job.lake.place(str(path)).storage.stat(str(path)) is None
        ):
            raise error
        self.counts[f"refused ({type(error).__name__})"] += 1

    def rewrite(self) -> object:
        given: dict[str, Any] = {"base_path": self.job.url, "hoodie_conf": dict(CONF)}
        if self.table.config.is_merge_on_read:
            return run_compaction(CompactionOptions(**given), job_context(lake=self.job.lake))
        return run_clustering(ClusteringOptions(**given), job_context(lake=self.job.lake))

    def clean(self) -> object:
        options = CleanOptions(base_path=self.job.url, hoodie_conf=dict(CONF))
        return run_cleaning(options, job_context(lake=self.job.lake))

    def archive(self) -> object:
        options = ArchiveOptions(base_path=self.job.url, hoodie_conf=dict(CONF))
        return run_archival(options, job_context(lake=self.job.lake))

    def maintain(self) -> None:
        maintain_metadata_table(self.table.transaction_settings(dict(CONF)), dict(CONF), lambda said: None)

    def undo(self) -> object:
        options = RollbackOptions(base_path=self.job.url, hoodie_conf=dict(CONF))
        return run_rollback(options, job_context(lake=self.job.lake))

    def read(self) -> None:
        """Both records of each pair have the same value, in whatever snapshot."""
        seen: dict[int, int] = {}
        while self.job.goes_on:
            try:
                found = rows_of(self.table)
            except HudiError as error:
                self._refused(error)
                continue
            self.counts["read"] += 1
            for key, value in found.items():
                writer, own = divmod(key, KEYS_EACH)
                if own != PAIR[0]:
                    continue
                other = found.get(key + 1)
                if other != value:
                    self.wrong.append(f"writer {writer}'s pair is {value} and {other}")
                batch = int(value.split(" ")[1])
                if batch < seen.get(writer, 0):
                    self.wrong.append(f"writer {writer}'s pair was of batch {seen[writer]}, and is of {batch}")
                seen[writer] = batch


def rows_of(table: HudiTable) -> dict[int, str]:
    """``v`` by ``id``.

    :raises AssertionError: a record is there twice.
    """
    found = table.scan(columns=["id", "v"]).to_arrow() if table.timeline.completed_commits() else rows_with([], "", 0)
    rows = dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))
    assert len(rows) == found.num_rows, "a record is there twice"
    return rows


def rows_with(keys: list[int], value: str, ts: int) -> pa.Table:
    """The two of a pair lie in two partitions, as their numbers differ by one."""
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64())])
    count = len(keys)
    return pa.table([keys, [f"p{one % PARTITIONS:02}" for one in keys], [value] * count, [ts] * count], schema=schema)


def main(name: str, job: Job) -> None:
    role = Role(job=job, choose=random.Random(f"{job.seed} {name}"))
    kind, _, number = name.partition(" ")
    try:
        if kind == "writer":
            role.write(int(number))
        elif kind == "rewriter":
            role.serve(role.rewrite, pause=4)
        elif kind == "cleaner":
            role.serve(role.clean, pause=6)
        elif kind == "archivist":
            role.serve(role.archive, role.maintain, pause=6)
        elif kind == "undoer":
            role.serve(role.undo, pause=10)
        else:
            role.read()
    except BaseException:
        role.wrong.append(traceback.format_exc())
    (Path(job.folder) / f"{name}.json").write_text(json.dumps(role.report()))


if __name__ == "__main__":
    main(sys.argv[1], Job(**json.loads(sys.argv[2])))
