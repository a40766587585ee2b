"""Tables of all types and of schemas that Hudi 0.15.0 changed (``tests/fixtures/make_evolved_tables.py``).

We read what Hudi read; no Java needed.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.our_reader import read

TABLES = Path(__file__).resolve().parents[1] / "fixtures" / "schema_tables"
NAMES = sorted(path.stem for path in TABLES.glob("*.zip"))
QUERIES = ("snapshot", "read_optimized")


@pytest.fixture(params=NAMES)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name = str(request.param)
    with zipfile.ZipFile(TABLES / f"{name}.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path / name


def rows_by_key(rows: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["_hoodie_record_key"]: row for row in rows.to_pylist()}


@pytest.mark.parametrize("query", QUERIES)
def test_we_read_what_hudi_read(table: Path, query: str) -> None:
    found, wanted = read(table, query), pq.read_table(TABLES / f"{table.name}.{query}.parquet")
    assert {field.name: field.type for field in found.schema} == {field.name: field.type for field in wanted.schema}
    ours, theirs = rows_by_key(found), rows_by_key(wanted)
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        assert ours[key] == row, key
