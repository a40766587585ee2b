"""Tables that Hudi 0.15.0 made (``tests/fixtures/make_tables.py``): we read, and hudi-rs reads, what Hudi read.

No Java needed.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.flights import META_PREFIX, assert_same, by_key
from tests.interop.hudi_rs import read_by_hudi_rs
from tests.interop.our_reader import read

TABLES = Path(__file__).resolve().parents[1] / "fixtures" / "tables"
NAMES = ("cow_upserts", "cow_clustered", "mor_logs", "mor_pending_compaction")


@pytest.fixture(params=NAMES)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name = str(request.param)
    with zipfile.ZipFile(TABLES / f"{name}.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path / name


def expected(table: Path, query: str) -> pa.Table:
    return pq.read_table(TABLES / f"{table.name}.{query}.parquet")


@pytest.mark.parametrize("query", ["snapshot", "read_optimized"])
def test_we_read_what_hudi_read(table: Path, query: str) -> None:
    found, wanted = read(table, query), expected(table, query)
    types = {field.name: field.type for field in wanted.schema}
    assert {field.name: field.type for field in found.schema} == types
    stored = [name for name in pq.read_schema(next(table.glob("1/*.parquet"))).names if name in types]
    assert found.column_names == stored  # Hudi's Spark reader puts partition columns last where it reads no log
    assert_same(by_key(found), by_key(wanted), f"our {query}")
    for name in wanted.column_names:
        if name.startswith(META_PREFIX):
            assert _sorted(found, name) == _sorted(wanted, name)


def test_hudi_rs_reads_what_hudi_read(table: Path) -> None:
    if table.name == "mor_pending_compaction":
        pytest.xfail("hudi-rs 0.5.0 leaves the logs above a pending compaction out")
    assert_same(by_key(read_by_hudi_rs(table)), by_key(expected(table, "snapshot")), "hudi-rs")


def _sorted(rows: pa.Table, name: str) -> list[tuple[Any, Any]]:
    return sorted(zip(rows["_hoodie_record_key"].to_pylist(), rows[name].to_pylist(), strict=True))
