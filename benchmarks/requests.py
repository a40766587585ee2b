"""Requests that each operation makes of an S3 server, beside real Hudi 0.15.0 over S3A: at most half is wanted.

    python benchmarks/requests.py                       # tables of 1,000 file groups, on a server of its own (moto)
    python benchmarks/requests.py --groups 20 --verbose
    python benchmarks/requests.py --server http://127.0.0.1:7070 --delay-ms 20 --output requests.md

A COPY_ON_WRITE and a MERGE_ON_READ table with one file group in each partition. This project writes both, and each
side gets a copy of its own, which it then works on step by step. Both have the same options: simple index, metadata
table, no cleaning or archival but in the step for it. A proxy before the server counts, so that what is asked again
counts too. Each step of this project begins as a process of its own would; Hudi's are those of one warm session. In
the end the rows of both sides' tables must be what was written.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import obstore
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from obstore.store import S3Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.on_s3 import PROCEDURES
from benchmarks.request_log import Kind, Place, RequestLog, Seen, request_log
from benchmarks.steps import COW, MOR
from spark_jobs.core.lake import Lake
from spark_jobs.core.locks import conditions
from spark_jobs.core.storage.objects.kept import KEPT
from spark_jobs.core.storage.objects.seen_time import SEEN
from spark_jobs.core.table import HudiTable
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.health import HealthOptions
from spark_jobs.options.result import JobState
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.health.job import run_health
from tests.interop.real_hudi import RealHudi
from tests.java import JVM_OPTIONS
from tests.support.jobs import job_context
from tests.support.s3 import S3_SERVER
from tests.support.s3a import s3a_jars, s3a_session

if TYPE_CHECKING:
    from obstore.store import S3Config

TARGET: Final = 0.5
BUCKET: Final = "requests"
RECORDS_EACH: Final = 10
TOUCHED: Final = 10
"""File groups that a query reads, and that an upsert changes."""
SETTLE_S: Final = 0.5
"""For what goes on behind the back of an operation that is done."""
WRITES: Final[Mapping[str, str]] = {
    "hoodie.index.type": "SIMPLE",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.bulkinsert.sort.mode": "PARTITION_SORT",
}
COMPACTS: Final[Mapping[str, str]] = {**WRITES, "hoodie.compact.inline.max.delta.commits": "1"}
CLEANS: Final[Mapping[str, str]] = {
    **WRITES,
    "hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.cleaner.fileversions.retained": "1",
}


class Side(Protocol):
    """Operations on the table at a place of the bucket. The numbers must be the same on both sides."""

    def bulk_insert(self, place: str, rows: pa.Table) -> None: ...

    def open(self, place: str) -> int:
        """The instants of the timeline."""

    def plan(self, place: str) -> int:
        """The files that a query of everything would read."""

    def query(self, place: str, partitions: Sequence[str]) -> int:
        """The rows."""

    def upsert(self, place: str, rows: pa.Table) -> None: ...

    def compact(self, place: str) -> int:
        """The compactions that were done."""

    def clean(self, place: str) -> int:
        """The files that were deleted."""


@dataclass(frozen=True, slots=True)
class Ours:
    """In this process, each operation on a table that is opened anew."""

    endpoint: str

    def bulk_insert(self, place: str, rows: pa.Table) -> None:
        _forget()
        table = HudiTable.create(
            _url(place),
            storage_options=self._options(),
            name="t",
            table_type=_type_of(place),
            record_key_fields=["id"],
            partition_fields=["p"],
            precombine_field="ts",
        )
        table.bulk_insert(rows, hoodie_conf=dict(WRITES))

    def open(self, place: str) -> int:
        return len(self._opened(place).timeline.instants)

    def plan(self, place: str) -> int:
        return len(self._opened(place).file_slices())

    def query(self, place: str, partitions: Sequence[str]) -> int:
        wanted = pc.field("p").isin(list(partitions))
        return int(self._opened(place).scan(filter=wanted).to_arrow().num_rows)

    def upsert(self, place: str, rows: pa.Table) -> None:
        done = self._opened(place).upsert(rows, hoodie_conf=dict(WRITES))
        if done.updates != rows.num_rows:
            raise SystemExit(f"an upsert of {rows.num_rows} records updated {done.updates}")

    def compact(self, place: str) -> int:
        _forget()
        options = CompactionOptions(base_path=_url(place), hoodie_conf=tuple(COMPACTS.items()))
        return int(run_compaction(options, job_context(lake=self._lake())).state is JobState.COMPLETED)

    def clean(self, place: str) -> int:
        _forget()
        options = CleanOptions(base_path=_url(place), hoodie_conf=tuple(CLEANS.items()))
        return run_cleaning(options, job_context(lake=self._lake())).files_in or 0

    def health(self, place: str) -> None:
        run_health(HealthOptions(base_path=_url(place), json=True), job_context(lake=self._lake()))

    def copy(self, source: str, target: str) -> None:
        """By the server, but for the lock file, which Hudi has not."""
        store = S3Store(BUCKET, config=_config(self.endpoint), client_options={"allow_http": True})
        keys = [one["path"] for page in obstore.list(store, f"{source}/") for one in page]
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(
                lambda key: obstore.copy(store, key, f"{target}{key.removeprefix(source)}"),
                (key for key in keys if "/.locks/" not in key),
            ):
                pass

    def content(self, place: str) -> tuple[int, int]:
        """The rows and the sum of their ``ts``."""
        rows = self._opened(place).scan(columns=["ts"]).to_arrow()
        return rows.num_rows, pc.sum(rows["ts"]).as_py()

    def _opened(self, place: str) -> HudiTable:
        _forget()
        return HudiTable.open(_url(place), storage_options=self._options())

    def _lake(self) -> Lake:
        return Lake().reached_by(self._options())

    def _options(self) -> dict[str, str]:
        return {f"aws_{name}": str(value) for name, value in _config(self.endpoint).items()}


@dataclass(frozen=True, slots=True)
class Hudi:
    """In one session, which has read and written another table before."""

    server: RealHudi
    scratch: Path

    @staticmethod
    @contextmanager
    def started(endpoint: str, scratch: Path) -> Iterator[Hudi]:
        given = S3_SERVER.options()
        session = s3a_session(endpoint, given["access_key_id"], given["secret_access_key"])
        with RealHudi(
            scratch / "hudi.log",
            session=session,
            java_options=JVM_OPTIONS,
            server="benchmarks.s3a_server",
            jars=s3a_jars(),
        ) as server:
            yield Hudi(server, scratch)

    def bulk_insert(self, place: str, rows: pa.Table) -> None:
        self._write(place, rows, "bulk_insert", "overwrite")

    def open(self, place: str) -> int:
        return int(self.server.ask("open", path=_url(place, "s3a")))

    def plan(self, place: str) -> int:
        return int(self.server.ask("plan", path=_url(place, "s3a")))

    def query(self, place: str, partitions: Sequence[str]) -> int:
        return int(self.server.ask("query", path=_url(place, "s3a"), column="p", values=list(partitions)))

    def upsert(self, place: str, rows: pa.Table) -> None:
        self._write(place, rows, "upsert", "append")

    def compact(self, place: str) -> int:
        return len(self.server.ask("compact", path=_url(place, "s3a"), options={**COMPACTS, **PROCEDURES}))

    def clean(self, place: str) -> int:
        return int(self.server.ask("clean", path=_url(place, "s3a"), options={**CLEANS, **PROCEDURES}))

    def _write(self, place: str, rows: pa.Table, operation: str, mode: str) -> None:
        source = self.scratch / "rows.parquet"
        pq.write_table(rows, source)
        options = {
            **WRITES,
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": _type_of(place),
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.precombine.field": "ts",
        }
        path = _url(place, "s3a")
        self.server.ask("write", path=path, source=str(source), operation=operation, options=options, mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A line of the table: what each side does to its own tables, which lie below its name in the bucket.

    ``before`` is done to both sides' tables by this project and not counted. Of a step with ``expected`` both sides
    have to return that.
    """

    name: str
    do: Callable[[Side, str], int | None]
    expected: int | None = None
    before: Callable[[Ours, str], None] | None = None
    by_ours_alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    step: str
    side: str
    seen: Seen
    seconds: float


def rows_of(partitions: Sequence[int], ts: int) -> pa.Table:
    """The records of partitions, those of a partition together."""
    groups = np.repeat(np.asarray(partitions), RECORDS_EACH)
    keys = groups * RECORDS_EACH + np.tile(np.arange(RECORDS_EACH), len(partitions))
    return pa.table(
        {
            "id": np.char.mod("k%06d", keys),
            "p": np.char.mod("p%04d", groups),
            "ts": np.full(len(keys), ts),
            "text": np.char.mod("text %d", keys),
        }
    )


def steps_of(groups: int) -> list[Step]:
    everything = range(groups)
    touched = everything[:: groups // TOUCHED][:TOUCHED]
    names = [f"p{one:04d}" for one in touched]

    def health(side: Side, own: str) -> None:
        assert isinstance(side, Ours)
        side.health(f"{own}/mor")

    return [
        Step(
            name=f"bulk_insert into {groups} partitions",
            do=lambda side, own: side.bulk_insert(f"{own}/new/cow", rows_of(everything, 1)),
        ),
        Step(name="open: the timeline", do=lambda side, own: side.open(f"{own}/cow"), expected=1),
        Step(
            name=f"plan of a query of {groups} slices",
            do=lambda side, own: side.plan(f"{own}/cow"),
            expected=groups,
        ),
        Step(
            name=f"query of {TOUCHED} of {groups} partitions",
            do=lambda side, own: side.query(f"{own}/cow", names),
            expected=TOUCHED * RECORDS_EACH,
        ),
        Step(
            name=f"upsert into {TOUCHED} groups, COPY_ON_WRITE",
            do=lambda side, own: side.upsert(f"{own}/cow", rows_of(touched, 2)),
        ),
        Step(
            name="the same, MERGE_ON_READ",
            do=lambda side, own: side.upsert(f"{own}/mor", rows_of(touched, 2)),
        ),
        Step(
            name=f"query of these {TOUCHED} with their logs",
            do=lambda side, own: side.query(f"{own}/mor", names),
            expected=TOUCHED * RECORDS_EACH,
        ),
        Step(name=f"compaction of {TOUCHED} groups", do=lambda side, own: side.compact(f"{own}/mor"), expected=1),
        Step(
            name=f"clean of {groups + TOUCHED} files",
            do=lambda side, own: side.clean(f"{own}/cow"),
            before=lambda ours, own: ours.upsert(f"{own}/cow", rows_of(everything, 3)),
            expected=groups + TOUCHED,
        ),
        Step(name="health", do=health, by_ours_alone=True),
    ]


def measure(step: Step, name: str, side: Side, log: RequestLog, direct: Ours) -> Measured:
    """
    :raises SystemExit: the step did not do what it should.
    """
    if step.before is not None:
        step.before(direct, name)
    log.taken()
    begun = time.perf_counter()
    done = step.do(side, name)
    seconds = time.perf_counter() - begun
    time.sleep(SETTLE_S)
    if step.expected is not None and done != step.expected:
        raise SystemExit(f"{step.name}: {name} has {done} where {step.expected} are expected")
    return Measured(step=step.name, side=name, seen=log.taken(), seconds=seconds)


def report(measured: Sequence[Measured], sides: Sequence[str]) -> str:
    """Two tables of Markdown: the requests by kind, of both sides beside each other; and what they are about."""
    found = {(one.step, one.side): one.seen for one in measured}
    steps = list(dict.fromkeys(one.step for one in measured))
    lines = [
        f"| Step: {', '.join(sides)} | {' | '.join(kind.value for kind in Kind)} | Sum | Ours / Hudi |",
        f"|{'---|' * (len(Kind) + 3)}",
    ]
    for step in steps:
        seen = [found.get((step, side)) for side in sides]
        cells = [_cell([None if one is None else one.by_kind()[kind] for one in seen]) for kind in Kind]
        ratio = _ratio(found, step)
        total = _cell([None if one is None else len(one.requests) for one in seen])
        lines.append(f"| {step} | {' | '.join(cells)} | {total} | {'-' if ratio is None else f'{ratio:.2f}'} |")
    lines += [
        "",
        f"| Step | Side | GET of lock | GET of timeline | {' | '.join(place.value for place in Place)} | Seconds |",
        f"|{'---|' * (len(Place) + 5)}",
    ]
    for one in measured:
        gets, places = one.seen.by_place(Kind.GET), one.seen.by_place()
        numbers = [gets[Place.LOCK], gets[Place.TIMELINE], *(places[place] for place in Place)]
        lines.append(f"| {one.step} | {one.side} | {' | '.join(map(str, numbers))} | {one.seconds:.1f} |")
    return "\n".join(lines)


def missed(measured: Sequence[Measured]) -> list[str]:
    """The steps in which this project takes more than it should."""
    found = {(one.step, one.side): one.seen for one in measured}
    ratios = {step: _ratio(found, step) for step in dict.fromkeys(one.step for one in measured)}
    return [step for step, ratio in ratios.items() if ratio is not None and ratio > TARGET]


def make_tables(direct: Ours, groups: int, sides: Sequence[str]) -> None:
    """The tables that the steps begin with, the same for each side."""
    for kind in ("cow", "mor"):
        direct.bulk_insert(f"made/{kind}", rows_of(range(groups), 1))
        for name in sides:
            direct.copy(f"made/{kind}", f"{name}/{kind}")


def check(direct: Ours, name: str, groups: int) -> None:
    """
    :raises SystemExit: the tables of a side don't have what was written.
    """
    records, changed = groups * RECORDS_EACH, TOUCHED * RECORDS_EACH
    for kind, total in (("cow", 3 * records), ("mor", records + changed)):
        found = direct.content(f"{name}/{kind}")
        if found != (records, total):
            raise SystemExit(f"{name}/{kind} has {found[0]} rows with {found[1]}, written were {records} with {total}")


def _ratio(found: Mapping[tuple[str, str], Seen], step: str) -> float | None:
    ours, hudi = found.get((step, "ours")), found.get((step, "hudi"))
    return None if ours is None or hudi is None else len(ours.requests) / len(hudi.requests)


def _cell(numbers: Sequence[int | None]) -> str:
    return ", ".join("-" if one is None else str(one) for one in numbers)


def _url(place: str, scheme: str = "s3") -> str:
    return f"{scheme}://{BUCKET}/{place}"


def _type_of(place: str) -> str:
    return MOR if place.endswith("mor") else COW


def _forget() -> None:
    """What a process knows of its store: another would ask again."""
    conditions._KEPT.clear()
    KEPT.clear()
    SEEN.clear()


def _config(endpoint: str) -> S3Config:
    given = S3_SERVER.options()
    return {
        "endpoint": endpoint,
        "region": given["region"],
        "access_key_id": given["access_key_id"],
        "secret_access_key": given["secret_access_key"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1000, help="partitions with a file group each, 10 at least")
    parser.add_argument("--sides", nargs="+", choices=("ours", "hudi"), default=["ours", "hudi"])
    parser.add_argument("--server", help=f"URL of a server with conditional puts and the bucket {BUCKET!r}")
    parser.add_argument("--delay-ms", type=int, default=0, help="what each request takes longer")
    parser.add_argument("--output", type=Path, help="file that gets the tables too")
    parser.add_argument("--verbose", action="store_true", help="the 20 most frequent requests of each step")
    options = parser.parse_args()
    if options.groups < TOUCHED:
        parser.error(f"--groups must be {TOUCHED} at least")
    server = options.server or S3_SERVER.endpoint()
    if options.server is None:
        S3_SERVER.put_bucket(server, BUCKET)
    measured = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="requests-")))
        log = stack.enter_context(request_log(server, scratch / "requests.log", delay_ms=options.delay_ms))
        direct, sides = Ours(server), dict[str, Side]()
        make_tables(direct, options.groups, options.sides)
        if "ours" in options.sides:
            sides["ours"] = Ours(log.url)
        if "hudi" in options.sides:
            sides["hudi"] = stack.enter_context(Hudi.started(log.url, scratch))
            sides["hudi"].bulk_insert("warm/mor", rows_of(range(2), 1))
            sides["hudi"].upsert("warm/mor", rows_of(range(2), 2))
            sides["hudi"].query("warm/mor", ["p0001"])
        for step in steps_of(options.groups):
            for name, side in sides.items():
                if step.by_ours_alone and not isinstance(side, Ours):
                    continue
                one = measure(step, name, side, log, direct)
                measured.append(one)
                print(f"{one.step}, {name}: {len(one.seen.requests)} in {one.seconds:.1f} s", file=sys.stderr)
                if options.verbose:
                    for (kind, path), number in one.seen.most_frequent(20):
                        print(f"{number:8} {kind:6} {path}", file=sys.stderr)
        for name in sides:
            check(direct, name, options.groups)
    text = report(measured, list(sides))
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n")
    too_many = missed(measured)
    if len(sides) == 2:
        print(f"\nat most {TARGET} of Hudi's requests: {'met in each step' if not too_many else 'missed'}")
        for missing in too_many:
            print(f"  missed: {missing}")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
