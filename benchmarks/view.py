"""The view of 100,000 files in 1,000 partitions from a metadata table, beside decoding its HFile with no view built.

    python benchmarks/view.py                      # 1,000 partitions of 100 files
    python benchmarks/view.py --partitions 100 --logs 0

A made-up table on a local disk (its data files have sizes and no content) gets its metadata table from this project's
own writer. The limit is what any reader has to do: read the HFile of the partition ``files`` and decode its records.
Ours opens the table, takes the listing from the metadata table and builds the latest file slices. Both in one process,
interleaved, median of the runs, each the table opened anew; the ratio should stay at most 2. The peak of memory is
that of a process of its own that builds one view, and should stay below 500 MB. The view by listing the storage is
timed once beside them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.file_names import BaseFileName, LogFileName
from spark_jobs.core.metadata_table.initialize import initialize
from spark_jobs.core.metadata_table.scan import read_file_records
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition

TARGET_RATIO = 2.0
TARGET_BYTES = 500_000_000
FIRST, SECOND = "20240101000000000", "20240102000000000"


def make_table(path: Path, partitions: int, groups: int, versions: int, logs: int) -> int:
    """Groups of so many base files and, on the newest, logs; the number of files."""
    table = HudiTable.create(str(path), name="t", table_type="MERGE_ON_READ", record_key_fields=["id"])
    instants = [f"{int(FIRST) + 1000 * number}" for number in range(versions)]
    for instant in [*instants, SECOND]:
        line = table.refreshed().timeline
        inflight = transition(line, request(line, instant, Action.DELTA_COMMIT), State.INFLIGHT, b"")
        transition(line, inflight, State.COMPLETED, CommitMetadata(operation_type=OperationType.UPSERT).payload())
    count = 0
    for number in range(partitions):
        partition = f"region={number % 10}/day={number:05d}"
        ensure_partition_metafile(LocalStorage(), str(path), partition, FIRST)
        for group in range(groups):
            file_id = f"{number:08x}-1111-2222-3333-{group:012x}-0"
            names = [str(BaseFileName(file_id, f"{group}-10-100", instant)) for instant in instants]
            names += [str(LogFileName(file_id, instants[-1], log + 1, f"{group}-20-{log}")) for log in range(logs)]
            for name in names:
                with (path / partition / name).open("wb") as file:
                    file.truncate(1_000_000 + group)
            count += len(names)
    opened = table.refreshed()
    initialize(opened.storage, opened.base_path, opened.config, opened.timeline, SYSTEM_CLOCK)
    return count


def decode(path: str) -> int:
    """All records of ``files``; how many entries they have."""
    table = HudiTable.open(path)
    metadata = MetadataTable.open(table.storage, table.base_path, table.timeline, SYSTEM_CLOCK)
    return sum(len(entries) for entries in read_file_records(metadata).values())


def view(path: str, *, lists_storage: bool = False) -> int:
    """The latest slices of all partitions; how many."""
    return len(HudiTable.open(path, lists_storage=lists_storage).view().latest_slices())


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peak() -> int:
    """Most bytes that this process had resident (getrusage would count what its parent had before)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024


def peak_of(path: str, what: str) -> int:
    """Peak resident bytes of a process that only does this."""
    done = subprocess.run(
        [sys.executable, __file__, "--only", what, "--path", path], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--groups", type=int, default=20, help="File groups in each partition.")
    parser.add_argument("--versions", type=int, default=2, help="Base files of each file group.")
    parser.add_argument("--logs", type=int, default=3, help="Log files of each file group.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--path", help="Use this folder, and the table that an earlier run left there.")
    parser.add_argument("--only", choices=("decode", "view"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        (decode if given.only == "decode" else view)(given.path)
        print(peak())
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(given.path or scratch) / "t"
        if not path.exists():
            count = make_table(path, given.partitions, given.groups, given.versions, given.logs)
            print(f"{count:,} files in {given.partitions:,} partitions", flush=True)
        return _report(str(path), given.runs)


def _report(path: str, runs: int) -> int:
    entries, slices = decode(path), view(path)
    times: dict[str, list[float]] = {"decode": [], "view": []}
    for _ in range(runs):
        times["decode"].append(seconds(lambda: decode(path)))
        times["view"].append(seconds(lambda: view(path)))
    decoding, viewing = (statistics.median(found) for found in times.values())
    peaks = {what: peak_of(path, what) for what in times}
    hfile = sum(one.stat().st_size for one in Path(path, ".hoodie", "metadata", "files").glob("*.hfile"))
    found = f"({hfile / 1e6:.1f} MB, {entries:,} entries)"
    print(f"decoding the HFile {found}: {decoding:.3f} s, {peaks['decode'] / 1e6:.0f} MB")
    print(f"the view ({slices:,} slices): {viewing:.3f} s, {peaks['view'] / 1e6:.0f} MB")
    print(f"the view by listing the storage: {seconds(lambda: view(path, lists_storage=True)):.3f} s")
    ratio, most = viewing / decoding, peaks["view"] / 1e6
    print(f"ratio {ratio:.2f} (at most {TARGET_RATIO}), peak {most:.0f} MB (below {TARGET_BYTES / 1e6:.0f})")
    return 0 if ratio <= TARGET_RATIO and peaks["view"] < TARGET_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
