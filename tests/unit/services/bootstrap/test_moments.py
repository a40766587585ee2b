"""INT96, the timestamps of Spark 2, Hive and Impala: moments, in years that nanoseconds do not reach."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.options.result import JobState
from spark_jobs.services.bootstrap.moments import schema_with_moments
from tests.support.folder import Folder, write_parquet
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


def written(path: Folder, table: pa.Table, *, int96: bool) -> Folder:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(table, path, use_deprecated_int96_timestamps=int96, store_schema=False)
    return path


def test_types_at_any_depth(root: Folder) -> None:
    wall = written(root / "wall.parquet", NESTED.empty_table(), int96=False)
    assert schema_with_moments(pq.ParquetFile(wall.open_input())).types == NESTED.types
    moments = schema_with_moments(
        pq.ParquetFile(written(root / "moments.parquet", NESTED.empty_table(), int96=True).open_input())
    )
    deep = moments.field("deep").type
    assert [moments.field("at").type, deep.field("all").type.value_type, deep.field("by").type.item_type] == [AT] * 3
    assert [moments.field("count").type, deep.field("name").type] == [pa.int32(), pa.string()]


@pytest.mark.parametrize("conf", [{}, ALL_COPIED], ids=["stays", "copied"])
def test_a_source_of_int96(root: Folder, conf: dict[str, Any]) -> None:
    rows = pa.table({"id": list("abcd"), "revision": [1] * 4, "at": pa.array(MOMENTS, AT)})
    written(root / "source" / "north" / "part.parquet", rows, int96=True)
    assert bootstrap(root / "t", root / "source", conf).state is JobState.COMPLETED
    table = (root / "t").table()
    assert table.schema.field("at").type == AT
    assert table.scan(columns=["id", "at"]).to_arrow().sort_by("id").column("at").to_pylist() == MOMENTS
