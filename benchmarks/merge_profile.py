"""Where the time of a merge goes: ten file groups of the table that ``lineitem.py`` left, 10% of their rows changed.

    python benchmarks/lineitem.py --side ours --runs 1 --steps "upsert COW"
    python benchmarks/merge_profile.py

One process, one thread, as in a task of Spark: seconds for each file group, then the profiler's functions by own time.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import BaseFile
from spark_jobs.services.rewriting.context import rewrite_context

GROUPS = 10
CHANGED = 10
INSTANT = "29990101000000000"


Work = list[tuple[BaseFile, Changes]]


def prepared(table: HudiTable) -> tuple[WriteContext, Work]:
    """The first file groups of a table with changes for them."""
    context = rewrite_context(table, {}, INSTANT, max_file_size=1 << 40)
    work = []
    for base in table.view().latest_base_files()[:GROUPS]:
        rows = pq.read_table(f"{table.base_path}/{base.relative_path}")
        changed = rows.take(pa.array(np.arange(0, rows.num_rows, CHANGED))).cast(context.file_format.schema)
        work.append((base, Changes(changed, np.zeros(changed.num_rows, bool))))
    return context, work


def merge_all(context: WriteContext, work: Work) -> float:
    """Seconds for one of the file groups."""
    begun = time.monotonic()
    for base, changes in work:
        merge_base_file(context, TaskScope(0, "0-0-0"), base, changes)
    return (time.monotonic() - begun) / len(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "pyhudi-bench", help="of lineitem.py")
    source = parser.parse_args().cache.resolve() / "tables" / "ours" / "start" / "copy_on_write-simple"
    if not source.is_dir():
        sys.exit(f"{source} is missing: run benchmarks/lineitem.py first")
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source, Path(folder) / "warm-up")
        shutil.copytree(source, Path(folder) / "t")
        merge_all(*prepared(HudiTable.open(f"{folder}/warm-up")))
        context, work = prepared(HudiTable.open(f"{folder}/t"))
        profile = cProfile.Profile()
        seconds = profile.runcall(merge_all, context, work)
    rows = sum(changes.rows.num_rows for _, changes in work) * CHANGED // len(work)
    print(f"{seconds * 1000:.0f} ms for each file group of about {rows} rows")
    pstats.Stats(profile).sort_stats("tottime").print_stats(14)


if __name__ == "__main__":
    main()
