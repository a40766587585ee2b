"""Tables of Hudi's with virtual keys (``tests/fixtures/make_layout_tables.py``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.keygen.virtual import virtual_keys_of
from spark_jobs.core.schema.meta_fields import FILE_NAME, META_FIELDS
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder, read_parquet, unzip

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "layout_tables"
NAMES = pytest.mark.parametrize("name", ["virtual_base", "virtual_logs"])


@pytest.fixture
def open_table(root: Folder) -> Callable[[str], HudiTable]:
    def unpack(name: str) -> HudiTable:
        unzip(TABLES / f"{name}.zip", root)
        return (root / name).table()

    return unpack


@pytest.mark.parametrize("query", ["snapshot", "read_optimized"])
@NAMES
def test_we_read_what_hudi_read(name: str, query: str, open_table: Callable[[str], HudiTable]) -> None:
    """Hudi's reader gives no meta columns of such a table, ours gives empty ones."""
    found = open_table(name).scan(query=query).to_arrow().sort_by("id")
    wanted = read_parquet(TABLES / f"{name}.{query}.parquet")
    assert set(found.column_names) == {*META_FIELDS, *wanted.column_names}
    assert found.select(wanted.column_names).to_pylist() == wanted.to_pylist()
    assert found.num_rows >= 10


@NAMES
def test_virtual_keys_stay_virtual(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    assert virtual_keys_of(table.config) is not None
    stored = [one for one in META_FIELDS if one != FILE_NAME]  # which Hudi's merges write all the same
    meta = table.scan().to_arrow().select(stored)
    assert all(column.null_count == meta.num_rows for column in meta.columns)
