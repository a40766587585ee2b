"""Writes and services beside real Hudi 0.15.0, on TPC-H lineitem.

    python benchmarks/lineitem.py                      # both sides, median of 5 interleaved runs after a warm-up
    python benchmarks/lineitem.py --steps upsert       # the steps whose names begin so
    python benchmarks/lineitem.py --side hudi          # real Hudi alone
    python benchmarks/lineitem.py --before ../earlier  # ours beside the jobs of an earlier checkout
    python benchmarks/lineitem.py --processes          # whole processes beside it: start, one operation, end; ours
                                                       # on Spark and (local) without
    python benchmarks/lineitem.py --gateway-folder DIR --delay-ms 30   # on S3: DIR is what a versitygw at
                                                       # --gateway gives (posix, without a sidecar); each request takes
                                                       # that much longer

Partitioned by ship year, key orderkey-linenumber. A time is that of the call until the instant is completed, in a warm
Spark session of 2 cores on either side; both get the same options (see ``sides.hoodie_options``), so the same codec,
file groups, bloom filters and metadata table. Each step begins with a fresh copy of its table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.lineitem_data import lineitem_data
from benchmarks.measure import LIMIT, Bench, Measure
from benchmarks.on_s3 import PROCEDURES, OnS3
from benchmarks.sides import (
    LOCAL,
    SIDES,
    LocalJob,
    add_side_options,
    chosen_sides,
    expected_groups,
    start_local,
    start_ours,
)
from benchmarks.steps import PROCESS_TARGETS, STEPS, Step
from tests.interop.lines import LineClient

BEFORE = "before"
Sides = Mapping[str, Callable[[Path, str], LineClient]]
"""What starts each side that is measured, in their order."""
Processes = Mapping[str, Callable[[Path, str], LineClient | LocalJob]]
"""The same of those that are measured as whole processes."""


def warm_runs(bench: Bench, steps: tuple[Step, ...], sides: Sides, runs: int, logs: Path, memory: str) -> list[Measure]:
    """All steps ``runs`` times after a warm-up that is thrown away, sides in turn, first one then the other."""
    clients = {side: start(logs / f"{side}.log", memory) for side, start in sides.items()}
    measures: list[Measure] = []
    try:
        for side in sides:
            bench.prepare(side, clients[side], steps)
        for run in range(runs + 1):
            for step in steps:
                for side in sides if run % 2 else reversed(list(sides)):
                    bench.reset(side, step)
                    measures.append(bench.step(side, clients[side], step, run))
                    show(measures[-1])
                if step.limit:
                    measures.append(bench.limit(list(sides)[-1], step, run))
                    show(measures[-1])
        if "hudi" in clients:
            for side in sides:
                for step in steps:
                    bench.check(side, clients["hudi"], step)
            print("rows: counted by Hudi, equal to what was written", flush=True)
    finally:
        for client in clients.values():
            client.stop()
    return [measure for measure in measures if measure.run > 0]


def make_starts(bench: Bench, steps: tuple[Step, ...], sides: Sides, logs: Path, memory: str) -> None:
    """The tables that the steps begin with, where no warm session makes them."""
    for side, start in sides.items():
        client = start(logs / f"{side}.log", memory)
        try:
            bench.prepare(side, client, steps)
        finally:
            client.stop()


def process_runs(
    bench: Bench, steps: tuple[Step, ...], sides: Processes, runs: int, logs: Path, memory: str
) -> list[Measure]:
    """Steps in a Spark application, or a process without Spark, of their own; the time includes its start and end."""
    measures: list[Measure] = []
    for run in range(1, runs + 1):
        for step in steps:
            for side in sides if run % 2 else reversed(list(sides)):
                bench.reset(side, step)
                begun = time.monotonic()
                with sides[side](logs / f"{side}.log", memory) as client:
                    output = bench.step(side, client, step, run).output
                seconds = time.monotonic() - begun
                measures.append(Measure(side=side, step=step.name, run=run, seconds=seconds, output=output))
                show(measures[-1])
    return measures


def show(measure: Measure) -> None:
    where = "warm-up" if measure.run == 0 else f"run {measure.run}"
    print(
        f"{where:8} {measure.step:24} {measure.side:8} {measure.seconds:7.2f} s "
        f"{measure.output.files:5} files {measure.output.bytes / 1e6:8.1f} MB",
        flush=True,
    )


def report(
    title: str, measures: list[Measure], sides: Processes, targets: Mapping[str, Mapping[str, float | None]]
) -> None:
    """Medians by step; the ratio is ours to the other side's, and to the limit where there is one.

    :param targets: by step, then by the side of ours that has to stay below it, the ratio to Hudi's.
    """
    by: dict[tuple[str, str], list[Measure]] = defaultdict(list)
    for measure in measures:
        by[measure.step, measure.side].append(measure)
    print(f"\n{title}\n{'step':24} {'side':8} {'median s':>9} {'min':>7} {'max':>7} {'files':>6} {'MB':>8}  ratio")
    for step, of_step in targets.items():
        for side in (*sides, LIMIT):
            found = by.get((step, side))
            if not found:
                continue
            seconds = [measure.seconds for measure in found]
            median, output, notes = statistics.median(seconds), found[-1].output, []
            others = {"ours": ("hudi", BEFORE, LIMIT), LOCAL: ("hudi", BEFORE, "ours")}.get(side, ())
            for other in others:
                if (step, other) in by:
                    ratio = median / statistics.median(measure.seconds for measure in by[step, other])
                    notes.append(f"{ratio:.2f} of {other}'s")
            target = of_step.get(side)
            if target is not None and "hudi" in sides:
                notes.append(f"target {target}")
            if others and (step, "hudi") in by:
                theirs = by[step, "hudi"][-1].output
                if abs(output.bytes - theirs.bytes) > 0.1 * theirs.bytes or output.files != theirs.files:
                    notes.append("files or bytes differ")
            print(
                f"{step:24} {side:8} {median:9.2f} {min(seconds):7.2f} {max(seconds):7.2f} "
                f"{output.files:6} {output.bytes / 1e6:8.1f}  {', '.join(notes)}"
            )


def report_phases(measures: list[Measure], steps: tuple[Step, ...]) -> None:
    """Where our time goes: the median seconds of each phase that the jobs tell."""
    print("\nOurs by phase, median s")
    for step in steps:
        of_step = [measure for measure in measures if measure.side == "ours" and measure.step == step.name]
        names = {name: None for measure in of_step for name in measure.phases}
        medians = {name: statistics.median(one.phases.get(name, 0.0) for one in of_step) for name in names}
        print(f"{step.name:24} " + "  ".join(f"{name} {seconds:.2f}" for name, seconds in medians.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.3, help="TPC-H scale factor (0.3: 1.8 million rows)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", nargs="*", default=[""], help="beginnings of the names of steps; all without it")
    parser.add_argument("--processes", action="store_true", help="measure whole processes too")
    parser.add_argument("--no-warm", action="store_true", help="no warm sessions, only --processes")
    parser.add_argument("--no-metadata-table", action="store_true", help="hoodie.metadata.enable=false on both sides")
    parser.add_argument("--before", type=Path, help="checkout of an earlier commit: ours beside its jobs, without Hudi")
    parser.add_argument("--source-reader", choices=("auto", "spark"), default="auto", help="who reads for our jobs")
    parser.add_argument("--gateway-folder", type=Path, help="tables lie in S3: what a gateway at --gateway gives")
    parser.add_argument("--gateway", default="http://127.0.0.1:7070", help="its URL; keys are 'tests' and 'tests'")
    parser.add_argument("--delay-ms", type=int, default=0, help="what each request to it takes longer")
    add_side_options(parser)
    options = parser.parse_args()
    with ExitStack() as stack:
        run(parser, options, stack)


def run(parser: argparse.ArgumentParser, options: argparse.Namespace, stack: ExitStack) -> None:
    ours = partial(start_ours, source_reader=options.source_reader)
    sides: Sides = {side: ours if side == "ours" else SIDES[side] for side in chosen_sides(options)}
    on_s3: OnS3 | None = None
    if options.gateway_folder:
        on_s3 = stack.enter_context(OnS3.reached(options.gateway, options.gateway_folder, options.delay_ms))
        sides = {side: start if side == "ours" else on_s3.start_hudi for side, start in sides.items()}
    if options.before:
        sides = {BEFORE: partial(ours, root=options.before.resolve(strict=True)), "ours": ours}
    steps = tuple(step for step in STEPS if step.name.startswith(tuple(options.steps)))
    if not steps:
        parser.error(f"--steps {' '.join(options.steps)}: no such step; there are " + ", ".join(s.name for s in STEPS))
    cache: Path = options.cache.resolve()
    data = lineitem_data(options.scale, cache)
    scratch = on_s3.tables if on_s3 else cache / "tables"
    scratch.mkdir(parents=True, exist_ok=True)
    print(
        f"lineitem at scale {options.scale:g}: {data.base_rows} rows, {data.change_rows} changes "
        f"({data.inserted_rows} of them inserts), about {expected_groups()} file groups\n"
        f"on both sides: zstd, bloom filters on, metadata table {'off' if options.no_metadata_table else 'on'}, "
        "cleaning and archiving off",
        flush=True,
    )
    bench = Bench(data, scratch, not options.no_metadata_table)
    if on_s3:
        bench = Bench(data, scratch, not options.no_metadata_table, on_s3.address, PROCEDURES)
    logs = cache / "logs"
    logs.mkdir(exist_ok=True)
    measures: list[Measure] = []
    if not options.no_warm:
        measures = warm_runs(bench, steps, sides, options.runs, logs, options.memory)
        title = "Warm sessions, the call until the instant is completed"
        report(title, measures, sides, {step.name: {"ours": step.target} for step in steps})
        if "ours" in sides:
            report_phases(measures, steps)
    if options.processes:
        alone = tuple(step for step in steps if step.name in PROCESS_TARGETS)
        if options.no_warm:
            make_starts(bench, alone, sides, logs, options.memory)
        processes: Processes = {**sides, LOCAL: start_local} if "ours" in sides else sides
        whole = process_runs(bench, alone, processes, options.runs, logs, options.memory)
        report("Whole processes: start, one operation, end", whole, processes, PROCESS_TARGETS)
        measures = [*measures, *whole]
    if options.json:
        options.json.write_text(json.dumps([asdict(measure) for measure in measures], indent=1) + "\n")


if __name__ == "__main__":
    main()
