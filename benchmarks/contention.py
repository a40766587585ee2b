"""What the table lock costs: 1, 2, 4 and 8 processes that upsert to partitions of their own at the same time.

    python benchmarks/contention.py                        # each call of the storage takes 30 ms longer
    python benchmarks/contention.py --delay-ms 0 --groups 1000 --writers 1

On a local disk. The delay is there so that waiting, and not two cores, decides: the calls of one process may run beside
each other, as they would on a store. For each number of writers: commits per second, and of each commit the seconds it
took, waited for the lock and held it; the share of the time in which somebody held it, by the phase of a write.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.lake import Lake
from spark_jobs.core.locks.choose import LockChoice, choose_lock
from spark_jobs.core.locks.protocol import TableLock
from spark_jobs.core.storage import LocalStorage, Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate

CONF: Final = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.metadata.compact.max.delta.commits": "1000",
    "hoodie.write.lock.wait_time_ms": "300000",
    "hoodie.index.type": "SIMPLE",
    "hoodie.parquet.small.file.limit": "100000000",
}
ROWS: Final = 10
"""Of each partition; a commit changes them all."""
PHASES: Final = ("begin", "publish")
CALLS: Final = frozenset(
    {
        *("create", "replace", "replace_if", "read", "load", "read_listed", "list", "stat", "has_folder", "delete"),
        *("delete_files", "discard", "delete_if", "open_input", "open_output", "sync", "delete_tree", "clock_ms"),
    }
)


class Slow:
    """A storage each of whose calls takes longer."""

    def __init__(self, inner: Storage, seconds: float) -> None:
        self.inner, self.seconds = inner, seconds

    def __getattr__(self, name: str) -> Any:
        if name in ("inner", "seconds"):  # asked for before they are there, by who unpickles
            raise AttributeError(name)
        found = getattr(self.inner, name)
        if name == "relaxed":
            return lambda: Slow(found(), self.seconds)
        return self._slow(found) if name in CALLS else found

    def _slow(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def slow(*given: Any, **named: Any) -> Any:
            time.sleep(self.seconds)
            return call(*given, **named)

        return slow


@dataclass(slots=True)
class Watch:
    """Seconds of one writer, by the phase in which it took the lock."""

    waited: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    held: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    times: list[tuple[str, float]] = field(default_factory=list)


class Timed:
    """A lock under a watch."""

    def __init__(self, inner: TableLock, watch: Watch) -> None:
        self._inner, self._watch, self._phase, self._since = inner, watch, _phase(), 0.0

    def __enter__(self) -> TableLock:
        begun = time.monotonic()
        lock = self._inner.__enter__()
        self._since = time.monotonic()
        self._watch.waited[self._phase] += self._since - begun
        return lock

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)
        held = time.monotonic() - self._since
        self._watch.held[self._phase] += held
        self._watch.times.append((self._phase, held))


@dataclass(frozen=True, slots=True)
class Choice:
    """The lock of a table, under a watch."""

    inner: LockChoice
    watch: Watch

    def new(self, storage: Storage, clock: Any) -> Any:
        return Timed(self.inner.new(storage, clock), self.watch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _phase() -> str:
    """The step of a write that asks for the lock, by the functions that called."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in PHASES and "transaction" in frame.f_code.co_filename:
            return str(frame.f_code.co_name)
        frame = frame.f_back
    return "other"


def lake_of(delay_ms: float, watch: Watch) -> Lake:
    def chosen(properties: Mapping[str, str], storage: Storage, folder: str) -> Any:
        return Choice(choose_lock(properties, storage, folder), watch)

    local: Any = Slow(LocalStorage(), delay_ms / 1000) if delay_ms else LocalStorage()
    return Lake(storages={"file": local}, choose_lock=chosen)


def rows(partition: int, value: str) -> pa.Table:
    ids = [f"{partition}-{one}" for one in range(ROWS)]
    return pa.table({"id": ids, "p": [f"p{partition}"] * ROWS, "v": [value] * ROWS, "ts": [1] * ROWS})


def write(url: str, number: int, seconds: float, delay_ms: float) -> dict[str, Any]:
    """Commits of one writer until its time is over."""
    watch, refused = Watch(), 0
    took: list[float] = []
    lake = lake_of(delay_ms, watch)
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        at = time.monotonic()
        try:
            HudiTable.open(url, lake=lake).upsert(rows(number, f"{len(took)}"), hoodie_conf=CONF)
        except WriteConflictError:
            refused += 1
            continue
        took.append(time.monotonic() - at)
    return {
        "seconds": time.monotonic() - begun,
        "took": took,
        "refused": refused,
        "waited": dict(watch.waited),
        "held": dict(watch.held),
        "times": watch.times,
    }


def measure(folder: Path, writers: int, groups: int, seconds: float, delay_ms: float) -> None:
    url = str(folder / f"t{writers}")
    table = HudiTable.create(
        url,
        name="t",
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        table_type="COPY_ON_WRITE",
    )
    table.upsert(
        pa.concat_tables([rows(one, "first") for one in range(max(groups, writers))]),
        hoodie_conf=CONF,
    )
    command = [sys.executable, __file__, "--child", url, "--seconds", str(seconds), "--delay-ms", str(delay_ms)]
    children = [
        subprocess.Popen([*command, "--number", str(one)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for one in range(writers)
    ]
    reports = [json.loads(child.communicate()[0].splitlines()[-1]) for child in children]
    wrong = [str(one) for one in validate(url) if one.is_error]
    print(told(writers, reports, wrong), flush=True)


def told(writers: int, reports: Sequence[Mapping[str, Any]], wrong: Sequence[str]) -> str:
    took = sorted(one for report in reports for one in report["took"])
    commits = len(took)
    seconds = statistics.mean(report["seconds"] for report in reports)
    waited = {phase: sum(report["waited"].get(phase, 0) for report in reports) for phase in (*PHASES, "other")}
    held = {phase: sum(report["held"].get(phase, 0) for report in reports) for phase in (*PHASES, "other")}
    of_each = sorted(len(report["took"]) for report in reports)
    publishing = sorted(1000 * one for report in reports for phase, one in report["times"] if phase == "publish")
    share = ", ".join(f"{phase} {100 * one / seconds:.0f}%" for phase, one in held.items() if one)
    return (
        f"{writers} writers: {commits / seconds:.2f} commits a second ({of_each[0]} to {of_each[-1]} each), "
        f"{sum(report['refused'] for report in reports)} refused; a commit took {statistics.median(took):.2f} s "
        f"(p99 {_at(took, 0.99):.2f}), of which it waited {sum(waited.values()) / commits:.2f} s; "
        f"the lock was held {100 * sum(held.values()) / seconds:.0f}% of the time ({share}); "
        f"to publish {_at(publishing, 0.5):.0f} ms (p99 {_at(publishing, 0.99):.0f})"
        + "".join(f"\nWRONG: {one}" for one in wrong)
    )


def _at(numbers: Sequence[float], share: float) -> float:
    return numbers[int(share * (len(numbers) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", default="1,2,4,8", help="numbers of processes")
    parser.add_argument("--groups", type=int, default=8, help="file groups of the table, in a partition each")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each number")
    parser.add_argument("--delay-ms", type=float, default=30.0, help="that each call of the storage takes longer")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(write(options.child, options.number, options.seconds, options.delay_ms)))
        return
    with tempfile.TemporaryDirectory(prefix="contention-") as folder:
        for writers in map(int, options.writers.split(",")):
            measure(Path(folder), writers, options.groups, options.seconds, options.delay_ms)


if __name__ == "__main__":
    main()
