"""Seconds and memory per row of a large table beside those of a small one, on TPC-H lineitem.

    python benchmarks/scale.py                                  # 6 and 60 million rows, ours with and without Spark
    python benchmarks/scale.py --scales 0.03 0.3 --sides ours   # a minute, to see that it works
    python benchmarks/scale.py --sides hudi --steps upsert

A bulk insert, an upsert of a tenth of the rows over all file groups, a clustering of what they made, and a compaction
after the same on a MERGE_ON_READ table. Each step runs in a process, or a warm Spark session of 2 cores, of its own.
Seconds are those of the call until the instant is completed; of a job without Spark those of the whole process. Memory
is the most that was resident (``VmHWM`` of Linux) in the JVM, in the driver's Python and in the largest Python worker.

Seconds and memory per row should grow to 1.15 times at most. A Python worker should stay below 512 MiB, the driver with
its JVM below 2 GiB, a job without Spark below 4 GiB. Tables are deleted after their last step: at scale 10 some 15 GB
are needed for them, and 5 GB for the data, which is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow.compute as pc

from benchmarks.lineitem_data import PRECOMBINE
from benchmarks.scale_data import ScaleData, scale_data
from benchmarks.sides import LOCAL, LocalJob, hoodie_options, service_options, start_hudi, start_local, start_ours
from benchmarks.steps import COW, MOR
from benchmarks.submitted import family
from spark_jobs.core.table import HudiTable
from tests.interop.lines import LineClient

GROWTH: Final = 1.15
LIMITS: Final[Mapping[str, float]] = MappingProxyType({"worker": 512, "driver": 2048, LOCAL: 4096})
"""In MiB: of one Python worker, of the driver with its JVM, of a job without Spark."""
STARTS: Final[Mapping[str, Callable[[Path, str], LineClient | LocalJob]]] = MappingProxyType(
    {"ours": start_ours, LOCAL: start_local, "hudi": start_hudi}
)
_CHOSEN_BY_SIDES: Final = ("hoodie.bulkinsert.shuffle.parallelism", "hoodie.upsert.shuffle.parallelism")
"""Of the other benchmarks' options: here each side says how many tasks it takes."""


@dataclass(frozen=True, slots=True)
class Step:
    """``command`` is one of the serving ends; ``operation`` that of a write."""

    name: str
    table_type: str
    command: str
    operation: str = ""


SEQUENCES: Final[tuple[tuple[Step, ...], ...]] = (
    (
        Step("bulk_insert", COW, "write", "bulk_insert"),
        Step("upsert", COW, "write", "upsert"),
        Step("clustering", COW, "cluster"),
    ),
    (
        Step("bulk_insert MOR", MOR, "write", "bulk_insert"),
        Step("upsert MOR", MOR, "write", "upsert"),
        Step("compaction", MOR, "compact"),
    ),
)
"""Steps on one table, one after the other."""
NAMES: Final = tuple(step.name for steps in SEQUENCES for step in steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One step: seconds, rows of the table, and MiB of the JVM, of the driver's Python, and of the largest worker."""

    side: str
    step: str
    scale: float
    rows: int
    seconds: float
    jvm: float
    driver: float
    worker: float

    def over(self) -> list[str]:
        """The limits that it passes."""
        if self.side == "hudi":
            return []
        if self.side == LOCAL:
            used = {LOCAL: self.driver}
        else:
            used = {"driver": self.driver + self.jvm, "worker": self.worker}
        return [f"{name} {mib:.0f} of {LIMITS[name]:.0f} MiB" for name, mib in used.items() if mib > LIMITS[name]]


class Watch(AbstractContextManager["Watch"]):
    """Looks at all that this process started, again and again."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._peaks: dict[int, tuple[str, float]] = {}
        self._first: set[int] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        own = os.getpid()
        while not self._ended.wait(0.1):
            found = family(own)
            found.pop(own, None)
            if found and not self._first:
                self._first = {min(found)}  # who started the others
            self._peaks |= found

    def peaks(self) -> tuple[float, float, float]:
        """MiB of the JVM, of the driver's Python, and of the largest other Python process."""
        java = [mib for name, mib in self._peaks.values() if name == "java"]
        pythons = {pid: mib for pid, (name, mib) in self._peaks.items() if name.startswith(("python", "pyspark"))}
        driver = [mib for pid, mib in pythons.items() if pid in self._first]
        workers = [mib for pid, mib in pythons.items() if pid not in self._first]
        return max(java, default=0.0), max(driver, default=0.0), max(workers, default=0.0)


class Scale:
    """The tables of one scale, below ``scratch``."""

    def __init__(
        self,
        scale: float,
        data: ScaleData,
        warm: ScaleData,
        scratch: Path,
        heaps: Mapping[str, str],
        more: Mapping[str, str],
    ) -> None:
        self._scale, self._data, self._warm = scale, data, warm
        self._scratch, self._heaps, self._more = scratch, heaps, more

    def measures(self, side: str, wanted: tuple[str, ...]) -> list[Measure]:
        """Do all steps that the wanted ones need."""
        found = []
        for steps in SEQUENCES:
            last = max((place for place, step in enumerate(steps) if step.name in wanted), default=-1)
            table = self._scratch / f"{side}-{steps[0].table_type.lower()}-{self._scale:g}"
            shutil.rmtree(table, ignore_errors=True)
            try:
                for step in steps[: last + 1]:
                    measure = self._measure(side, step, table)
                    show(measure)
                    found += [measure] if step.name in wanted else []
                if last >= 0:
                    self._check(side, table, changed=last > 0)
            finally:
                shutil.rmtree(table, ignore_errors=True)
        return found

    def _measure(self, side: str, step: Step, table: Path) -> Measure:
        os.sync()
        log = self._scratch / f"{side}.log"
        with Watch() as watch, STARTS[side](log, self._heaps[side]) as client:
            if side != LOCAL:
                self._warm_up(client, step, self._scratch / f"{side}-warm")
            self._do(client, step, table, self._data)
            seconds = client.seconds
        jvm, driver, worker = watch.peaks()
        return Measure(
            side=side,
            step=step.name,
            scale=self._scale,
            rows=self._data.rows,
            seconds=seconds,
            jvm=jvm,
            driver=driver,
            worker=worker,
        )

    def _warm_up(self, client: LineClient | LocalJob, step: Step, table: Path) -> None:
        """The same, and what it needs, on a small table."""
        shutil.rmtree(table, ignore_errors=True)
        steps = next(steps for steps in SEQUENCES if step in steps)
        for one in steps[: steps.index(step) + 1]:
            self._do(client, one, table, self._warm)
        shutil.rmtree(table)

    def _do(self, client: LineClient | LocalJob, step: Step, table: Path, data: ScaleData) -> None:
        if step.command != "write":
            client.ask(step.command, path=str(table), options=service_options(metadata_table=True))
            return
        options = hoodie_options(step.table_type, metadata_table=True) | {"hoodie.index.type": "SIMPLE"}
        options = {name: value for name, value in options.items() if name not in _CHOSEN_BY_SIDES}
        options |= self._more
        source = data.base if step.operation == "bulk_insert" else data.changes
        client.ask("write", path=str(table), source=str(source), operation=step.operation, options=options)

    def _check(self, side: str, path: Path, *, changed: bool) -> None:
        """
        :raises SystemExit: the table has other rows than were written.
        """
        rows = versions = 0
        for batch in HudiTable.open(str(path)).scan(columns=[PRECOMBINE]).batches():
            rows += batch.num_rows
            versions += pc.sum(batch.column(0)).as_py() or 0
        expected = (self._data.rows, self._data.changed if changed else 0)
        if (rows, versions) != expected:
            raise SystemExit(f"{side}: {path} has {rows} rows, {versions} of them changed, and not {expected}")


def show(one: Measure) -> None:
    over = "".join(f"  OVER {limit}" for limit in one.over())
    took = f"{one.seconds:8.1f} s {one.seconds / one.rows * 1e6:7.2f} us/row"
    used = f"MiB: JVM {one.jvm:5.0f}, driver {one.driver:5.0f}, worker {one.worker:4.0f}"
    print(f"scale {one.scale:<6g} {one.step:16} {one.side:6} {took}  {used}{over}", flush=True)


def report(measures: list[Measure], scales: list[float]) -> bool:
    """By step and side how seconds and memory per row grow from the first scale to the last; whether all is as wanted.

    Hudi is not judged.
    """
    small, large = scales[0], scales[-1]
    by = {(one.step, one.side, one.scale): one for one in measures}
    well = not any(one.over() for one in measures)
    print(f"\nPer row, scale {large:g} beside {small:g}; at most {GROWTH} wanted")
    print(f"{'step':16} {'side':6} {'seconds':>8} {'memory':>8}")
    for step, side in dict.fromkeys((one.step, one.side) for one in measures):
        first, last = by[step, side, small], by[step, side, large]
        times = last.seconds / last.rows / (first.seconds / first.rows)
        memory = _memory(last) / last.rows / (_memory(first) / first.rows)
        judged = side != "hudi" and len(scales) > 1
        passed = judged and max(times, memory) > GROWTH
        well = well and not passed
        print(f"{step:16} {side:6} {times:8.2f} {memory:8.2f}{'  MORE' if passed else ''}")
    return well


def _memory(one: Measure) -> float:
    return one.jvm + one.driver + one.worker


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=float, nargs="+", default=[1.0, 10.0], help="TPC-H scale factors, small first")
    parser.add_argument("--steps", nargs="+", choices=NAMES, default=NAMES, metavar="STEP", help=", ".join(NAMES))
    parser.add_argument("--sides", nargs="+", choices=tuple(STARTS), default=["ours", LOCAL])
    parser.add_argument("--conf", nargs="*", default=[], metavar="KEY=VALUE", help="further options of every write")
    parser.add_argument("--heap", default="1g", help="of our driver's JVM (default: 1g)")
    parser.add_argument("--hudi-heap", default="4g", help="of Hudi's (default: 4g)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "pyhudi-bench", help="for data, tables")
    parser.add_argument("--json", type=Path, help="file that gets every measure")
    options = parser.parse_args()
    cache: Path = options.cache.resolve()
    scratch = cache / "scale-tables"
    scratch.mkdir(parents=True, exist_ok=True)
    heaps = {"ours": options.heap, LOCAL: "", "hudi": options.hudi_heap}
    warm = scale_data(0.01, cache)
    measures = []
    for scale in options.scales:
        data = scale_data(scale, cache)
        print(f"scale {scale:g}: {data.rows} rows, {data.changed} changed", flush=True)
        tables = Scale(scale, data, warm, scratch, heaps, dict(one.split("=", 1) for one in options.conf))
        for side in options.sides:
            measures += tables.measures(side, tuple(options.steps))
        if options.json:
            options.json.write_text(json.dumps([asdict(one) for one in measures], indent=1) + "\n")
    return 0 if report(measures, options.scales) else 1


if __name__ == "__main__":
    sys.exit(main())
