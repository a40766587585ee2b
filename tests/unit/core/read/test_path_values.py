"""Tables whose files lack the partition columns (``tests/fixtures/make_layout_tables.py``): read as Hudi reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.read.path_values import PathValues
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder, read_parquet, unzip

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "layout_tables"
NAMES = sorted(path.stem for path in TABLES.glob("dropped_*.zip"))


@pytest.fixture
def open_table(root: Folder) -> Callable[[str], HudiTable]:
    def unpack(name: str) -> HudiTable:
        unzip(TABLES / f"{name}.zip", root)
        return (root / name).table()

    return unpack


@pytest.mark.parametrize("query", ["snapshot", "read_optimized"])
@pytest.mark.parametrize("name", NAMES)
def test_we_read_what_hudi_read(name: str, query: str, open_table: Callable[[str], HudiTable]) -> None:
    """Their types too: a partition column is text, whatever it was written from."""
    found = open_table(name).scan(query=query).to_arrow().sort_by("_hoodie_record_key")
    wanted = read_parquet(TABLES / f"{name}.{query}.parquet")
    assert {field.name: field.type for field in found.schema} == {field.name: field.type for field in wanted.schema}
    assert found.select(wanted.column_names).to_pylist() == wanted.to_pylist()
    assert found.num_rows >= 10


def test_columns_and_conditions(open_table: Callable[[str], HudiTable]) -> None:
    table = open_table("dropped_two")
    everything = table.scan().to_arrow()
    for columns in (["day"], ["number", "id"], ["_hoodie_commit_time", "day"]):
        assert table.scan(columns=columns).to_arrow().equals(everything.select(columns))
    asked = (pc.field("day") == "2024-01-01") & pc.field("number").is_null()
    found = table.scan(columns=["id"], filter=asked).to_arrow()
    assert found.equals(everything.filter(asked).select(["id"]))
    assert 0 < found.num_rows < everything.num_rows


def test_nothing_writes_to_them(open_table: Callable[[str], HudiTable]) -> None:
    with pytest.raises(
        UnsupportedTableError, match=r"drop\.partition\.columns=true, which this release does not write"
    ):
        refuse_unwritable(open_table("dropped_word").config)


def values(columns: tuple[str, ...], partition: str) -> dict[str, str | None]:
    schema = pa.schema([(name, pa.string()) for name in columns])
    (row,) = PathValues(columns).add(pa.record_batch({"x": [1]}), partition, schema).to_pylist()
    return dict(row)


def test_paths() -> None:
    assert values(("a",), "2021/09/01") == {"a": "2021/09/01"}
    assert values(("a",), "a=2021/09/01") == {"a": "2021/09/01"}
    assert values(("a",), "x%2Fy") == {"a": "x/y"}
    assert values(("a", "b"), "a=1/b=__HIVE_DEFAULT_PARTITION__") == {"a": "1", "b": None}
    assert values(("a", "b"), "1/2") == {"a": "1", "b": "2"}
    with pytest.raises(CorruptTableError, match="does not tell the values of a, b"):
        values(("a", "b"), "1/2/3")


def test_ordered_by_such_a_column() -> None:
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.partition.fields": "day",
        "hoodie.table.precombine.field": "day",
        "hoodie.datasource.write.drop.partition.columns": "true",
    }
    with pytest.raises(UnsupportedTableError, match="day is both its partition and its precombine column"):
        PathValues.of(TableConfig(properties))
