"""Rows of inserts that look nothing up: by partition, those of one key together."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.engine.local import LocalEngine
from spark_jobs.write.direct.choose import parquet_source
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import ParquetSource
from spark_jobs.write.direct.tagged import NEW
from spark_jobs.write.direct.unseen import place_unseen
from tests.support.folder import Folder, write_parquet

pytestmark = pytest.mark.unit

SCHEMA = pa.schema([("id", pa.string()), ("p", pa.string())])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.text("abcdé", min_size=1, max_size=2), st.sampled_from(["x", "y", "z"])), max_size=30),
    tasks=st.integers(1, 4),
)
def test_every_row_is_there_once_and_those_of_a_key_have_one_place(
    root: Folder, rows: list[tuple[str, str]], tasks: int
) -> None:
    file = root / "rows.parquet"
    write_parquet(
        pa.table(dict(zip(["id", "p"], zip(*rows, strict=True), strict=True)) if rows else [[], []], schema=SCHEMA),
        file,
        row_group_size=4,
    )
    source = parquet_source(SCHEMA, [f"file://{file}" if file.is_local else str(file)], root.lake)
    assert isinstance(source, ParquetSource)
    keyed = KeyedSource(source=source, spec=KeySpec.of(("id",), ("p",), hive_style=False, url_encode=False))
    found = place_unseen(LocalEngine(SYSTEM_CLOCK), keyed, tasks)
    assert sorted(found) == sorted({path for _, path in rows})
    for path, placed in found.items():
        assert placed.rows.tolist() == [number for number, (_, own) in enumerate(rows) if own == path]
        assert set(placed.buckets.tolist()) == {NEW}
        places: dict[str, int] = {}
        for row, place in zip(placed.rows.tolist(), placed.places.tolist(), strict=True):
            assert places.setdefault(rows[row][0], place) == place
        assert placed.places[0] == min(placed.places)
