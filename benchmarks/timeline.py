"""Opening a timeline of 10,000 instants beside a plain listing of its folder, and an archive beside reading its bytes.

    python benchmarks/timeline.py                      # 10,000 instants, 100 of them read; 2,000 archived ones
    python benchmarks/timeline.py --instants 50000 --read 500

A made-up timeline of delta commits, compactions, cleans and rollbacks with all their states on a local disk. The limit
is what any reader has to do: list the folder with each file's size and time, and read the files asked for (completed
commits, the newest, as an incremental query does). Ours loads the active timeline and decodes their metadata's bytes on
top. Both in this process, interleaved, median of the runs; the ratio should stay at most 3.

The archive is of one file, in blocks of ten entries as Hudi writes them. Its limit is to read the bytes; ours decodes
when, what and how far every entry is on top, which has no target.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.instant_names import file_name_of
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage import LocalStorage, RelativePath
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive.known import archive_of
from spark_jobs.core.timeline.archive.v6.entries import entry_of
from spark_jobs.core.timeline.archive.v6.files import archive_name, encode_entries
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.payloads.known import payloads_of
from spark_jobs.core.timeline.write_stat import WriteStat

TARGET = 3.0
FILES_OF_A_COMMIT = 5
ENTRIES_OF_A_BLOCK = 10


def make_timeline(folder: Path, instants: int) -> None:
    """Of every ten instants: seven delta commits, a compaction, a clean, a rollback."""
    actions = [Action.DELTA_COMMIT] * 7 + [Action.COMPACTION, Action.CLEAN, Action.ROLLBACK]
    for number in range(instants):
        instant = Instant(f"{20240101000000000 + number * 1000}", actions[number % 10], State.REQUESTED)
        for state in State:
            moved = instant.at(state)
            data = _metadata(moved) if moved.action in (Action.COMMIT, Action.DELTA_COMMIT) else b""
            (folder / file_name_of(moved)).write_bytes(data if moved.is_completed else b"")


def make_archive(folder: Path, instants: int) -> None:
    """Delta commits alone, whose metadata are the longest entries there are."""
    entries = []
    for number in range(instants):
        requested = Instant(f"{20230101000000000 + number * 1000}", Action.DELTA_COMMIT, State.REQUESTED)
        for instant in map(requested.at, State):
            entries.append(entry_of(instant, _metadata(instant) if instant.is_completed else b"", instant.timestamp))
    starts = range(0, len(entries), ENTRIES_OF_A_BLOCK)
    blocks = [encode_entries(entries[start : start + ENTRIES_OF_A_BLOCK]) for start in starts]
    (folder / archive_name(1)).write_bytes(b"".join(blocks))


def _metadata(instant: Instant) -> bytes:
    stats = tuple(
        WriteStat(
            file_id=(file_id := f"{number:08d}-1111-2222-3333-444444444444-0"),
            path=RelativePath(f"2024/01/{number:02d}/{file_id}_0-1-1_{instant.timestamp}.parquet"),
            partition_path=f"2024/01/{number:02d}",
            num_writes=1000,
        )
        for number in range(FILES_OF_A_COMMIT)
    )
    return payloads_of(VERSION_6).encode(
        CommitMetadata(write_stats=stats, operation_type=OperationType.UPSERT).payload()
    )


def plain(folder: Path, read: int) -> int:
    """The limit: names with sizes and times, then the bytes of the files asked for."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat()
            found.append((entry.name, status.st_size, status.st_mtime_ns))
    commits = sorted(name for name, _, _ in found if name.endswith((".commit", ".deltacommit")))
    return sum(len((folder / name).read_bytes()) for name in commits[-read:])


def ours(folder: Path, read: int) -> int:
    """The timeline, and the metadata of the files asked for."""
    timeline = ActiveTimeline.load(LocalStorage(), str(folder), str(folder / "archived"), format=VERSION_6)
    commits = timeline.completed_commits()[-read:]
    return sum(len(timeline.commit_metadata(one, SYSTEM_CLOCK).write_stats) for one in commits)


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peak_of(work: Callable[[], object]) -> int:
    """Bytes that were allocated at most at one time."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instants", type=int, default=10_000)
    parser.add_argument("--read", type=int, default=100, help="commits whose metadata is asked for")
    parser.add_argument("--archived", type=int, default=2_000, help="instants in the archive")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_timeline(folder, options.instants)
        archive = folder / "archived"
        archive.mkdir()
        make_archive(archive, options.archived)
        sides: dict[str, Callable[[], object]] = {
            "listing": lambda: plain(folder, options.read),
            "timeline": lambda: ours(folder, options.read),
            "bytes": lambda: [file.read_bytes() for file in archive.iterdir()],
            "archive": lambda: ArchivedTimeline.load(archive_of(VERSION_6, LocalStorage(), str(archive))),
        }
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(options.runs + 1):
            for name, work in sides.items():
                times[name].append(seconds_of(work))
        median = {name: statistics.median(runs[1:]) for name, runs in times.items()}
        peak = {name: peak_of(work) for name, work in sides.items()}
    print(f"{options.instants} instants, {3 * options.instants} files, {options.read} read")
    for name in sides:
        if name == "bytes":
            print(f"{options.archived} archived instants, {3 * options.archived} entries")
        print(f"{name:>9}: {median[name] * 1000:7.1f} ms, {peak[name] / 2**20:6.1f} MiB")
    ratio = median["timeline"] / median["listing"]
    in_memory = peak["timeline"] / peak["listing"]
    print(f"timeline / listing: {ratio:.2f} in time (at most {TARGET}), {in_memory:.2f} in memory")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
