"""A table of 20,000 partitions: a bulk insert into all of them, an upsert into some, and what both take.

    python benchmarks/many_partitions.py                     # 2 records in each, those of 2,000 change
    python benchmarks/many_partitions.py --partitions 2000

Each write is a whole process, as Airflow starts it. The rows are counted afterwards.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.submitted import ingested
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.table import HudiTable

RECORDS_EACH = 2
CHANGED_EVERY = 10


def source(path: Path, keys: np.ndarray, partitions: int, ts: int) -> str:
    """Records of the keys; those of a partition lie apart."""
    rows = pa.table(
        {
            "id": keys,
            "p": np.char.mod("p%05d", keys % partitions),
            "ts": np.full(len(keys), ts),
            "text": np.char.mod("text %d", keys),
        }
    )
    pq.write_table(rows, path)
    return str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--driver-memory", default="1g")
    options = parser.parse_args()
    keys = np.arange(options.partitions * RECORDS_EACH)
    changed = keys[keys % options.partitions % CHANGED_EVERY == 0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        steps = [
            ("bulk_insert", source(folder / "all.parquet", keys, options.partitions, 1)),
            ("upsert", source(folder / "some.parquet", changed, options.partitions, 2)),
        ]
        print(f"{options.partitions} partitions, {len(keys)} records, driver memory {options.driver_memory}")
        print(f"{'step':14}{'seconds':>9}{'JVM':>10}{'largest Python':>16}")
        for operation, path in steps:
            entries = "hoodie.index.bloom.num_entries=1000"
            write = ingested(folder / "t", operation, path, options.driver_memory, "--hoodie-conf", entries)
            largest = max(write.workers, default=0.0)
            print(f"{operation:14}{write.seconds:9.1f}{write.java:6.0f} MiB{largest:12.0f} MiB", flush=True)
        begun = SYSTEM_CLOCK.monotonic()
        table = HudiTable.open(str(folder / "t"))
        rows = table.scan(columns=["id", "p", "ts"]).to_arrow()
        seconds = SYSTEM_CLOCK.monotonic() - begun
        print(f"{'query':14}{seconds:9.1f}")
        ids, newest = np.sort(np.asarray(rows["id"])), int(np.asarray(rows["ts"]).sum())
        right = np.array_equal(ids, keys) and newest == len(keys) + len(changed)
        print("rows: " + ("as written" if right else f"{len(ids)} of {len(keys)}, not what was written"))
        partitions = len(table.partitions())
        return 0 if right and partitions == options.partitions else 1


if __name__ == "__main__":
    sys.exit(main())
