"""Writes and compaction beside real Hudi 0.15.0, on TPC-H lineitem.

    python benchmarks/lineitem.py                # both sides, median of 5 interleaved runs after a warm-up
    python benchmarks/lineitem.py --side hudi    # real Hudi alone
    python benchmarks/lineitem.py --processes    # whole processes beside it: start, one operation, end

Partitioned by ship year, key orderkey-linenumber, 10% of the rows updated and 2% inserted over all partitions. A time
is that of the write call until the instant is completed, in a warm Spark session of 2 cores on either side; both get
the same options (see ``sides.hoodie_options``), so the same codec, file groups and bloom filters.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.lineitem_data import LineitemData, lineitem_data
from benchmarks.sides import (
    Output,
    added,
    compaction_options,
    data_files,
    expected_groups,
    hoodie_options,
    rewrite_limit,
    start_hudi,
    start_ours,
)
from tests.interop.lines import LineClient

STEPS = ("bulk_insert", "upsert COW", "upsert MOR", "compaction")
TARGETS = {"bulk_insert": 0.7, "upsert COW": 0.4, "upsert MOR": 0.7, "compaction": 0.5}
SIDES: dict[str, Callable[[Path, str], LineClient]] = {"hudi": start_hudi, "ours": start_ours}
LIMIT = "pyarrow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One step of one run of one side."""

    side: str
    step: str
    run: int
    seconds: float
    output: Output
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase, where the side tells them."""


class Bench:
    """The steps, each on a table of its side's own below ``scratch``."""

    def __init__(self, data: LineitemData, scratch: Path, metadata_table: bool) -> None:
        self._data = data
        self._scratch = scratch
        self._metadata_table = metadata_table

    def table(self, side: str, kind: str) -> Path:
        return self._scratch / f"{side}_{kind}"

    def prepare(self, side: str, client: LineClient) -> None:
        """The MERGE_ON_READ table as it is before each run, made once."""
        shutil.rmtree(self.table(side, "mor_base"), ignore_errors=True)
        self._write(client, self.table(side, "mor_base"), self._data.base, "bulk_insert", "MERGE_ON_READ")

    def reset(self, side: str, step: str) -> None:
        """The table as the step must find it: none for bulk_insert, the base rows for an upsert of MERGE_ON_READ."""
        if step == "bulk_insert":
            shutil.rmtree(self.table(side, "cow"), ignore_errors=True)
        elif step == "upsert MOR":
            shutil.rmtree(self.table(side, "mor"), ignore_errors=True)
            shutil.copytree(self.table(side, "mor_base"), self.table(side, "mor"))

    def step(self, side: str, client: LineClient, step: str, run: int) -> Measure:
        """Do a step and measure it.

        :raises SystemExit: it wrote nothing.
        """
        table = self.table(side, "cow" if step in ("bulk_insert", "upsert COW") else "mor")
        before = data_files(table) if table.exists() else {}
        if step == "bulk_insert":
            answer = self._write(client, table, self._data.base, "bulk_insert", "COPY_ON_WRITE")
        elif step == "upsert COW":
            answer = self._write(client, table, self._data.changes, "upsert", "COPY_ON_WRITE")
        elif step == "upsert MOR":
            answer = self._write(client, table, self._data.changes, "upsert", "MERGE_ON_READ")
        else:
            options = compaction_options(metadata_table=self._metadata_table)
            answer = client.ask("compact", path=str(table), options=options)
        output = added(before, data_files(table))
        if output.files == 0:
            raise SystemExit(f"{side}: {step} wrote no file to {table}")
        phases = answer.get("seconds_by_phase", {}) if isinstance(answer, dict) else {}
        return Measure(side=side, step=step, run=run, seconds=client.seconds, output=output, phases=phases)

    def limit(self, side: str, run: int) -> Measure:
        """The base files that an upsert of the COW table touches (all of them), rewritten without a change."""
        files = data_files(self.table(side, "cow"))
        target = self._scratch / "limit"
        seconds = rewrite_limit(list(files), target)
        written = Output(files=len(files), bytes=sum(file.stat().st_size for file in target.iterdir()))
        shutil.rmtree(target)
        return Measure(side=LIMIT, step="upsert COW", run=run, seconds=seconds, output=written)

    def check(self, side: str, reader: LineClient) -> None:
        """Real Hudi counts the rows and the changed ones of both tables.

        :raises SystemExit: they are not what was written.
        """
        for kind in ("cow", "mor"):
            view = f"{side}_{kind}"
            path = self.table(side, kind)
            reader.ask("sql", text=f"create or replace temporary view {view} using hudi options (path '{path}')")
            rows = reader.ask(
                "sql", text=f"select count(*) n, count(distinct l_key) k, sum(l_version) changed from {view}"
            )[0]
            total = self._data.base_rows + self._data.inserted_rows
            if rows != {"n": total, "k": total, "changed": self._data.change_rows}:
                raise SystemExit(f"{path}: {rows}, expected {total} rows, {self._data.change_rows} of them changed")

    def _write(self, client: LineClient, table: Path, source: Path, operation: str, table_type: str) -> Any:
        options = hoodie_options(table.name, table_type, metadata_table=self._metadata_table)
        options["hoodie.table.name"] = "lineitem"
        return client.ask("write", path=str(table), source=str(source), operation=operation, options=options)


def warm_runs(bench: Bench, sides: list[str], runs: int, scratch: Path, memory: str) -> list[Measure]:
    """All steps ``runs`` times after a warm-up that is thrown away, sides in turn, first one then the other."""
    clients = {side: SIDES[side](scratch / f"{side}.log", memory) for side in sides}
    measures: list[Measure] = []
    try:
        for side in sides:
            bench.prepare(side, clients[side])
        for run in range(runs + 1):
            for step in STEPS:
                for side in sides if run % 2 else reversed(sides):
                    bench.reset(side, step)
                    measures.append(bench.step(side, clients[side], step, run))
                    show(measures[-1])
                if step == "bulk_insert":
                    measures.append(bench.limit(sides[0], run))
                    show(measures[-1])
        if "hudi" in clients:
            for side in sides:
                bench.check(side, clients["hudi"])
            print("rows: counted by Hudi, equal to what was written", flush=True)
    finally:
        for client in clients.values():
            client.stop()
    return [measure for measure in measures if measure.run > 0]


def process_runs(bench: Bench, sides: list[str], runs: int, scratch: Path, memory: str) -> list[Measure]:
    """Each step in a Spark application of its own; the time includes its start and its end."""
    measures: list[Measure] = []
    for run in range(1, runs + 1):
        for step in STEPS:
            for side in sides if run % 2 else reversed(sides):
                bench.reset(side, step)
                begun = time.monotonic()
                with SIDES[side](scratch / f"{side}.log", memory) as client:
                    output = bench.step(side, client, step, run).output
                seconds = time.monotonic() - begun
                measures.append(Measure(side=side, step=step, run=run, seconds=seconds, output=output))
                show(measures[-1])
    return measures


def show(measure: Measure) -> None:
    where = "warm-up" if measure.run == 0 else f"run {measure.run}"
    print(
        f"{where:8} {measure.step:12} {measure.side:8} {measure.seconds:7.2f} s "
        f"{measure.output.files:5} files {measure.output.bytes / 1e6:8.1f} MB",
        flush=True,
    )


def report(title: str, measures: list[Measure], sides: list[str]) -> None:
    """Medians by step; the ratio is ours to Hudi's."""
    by: dict[tuple[str, str], list[Measure]] = defaultdict(list)
    for measure in measures:
        by[measure.step, measure.side].append(measure)
    print(f"\n{title}\n{'step':12} {'side':8} {'median s':>9} {'min':>7} {'max':>7} {'files':>6} {'MB':>8}  ratio")
    for step in STEPS:
        for side in (*sides, LIMIT):
            found = by.get((step, side))
            if not found:
                continue
            seconds = [measure.seconds for measure in found]
            median, output, note = statistics.median(seconds), found[-1].output, ""
            if side == "ours" and (step, "hudi") in by:
                other = by[step, "hudi"]
                note = f"{median / statistics.median(measure.seconds for measure in other):.2f} of Hudi's"
                note += f" (target {TARGETS[step]})"
                if abs(output.bytes - other[-1].output.bytes) > 0.1 * other[-1].output.bytes:
                    note += "; bytes differ by more than 10%"
            print(
                f"{step:12} {side:8} {median:9.2f} {min(seconds):7.2f} {max(seconds):7.2f} "
                f"{output.files:6} {output.bytes / 1e6:8.1f}  {note}"
            )


def report_phases(measures: list[Measure]) -> None:
    """Where our time goes: the median seconds of each phase that the jobs tell."""
    print("\nOurs by phase, median s")
    for step in STEPS:
        of_step = [measure for measure in measures if measure.side == "ours" and measure.step == step]
        names = {name: None for measure in of_step for name in measure.phases}
        medians = {name: statistics.median(one.phases.get(name, 0.0) for one in of_step) for name in names}
        print(f"{step:12} " + "  ".join(f"{name} {seconds:.2f}" for name, seconds in medians.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.3, help="TPC-H scale factor (0.3: 1.8 million rows)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--side", choices=(*SIDES, "both"), default="both")
    parser.add_argument("--processes", action="store_true", help="measure whole processes too")
    parser.add_argument("--metadata-table", action="store_true", help="hoodie.metadata.enable=true on both sides")
    parser.add_argument("--memory", default="4g", help="heap of each side's JVM")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache" / "pyhudi-bench", help="for data and tables"
    )
    parser.add_argument("--json", type=Path, help="file that gets every measure")
    options = parser.parse_args()
    sides = list(SIDES) if options.side == "both" else [options.side]
    cache: Path = options.cache.resolve()
    data = lineitem_data(options.scale, cache)
    scratch = cache / "tables"
    scratch.mkdir(parents=True, exist_ok=True)
    print(
        f"lineitem at scale {options.scale:g}: {data.base_rows} rows, {data.change_rows} changes "
        f"({data.inserted_rows} of them inserts), about {expected_groups()} file groups\n"
        f"on both sides: zstd, bloom filters on, metadata table {'on' if options.metadata_table else 'off'}, "
        "cleaning and archiving off",
        flush=True,
    )
    bench = Bench(data, scratch, options.metadata_table)
    measures = warm_runs(bench, sides, options.runs, scratch, options.memory)
    report("Warm sessions, write call until the instant is completed", measures, sides)
    if "ours" in sides:
        report_phases(measures)
    if options.processes:
        whole = process_runs(bench, sides, options.runs, scratch, options.memory)
        report("Whole processes: start, one operation, end", whole, sides)
        measures = [*measures, *whole]
    if options.json:
        options.json.write_text(json.dumps([asdict(measure) for measure in measures], indent=1) + "\n")


if __name__ == "__main__":
    main()
