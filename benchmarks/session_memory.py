"""Memory of a whole write as Airflow starts it: spark-submit, its JVM, and its Python workers.

    python benchmarks/session_memory.py                                  # 2 million rows, 10% updated
    python benchmarks/session_memory.py --driver-memory 512m --rows 4000000

A bulk insert, an upsert over all its file groups, and an insert into another table, each a ``spark-submit`` on two
cores of this machine. The most resident memory of each of its processes is watched, the driver's Python process among
them.
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

PARTITIONS = 7


def source(path: Path, keys: np.ndarray, seed: int) -> str:
    random = np.random.default_rng(seed)
    table = pa.table(
        {
            "id": keys,
            "p": np.char.mod("p%d", keys % PARTITIONS),
            "ts": np.full(len(keys), seed),
            "text": np.char.mod("%016x", random.integers(0, 2**63, len(keys))),
            **{f"measure_{number}": random.random(len(keys)) for number in range(4)},
        }
    )
    pq.write_table(table, path, compression="zstd")
    return str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--driver-memory", default="1g")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        every = source(folder / "all.parquet", np.arange(options.rows), 1)
        some = source(folder / "some.parquet", np.arange(0, options.rows, 10), 2)
        steps = [("t", "bulk_insert", every), ("t", "upsert", some), ("other", "insert", every)]
        print(f"driver memory {options.driver_memory}, {options.rows} rows")
        print(f"{'step':14}{'seconds':>9}{'JVM':>10}{'largest Python':>16}{'Pythons':>9}")
        for table, operation, path in steps:
            write = ingested(folder / table, operation, path, options.driver_memory)
            pythons = f"{max(write.workers):12.0f} MiB{len(write.workers):9}"
            print(f"{operation:14}{write.seconds:9.1f}{write.java:6.0f} MiB{pythons}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
