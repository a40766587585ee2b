"""A Python without Java, Spark and Airflow writes Arrow data; real Hudi reads and changes the table; and on in turn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.flights import KEY, PARTITION, PRECOMBINE, Oracle, assert_same, by_key, delayed, flights, sample
from tests.interop.our_reader import read
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates

pytestmark = pytest.mark.interop
ROOT = Path(__file__).parents[2]
_FRESH = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "airflow"):
            raise ImportError(f"{{name}} is not installed here")

sys.meta_path.insert(0, Missing())
import pyarrow.parquet as pq
from spark_jobs.core.table import HudiTable

path, table_type, operation, source = sys.argv[1:]
if operation == "create":
    HudiTable.create(
        path,
        name="flights",
        table_type=table_type,
        record_key_fields={list(KEY)!r},
        partition_fields=[{PARTITION!r}],
        precombine_field={PRECOMBINE!r},
    )
else:
    getattr(HudiTable.open(path), operation)(pq.read_table(source))
"""


class Fresh:
    """Each write by a process of its own, which finds no ``java``."""

    def __init__(self, path: Path, table_type: str, scratch: Path) -> None:
        self.path, self.table_type, self.scratch = path, table_type, scratch

    def __call__(self, operation: str, rows: pa.Table | None = None) -> None:
        source = self.scratch / "source.parquet"
        if rows is not None:
            pq.write_table(rows, source)
        words = [sys.executable, "-c", _FRESH, str(self.path), self.table_type, operation, str(source)]
        environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
        environment |= {"PATH": "/nonexistent", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_arrow_and_hudi_write_in_turn(tmp_path: Path, real_hudi: RealHudi, table_type: str) -> None:
    path, rows, oracle = tmp_path / "flights", flights(), Oracle()
    write = Fresh(path, table_type, tmp_path)
    hudi_options = {
        "hoodie.table.name": "flights",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": ",".join(KEY),
        "hoodie.datasource.write.partitionpath.field": PARTITION,
        "hoodie.datasource.write.precombine.field": PRECOMBINE,
    }

    def check(when: str) -> None:
        assert_same(by_key(real_hudi.read(path)), oracle.rows, f"Hudi, {when}")
        assert_same(by_key(read(path)), oracle.rows, f"we, {when}")

    write("create")
    first = rows.slice(500)
    write("upsert", first)
    oracle.upsert(first)
    check("after our first upsert")
    by_hudi = delayed(sample(rows, 0, 4), 1)
    real_hudi.write(path, by_hudi, "upsert", hudi_options)
    oracle.upsert(by_hudi)
    check("after Hudi's upsert")
    again = delayed(sample(rows, 1, 6), 2)
    write("upsert", again)
    oracle.upsert(again)
    check("after our second upsert")
    gone = sample(rows, 3, 40)
    write("delete", gone)
    oracle.delete(gone)
    check("after our delete")
    by_hudi = delayed(sample(rows, 2, 10), 3)
    real_hudi.write(path, by_hudi, "upsert", hudi_options)
    oracle.upsert(by_hudi)
    check("after Hudi's second upsert")
    assert_hudi_validates(real_hudi, path, "at the end")
