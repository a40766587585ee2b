"""INT96, the timestamps of Spark 2, Hive and Impala: moments, in years that nanoseconds do not reach."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.options.result import JobState
from spark_jobs.services.bootstrap.moments import schema_with_moments
from tests.unit.services.bootstrap.sources import ALL_COPIED, bootstrap

pytestmark = pytest.mark.unit

MOMENTS = [
    datetime(9999, 12, 31, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(2020, 5, 1, 12, tzinfo=UTC),
    None,
]
AT = pa.timestamp("us", "UTC")
WALL = pa.timestamp("us")
NESTED = pa.schema(
    [
        ("id", pa.string()),
        ("deep", pa.struct([("name", pa.string()), ("all", pa.list_(WALL)), ("by", pa.map_(pa.string(), WALL))])),
        ("count", pa.int32()),
        ("at", WALL),
    ]
)


def written(path: Path, table: pa.Table, *, int96: bool) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, use_deprecated_int96_timestamps=int96, store_schema=False)
    return path


def test_types_at_any_depth(tmp_path: Path) -> None:
    wall = written(tmp_path / "wall.parquet", NESTED.empty_table(), int96=False)
    assert schema_with_moments(pq.ParquetFile(wall)).types == NESTED.types
    moments = schema_with_moments(
        pq.ParquetFile(written(tmp_path / "moments.parquet", NESTED.empty_table(), int96=True))
    )
    deep = moments.field("deep").type
    assert [moments.field("at").type, deep.field("all").type.value_type, deep.field("by").type.item_type] == [AT] * 3
    assert [moments.field("count").type, deep.field("name").type] == [pa.int32(), pa.string()]


@pytest.mark.parametrize("conf", [{}, ALL_COPIED], ids=["stays", "copied"])
def test_a_source_of_int96(tmp_path: Path, conf: dict[str, Any]) -> None:
    rows = pa.table({"id": list("abcd"), "revision": [1] * 4, "at": pa.array(MOMENTS, AT)})
    written(tmp_path / "source" / "north" / "part.parquet", rows, int96=True)
    assert bootstrap(tmp_path / "t", tmp_path / "source", conf).state is JobState.COMPLETED
    table = HudiTable.open(str(tmp_path / "t"))
    assert table.schema.field("at").type == AT
    assert table.scan(columns=["id", "at"]).to_arrow().sort_by("id").column("at").to_pylist() == MOMENTS
