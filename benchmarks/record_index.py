"""The record index: records per second of its making, of a commit's changes, and of look-ups, in one process.

    python benchmarks/record_index.py --records 1800000 --files 49

Keys are those of a table of base files with no other column of weight. No Java and no Spark take part; seconds of the
processor stand beside those on the clock, since several threads work and the machine may be shared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from spark_jobs.core.clock import SYSTEM_CLOCK  # noqa: E402
from spark_jobs.core.format.metadata_layout import MetadataPartition  # noqa: E402
from spark_jobs.core.format.v6.file_names import BaseFileName  # noqa: E402
from spark_jobs.core.format.v6.layout import VERSION_6  # noqa: E402
from spark_jobs.core.metadata_table.commit import blocks_of  # noqa: E402
from spark_jobs.core.metadata_table.layout import metadata_path  # noqa: E402
from spark_jobs.core.metadata_table.partition_changes import split_by_group  # noqa: E402
from spark_jobs.core.metadata_table.partition_files import write_partition  # noqa: E402
from spark_jobs.core.metadata_table.record_index import all_records, cells_of_group, changes_of_commit  # noqa: E402
from spark_jobs.core.metadata_table.record_keys import KeySource  # noqa: E402
from spark_jobs.core.metadata_table.record_locations import RecordIndex, RecordIndexShard  # noqa: E402
from spark_jobs.core.storage import LocalStorage, RelativePath  # noqa: E402
from spark_jobs.core.timeline.active import ActiveTimeline  # noqa: E402
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType  # noqa: E402
from spark_jobs.core.timeline.write_stat import WriteStat  # noqa: E402
from spark_jobs.core.view.file_slice import BaseFile, FileGroup, FileSlice  # noqa: E402
from spark_jobs.core.view.file_system_view import FileSystemView  # noqa: E402
from spark_jobs.core.view.visibility import Visibility  # noqa: E402

T = TypeVar("T")
BEFORE, AFTER, MADE = "20240101000000000", "20240102000000000", "20240101000000000010"
GROUPS = 10


def measured(what: str, records: int, work: Callable[[], T]) -> T:
    """Do it once and print how long it took."""
    begun, used = time.perf_counter(), time.process_time()
    result = work()
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    print(f"{what:44} {seconds:7.2f} s {used:7.2f} s of the processor {records / seconds:12,.0f} records/s")
    return result


def make_files(folder: Path, records: int, files: int) -> tuple[FileSystemView, list[WriteStat]]:
    """Base files before and after an upsert that touches all of them: 10% more records, and 1% fewer."""
    each = records // files
    numbers = np.random.default_rng(1).permutation(2 * records)
    keys = np.array([f"{number}:{number % 7}" for number in numbers.tolist()], dtype=object)
    more = keys[files * each :].reshape(-1)[: files * (each // 10)].reshape(files, each // 10)
    groups, stats = [], []
    for number in range(files):
        file_id = f"{SYSTEM_CLOCK.new_uuid()}-0"
        old = keys[number * each : (number + 1) * each]
        for instant, rows in ((BEFORE, old), (AFTER, np.concatenate([old[each // 100 :], more[number]]))):
            table = pa.table({"_hoodie_record_key": pa.array(rows.tolist(), pa.string())})
            pq.write_table(table, folder / str(BaseFileName(file_id, "0-0-0", instant)), compression="zstd")
        base = BaseFile("", BaseFileName(file_id, "0-0-0", BEFORE), 1)
        one = FileSlice(partition="", file_id=file_id, base_instant=BEFORE, base_file=base, log_files=())
        groups.append(FileGroup(partition="", file_id=file_id, slices=(one,)))
        stats.append(
            WriteStat(
                file_id=file_id,
                path=RelativePath(str(BaseFileName(file_id, "0-0-0", AFTER))),
                partition_path="",
                prev_commit=BEFORE,
                num_inserts=each // 10,
                num_deletes=each // 100,
            )
        )
    return FileSystemView(tuple(groups), Visibility(frozenset({BEFORE}), ""), {}), stats


def no_logs(timeline: ActiveTimeline, file_slice: FileSlice, also: str | None) -> Any:
    raise AssertionError("no slice here has logs")


def run(folder: Path, records: int, files: int) -> None:
    storage, path = LocalStorage(), str(folder)
    view, stats = make_files(folder, records, files)
    timeline = ActiveTimeline.load(storage, f"{path}/.hoodie", f"{path}/.hoodie/archived", format=VERSION_6)
    source = KeySource(storage=storage, base_path=path, timeline=timeline, merged=no_logs)

    def make() -> int:
        found = all_records(view.latest_slices(), source)
        shares = split_by_group(found.keys, GROUPS)
        cells = lambda group, name: cells_of_group(found, shares.get(group), name)  # noqa: E731
        written = write_partition(storage, path, VERSION_6, MADE, MetadataPartition.RECORD_INDEX, cells, GROUPS)
        print(f"{sum(one.file_size_in_bytes for one in written) / len(found.keys):.1f} bytes for each record")
        return len(found.keys)

    count = measured("make the index", records, make)
    upsert = CommitMetadata(write_stats=tuple(stats), operation_type=OperationType.UPSERT)

    def change(metadata: CommitMetadata) -> int:
        changes = changes_of_commit(VERSION_6, metadata, AFTER, view, source)
        shares = changes.encode().by_group(GROUPS).values()
        for share in shares:
            blocks_of(AFTER, VERSION_6.metadata.path(MetadataPartition.RECORD_INDEX), share)
        return len(changes.added.keys) + len(changes.deleted)

    measured("an upsert with 10% inserts and 1% deletes", count, lambda: change(upsert))
    updates = tuple(replace(one, num_inserts=0, num_deletes=0) for one in stats)
    measured("an upsert of updates alone", count, lambda: change(replace(upsert, write_stats=updates)))
    new = tuple(replace(one, prev_commit="null") for one in stats)
    measured("a bulk insert", count, lambda: change(replace(upsert, write_stats=new)))
    bases = sorted(Path(metadata_path(path)).glob("record_index/*.hfile"))
    index = RecordIndex(shards=tuple(RecordIndexShard(storage=storage, base_path=str(base), logs=()) for base in bases))
    keys = measured("read the whole index", count, index.read_all).column("key").combine_chunks()
    chosen = np.random.default_rng(2).permutation(len(keys))
    for asked in (10, 1_000, len(keys) // 10, len(keys)):
        some = keys.take(pa.array(chosen[:asked]))
        found = measured(f"look {asked:,} keys up", asked, partial(index.locations, some))
        assert found.num_rows == asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_800_000)
    parser.add_argument("--files", type=int, default=49)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.records, given.files)


if __name__ == "__main__":
    main()
