"""``python -m tests.simulation.nights`` lives through the worlds of the next seeds that no run before it had, and adds
what it found as a line to ``nights.csv``: numbers, and the seeds that failed, if any did.

A line is written whenever some hundred seeds are done, so that a run that is broken off counts, too.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from tests.simulation.counts import counted
from tests.simulation.ordered_sets import with_ordered_sets
from tests.simulation.run import run_seed

FILE: Final = Path(__file__).with_name("nights.csv")
NUMBERS: Final = (
    *("seeds", "steps", "tasks done", "crashes", "suspensions", "lost answers", "refused calls", "power losses"),
    *("clocks set", "tasks run twice", "writes of Hudi", "failed"),
)
HEAD: Final = ("day", "first", "last", "seconds", *NUMBERS, "seeds that failed")
AT_ONCE: Final = 500
"""Seeds of a line."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.nights", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--told", action="store_true", help="tell what all runs until now come to, and end")
    options = parser.parse_args()
    if options.told:
        print(told(lines_of(options.file)))
        return 0
    first = max((int(one["last"]) for one in lines_of(options.file)), default=0) + 1
    failed = 0
    with get_context("spawn").Pool(options.processes) as pool:
        for begin in range(first, first + options.seeds, AT_ONCE):
            seeds = range(begin, min(begin + AT_ONCE, first + options.seeds))
            began = time.monotonic()
            found = list(pool.imap_unordered(_lived, seeds, chunksize=5))
            line = _line(seeds, found, time.monotonic() - began)
            _add(options.file, line)
            print(f"seeds {line['first']}-{line['last']}: {line['failed']} failed {line[HEAD[-1]]}", flush=True)
            failed += int(line["failed"])
    print(told(lines_of(options.file)))
    return 1 if failed else 0


def lines_of(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with open(file, newline="") as lines:
        return list(csv.DictReader(lines))


def told(lines: Iterable[dict[str, str]]) -> str:
    """What all lines come to."""
    total: Counter[str] = Counter()
    seconds = 0.0
    for line in lines:
        seconds += float(line["seconds"])
        total.update({name: int(line[name]) for name in NUMBERS})
    facts = ", ".join(f"{total[name]:,} {name}" for name in NUMBERS)
    return f"{facts}; {total['seeds'] / seconds if seconds else 0:.1f} seeds per second"


def _lived(seed: int) -> tuple[int, Counter[str]]:
    return seed, counted(run_seed(seed))


def _line(seeds: range, found: Sequence[tuple[int, Counter[str]]], seconds: float) -> dict[str, str]:
    total = sum((counts for _, counts in found), Counter[str]())
    failed = " ".join(str(seed) for seed, counts in sorted(found, key=lambda one: one[0]) if counts["failed"])
    numbers = {name: str(total[name]) for name in NUMBERS}
    facts = {"day": f"{datetime.now(UTC):%Y-%m-%d}", "first": str(seeds[0]), "last": str(seeds[-1])}
    return {**facts, "seconds": f"{seconds:.0f}", **numbers, HEAD[-1]: failed}


def _add(file: Path, line: dict[str, str]) -> None:
    is_new = not file.exists()
    with open(file, "a", newline="") as lines:
        writer = csv.DictWriter(lines, HEAD, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(line)


if __name__ == "__main__":
    with_ordered_sets("tests.simulation.nights")
    sys.exit(main())
