"""Peak memory of a Python worker while it merges a batch into a base file of 120 MB.

    python benchmarks/worker_memory.py                       # 10% of the rows change
    python benchmarks/worker_memory.py --megabytes 60 --changes 0.5 --batch 10000

Each case runs in a process of its own, which imports what Spark's Python worker does, is handed the changed records in
batches as Spark hands them over, and tells the most memory that was ever resident (``VmHWM`` of Linux). The base file
once has row groups as this project writes them, once a single one, as Hudi writes them. The most should stay below 512
MiB.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.base_file_writer import BaseFileWriter
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.file_names import BaseFileName
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.context import TaskScope, WriteContext, stamp
from spark_jobs.core.merge.payload import payload_of
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.view.file_slice import BaseFile
from spark_jobs.write.routes import CreateRoute, MergeRoute, Route
from spark_jobs.write.tasks import BUCKET, RecordRules, write_buckets

TARGET_MIB = 512
BATCH = 64 * 1024
BYTES_PER_ROW = 52
"""Of the records below, about, on storage."""
OLD, NEW = "20240101000000000", "20240101000001000"
FILE_ID = "00000000-0000-0000-0000-000000000000-0"
CASES = ("imports", "merge", "merge, one row group", "insert", "new file")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.int64()),
        ("text", pa.string()),
        ("note", pa.string()),
        *((f"measure_{number}", pa.float64()) for number in range(4)),
    ]
)


def records(keys: np.ndarray, seed: int, partition: str = "p") -> pa.RecordBatch:
    """Rows that compress little, with key and partition path."""
    random = np.random.default_rng(seed)
    texts = pa.array(np.char.mod("%016x", random.integers(0, 2**63, len(keys))))
    columns = {
        RECORD_KEY: pa.array(np.char.mod("%012d", keys)),
        PARTITION_PATH: pa.array([partition] * len(keys)),
        "id": pa.array(keys),
        "ts": pa.array(random.integers(0, 2**40, len(keys))),
        "text": texts,
        "note": pa.array(np.char.mod("note %06d", random.integers(0, 10**6, len(keys)))),
        **{f"measure_{number}": pa.array(random.random(len(keys))) for number in range(4)},
    }
    return pa.RecordBatch.from_pydict(columns)


def new_context(folder: Path, instant: str) -> WriteContext:
    table = HudiTable.open(str(folder))
    return WriteContext(
        storage=table.storage,
        base_path=table.base_path,
        format=VERSION_6,
        instant=instant,
        file_format=base_file_format({}, SCHEMA, avro_schema_of(SCHEMA, "t")),
        payload=payload_of("org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
        ordering_field="ts",
        max_file_size=120 << 20,
    )


def make_table(folder: Path, rows: int) -> BaseFile:
    """A table of one base file."""
    HudiTable.create(str(folder), name="t", record_key_fields=["id"], partition_fields=["p"], precombine_field="ts")
    context, scope = new_context(folder, OLD), TaskScope(0, "0-0-0")
    name = BaseFileName(FILE_ID, "0-0-0", OLD)
    (folder / "p").mkdir()
    writer = BaseFileWriter(context.storage, context.path("p", str(name)), context.file_format)
    for start in range(0, rows, BATCH):
        part = pa.Table.from_batches([records(np.arange(start, min(start + BATCH, rows)), start)])
        writer.write(stamp(part, context, scope, "p", str(name)).combine_chunks().to_batches()[0])
    return BaseFile("p", name, writer.close())


def with_one_row_group(path: Path) -> None:
    source = pq.ParquetFile(path)
    metadata = source.metadata.metadata
    with pq.ParquetWriter(f"{path}.new", source.schema_arrow, compression="zstd", store_schema=False) as writer:
        writer.write_table(source.read(), row_group_size=source.metadata.num_rows)
        writer.add_key_value_metadata({key.decode(): value.decode() for key, value in metadata.items()})
    Path(f"{path}.new").replace(path)


def work(case: str, folder: Path, rows: int, changes: float, size: int = BATCH) -> dict[str, float]:
    """One case, in this process."""
    importlib.import_module("pyspark.worker")
    importlib.import_module("pandas")
    begun, stats = time.monotonic(), []
    if case != "imports":
        context, scope = new_context(folder, NEW), TaskScope(1, "1-0-0")
        found = next((folder / "p").glob("*.parquet"))
        base = BaseFile("p", BaseFileName(FILE_ID, "0-0-0", OLD), found.stat().st_size)
        inserts = case == "insert"
        route: Route = CreateRoute("p", FILE_ID[:-2]) if case == "new file" else MergeRoute(base, concatenate=inserts)
        rules = RecordRules(combine=not inserts, all_deleted=False)
        stats = list(write_buckets(batches(rows, changes, size, inserts=inserts), context, scope, {0: route}, rules))
        assert sum(one.num_writes for one in stats) > 0
    return {
        "peak": peak_mib(),
        "arrow": pa.default_memory_pool().max_memory() / 2**20,
        "seconds": time.monotonic() - begun,
    }


def peak_mib() -> float:
    """Not ``ru_maxrss``, in which a process inherits what its parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def batches(rows: int, changes: float, size: int, *, inserts: bool) -> Iterator[pa.RecordBatch]:
    """The changed records of one bucket, every so many of the file's keys; of inserts, keys beyond them."""
    keys = np.arange(0, rows, max(1, round(1 / changes))) + (rows if inserts else 0)
    for start in range(0, len(keys), size):
        batch = records(keys[start : start + size], start + 1)
        yield batch.append_column(BUCKET, pa.array(np.zeros(batch.num_rows, np.int32)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=120, help="of the base file (default: 120)")
    parser.add_argument("--changes", type=float, default=0.1, help="part of its rows that changes (default: 0.1)")
    parser.add_argument("--batch", type=int, default=BATCH, help=f"records that come at once (default: {BATCH})")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = options.megabytes * 1_000_000 // BYTES_PER_ROW
    if options.case:
        print(json.dumps(work(options.case, options.folder, rows, options.changes, options.batch)))
        return 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        print(f"{'case':24}{'base file':>12}{'peak':>12}{'of it Arrow':>14}{'seconds':>9}")
        for case in CASES:
            folder = Path(scratch) / case
            base = make_table(folder, rows)
            path = folder / base.relative_path
            if case == "merge, one row group":
                with_one_row_group(path)
            table = HudiTable.open(str(folder))
            line = table.timeline
            transition(line, request(line, NEW, Action.COMMIT, b""), State.INFLIGHT, b"")
            command = [sys.executable, __file__, "--case", case, "--folder", str(folder)]
            command += ["--megabytes", str(options.megabytes), "--changes", str(options.changes)]
            command += ["--batch", str(options.batch)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout.splitlines()[-1])
            worst = max(worst, found["peak"])
            size = path.stat().st_size / 1e6
            print(
                f"{case:24}{size:9.1f} MB{found['peak']:8.0f} MiB{found['arrow']:10.0f} MiB{found['seconds']:9.1f}",
                flush=True,
            )
    print(f"most: {worst:.0f} MiB, at most {TARGET_MIB} wanted; {SYSTEM_CLOCK.now():%Y-%m-%d}")
    return 0 if worst <= TARGET_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
