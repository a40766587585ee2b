"""Rounds of merges beside real Hudi 0.15.0, compaction and cleaning inside the clock: p50 and p95 of a round.

    python benchmarks/merge_rounds.py                              # both sides, both workloads, both table types
    python benchmarks/merge_rounds.py --rows 20000 --rounds 4      # a quick look
    python benchmarks/merge_rounds.py --side ours --workloads fact --table-types MERGE_ON_READ

Two workloads (``merge_data``): LHBench's merge of 1% of the rows, half of them updates; and a fact table of 40 days,
of whose newest quarter each round updates 25% of the rows. A round is one upsert in a warm session of 2 cores, Hudi's
first, then ours, until the call comes back: with its clean, and in a MERGE_ON_READ table with every third round's
compaction, both of which either side runs inline. Both get the same options (see ``options_of``). In the end Hudi
reads both tables, whose rows must be the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.merge_data import KEY, ROUND, WORKLOADS, Workload
from benchmarks.sides import SIDES, Output, add_side_options, added, chosen_sides, data_files
from benchmarks.steps import COW, MOR
from tests.interop.lines import LineClient

COMPACT_EVERY = 3
COMMITS_RETAINED = 3
WARM_UP_PART = 20
"""Of the rows stand in the tables that warm the sessions up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of one side; round 0 is the insert of the base rows."""

    workload: str
    table_type: str
    side: str
    number: int
    seconds: float
    written: Output
    """Data files that came in it and are there at its end, or grew."""
    stored: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """``clients`` has the sides in their order; tables are below ``scratch``, of each side its own."""

    clients: Mapping[str, LineClient]
    scratch: Path

    def rounds(self, work: Workload, table_type: str) -> list[Round]:
        """All rounds, the sides in turn; each begins with no table."""
        measures = []
        for side in self.clients:
            shutil.rmtree(self.table(side, work, table_type), ignore_errors=True)
        for number, source in enumerate((work.base, *work.batches)):
            for side, client in self.clients.items():
                path = self.table(side, work, table_type)
                before = data_files(path) if path.exists() else {}
                client.ask(
                    "write",
                    path=str(path),
                    source=str(source),
                    operation="upsert" if number else "insert",
                    options=options_of(work, table_type),
                )
                after = data_files(path)
                stored = Output(files=len(after), bytes=sum(after.values()))
                measures.append(
                    Round(
                        workload=work.name,
                        table_type=table_type,
                        side=side,
                        number=number,
                        seconds=client.seconds,
                        written=added(before, after),
                        stored=stored,
                    )
                )
        return measures

    def check(self, work: Workload, table_type: str) -> None:
        """Hudi reads the tables of both sides, or where it does not run, their jobs are trusted.

        :raises SystemExit: the rows are not what was written, or those of the sides differ.
        """
        reader = self.clients.get("hudi")
        if reader is None:
            return
        found = {side: self._digest(reader, self.table(side, work, table_type), work) for side in self.clients}
        for side, one in found.items():
            expected = {"n": work.end_rows, "k": work.end_rows, "rounds": work.end_rounds}
            if {name: one[name] for name in expected} != expected:
                raise SystemExit(f"{side}, {work.name}, {table_type}: {one}, expected {expected}")
        if len({str(one) for one in found.values()}) > 1:
            raise SystemExit(f"{work.name}, {table_type}: the rows differ: {found}")

    def table(self, side: str, work: Workload, table_type: str) -> Path:
        return self.scratch / side / f"{work.name}-{table_type.lower()}"

    def _digest(self, reader: LineClient, path: Path, work: Workload) -> dict[str, Any]:
        """Numbers of rows and keys, and a sum over the hashes of all values."""
        reader.ask("sql", text=f"create or replace temporary view checked using hudi options (path '{path}')")
        text = (
            f"select count(*) n, count(distinct {KEY}) k, sum({ROUND}) rounds, "
            f"cast(sum(cast(xxhash64({', '.join(work.columns)}) as decimal(38, 0))) as string) hash from checked"
        )
        found: dict[str, Any] = reader.ask("sql", text=text)[0]
        return found


def options_of(work: Workload, table_type: str) -> dict[str, str]:
    """The options that both sides get."""
    compaction = {
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": str(COMPACT_EVERY),
    }
    return {
        "hoodie.table.name": work.name,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": KEY,
        "hoodie.datasource.write.precombine.field": ROUND,
        **work.options,
        "hoodie.index.type": "SIMPLE",
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.insert.shuffle.parallelism": "4",
        "hoodie.upsert.shuffle.parallelism": "4",
        "hoodie.metadata.enable": "true",
        "hoodie.clean.automatic": "true",
        "hoodie.cleaner.commits.retained": str(COMMITS_RETAINED),
        "hoodie.archive.automatic": "false",
        **(compaction if table_type == MOR else {}),
    }


def report(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """A row for each workload, table type and side; ratios are ours to Hudi's."""
    lines: list[dict[str, Any]] = []
    for one in dict.fromkeys((each.workload, each.table_type, each.side) for each in rounds):
        mine = [each for each in rounds if (each.workload, each.table_type, each.side) == one]
        seconds = [each.seconds for each in mine if each.number]
        p50, p95 = (float(np.percentile(seconds, part)) for part in (50, 95))
        lines.append(
            {
                "workload": one[0],
                "table_type": one[1],
                "side": one[2],
                "insert": mine[0].seconds,
                "p50": p50,
                "p95": p95,
                "sum": sum(seconds),
                "written_bytes": sum(each.written.bytes for each in mine if each.number),
                "stored_bytes": mine[-1].stored.bytes,
                "stored_files": mine[-1].stored.files,
            }
        )
    print(
        f"\n{'workload':9} {'table type':14} {'side':5} {'p50 s':>7} {'p95 s':>7} {'sum s':>7} {'insert s':>8} "
        f"{'MB written':>10} {'MB stored':>9} {'files':>6}  ratios"
    )
    for line in lines:
        twin = next((each for each in lines if _is_hudis(each, line)), None)
        ratios = "" if twin is None else ", ".join(f"{name} {line[name] / twin[name]:.2f}" for name in ("p50", "p95"))
        print(
            f"{line['workload']:9} {line['table_type']:14} {line['side']:5} {line['p50']:7.2f} {line['p95']:7.2f} "
            f"{line['sum']:7.1f} {line['insert']:8.2f} {line['written_bytes'] / 1e6:10.1f} "
            f"{line['stored_bytes'] / 1e6:9.1f} {line['stored_files']:6}  {ratios}"
        )
    return lines


def _is_hudis(other: Mapping[str, Any], line: Mapping[str, Any]) -> bool:
    """Whether ``other`` is Hudi's line where ``line`` is ours."""
    same = all(other[name] == line[name] for name in ("workload", "table_type"))
    return same and (other["side"], line["side"]) == ("hudi", "ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each table at first")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--table-types", nargs="+", choices=(COW, MOR), default=[COW, MOR])
    add_side_options(parser)
    options = parser.parse_args()
    sides = chosen_sides(options)
    scratch: Path = options.cache.resolve() / "merge-rounds"
    shutil.rmtree(scratch, ignore_errors=True)
    work = [WORKLOADS[name](options.rows, options.rounds, scratch / "data" / name) for name in options.workloads]
    warm = [
        WORKLOADS[name](max(1000, options.rows // WARM_UP_PART), COMPACT_EVERY + 1, scratch / "warm-up" / name)
        for name in options.workloads
    ]
    clients: dict[str, LineClient] = {}
    measures: list[Round] = []
    try:
        for side in sides:
            clients[side] = SIDES[side](scratch / f"{side}.log", options.memory)
        for table_type in options.table_types:
            for one in warm:
                Bench(clients=clients, scratch=scratch / "warm-up").rounds(one, table_type)
        bench = Bench(clients=clients, scratch=scratch)
        for one in work:
            for table_type in options.table_types:
                done = bench.rounds(one, table_type)
                for measure in done:
                    print(
                        f"{measure.workload:9} {measure.table_type:14} {measure.side:5} round {measure.number:3} "
                        f"{measure.seconds:7.2f} s {measure.written.bytes / 1e6:8.1f} MB",
                        flush=True,
                    )
                bench.check(one, table_type)
                measures += done
        if "hudi" in sides:
            print("rows: read by Hudi, as written" + (", the same on both sides" if len(sides) > 1 else ""))
    finally:
        for client in clients.values():
            client.stop()
    summary = report(measures)
    if options.json:
        everything = {"rounds": [asdict(one) for one in measures], "summary": summary}
        options.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
