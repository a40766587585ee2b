"""Ranges of keys and bloom filters come from the metadata table where the options ask for it, else from footers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.write.direct import locate
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

BLOOM = {"hoodie.index.type": "BLOOM", "hoodie.index.bloom.num_entries": "100"}
INDEXED = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "_hoodie_record_key",
}
BY_METADATA = {"hoodie.bloom.index.use.metadata": "true"}
NO_RANGES = {"hoodie.bloom.index.prune.by.ranges": "false"}
FILTERS_ALONE = {"hoodie.metadata.index.bloom.filter.enable": "true"}


def data(first: int, count: int, value: str) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {"id": [f"k{one:03}" for one in numbers], "p": ["a"] * count, "v": [value] * count, "ts": [len(value)] * count}
    )


@pytest.fixture
def footers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One for each footer that was read for its range or filter."""
    seen: list[object] = []
    plain = locate.footer_index

    def counted(file: Any) -> Any:
        seen.append(file)
        return plain(file)

    monkeypatch.setattr(locate, "footer_index", counted)
    return seen


@pytest.mark.parametrize("index", ["BLOOM", "GLOBAL_BLOOM"])
@pytest.mark.parametrize(
    ("made_by", "asked_by", "reads"),
    [
        (INDEXED, BY_METADATA, 0),
        (INDEXED, {**BY_METADATA, **NO_RANGES}, 0),
        (INDEXED, {}, 1),
        (INDEXED, NO_RANGES, 1),
        (FILTERS_ALONE, BY_METADATA, 1),
        (FILTERS_ALONE, {**BY_METADATA, **NO_RANGES}, 0),
        ({}, BY_METADATA, 1),
    ],
    ids=str,
)
def test_where_they_come_from(
    root: Folder, footers: list[object], index: str, made_by: dict[str, str], asked_by: dict[str, str], reads: int
) -> None:
    fields = {"record_key_fields": ["id"], "partition_fields": ["p"], "precombine_field": "ts"}
    table = HudiTable.create(str(root / "t"), name="t", table_type="COPY_ON_WRITE", **fields, lake=root.lake)
    conf = {**BLOOM, "hoodie.index.type": index}
    table.insert(data(0, 10, "x"), hoodie_conf={**conf, **made_by})
    done = table.upsert(data(5, 10, "later"), hoodie_conf={**conf, **made_by, **asked_by})
    assert (done.updates, done.inserts) == (5, 5)
    assert len(footers) == reads
    rows = table.refreshed().scan(columns=["id", "v"]).to_arrow().to_pylist()
    assert {one["id"]: one["v"] for one in rows} == {f"k{n:03}": "x" if n < 5 else "later" for n in range(15)}
    assert len(rows) == 15


def test_a_file_whose_range_lies_elsewhere_is_left_out_by_ranges_alone() -> None:
    keys = pa.array(["a", "m", "z"])
    assert locate.possible_places(locate.KeyRange(0, "b", "n"), None, keys).tolist() == [1]
    assert locate.possible_places(locate.KeyRange(0), None, keys).tolist() == [0, 1, 2]
