"""Rows of a clustering group that do not fit into memory: the same order and files as if they did."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.clustering import spill
from spark_jobs.services.clustering.execute import Clusterer
from spark_jobs.services.clustering.plan import ClusteringGroup
from spark_jobs.services.clustering.spill import PIECES_PER_RUN, ordered_rows
from tests.unit.core.support import complete, context_of, new_table, rows, scope, start

pytestmark = pytest.mark.unit

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.float64()), ("n", pa.int64())])
T1 = "20240101000000001"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def some_rows(count: int, seed: int = 0) -> pa.Table:
    """Few distinct values, nulls and NaN among them; ``n`` numbers the rows."""
    chance = random.Random(seed)
    return pa.table(
        {
            "a": [chance.choice([None, *range(5)]) for _ in range(count)],
            "b": [chance.choice([None, "", "x", "y" * 50]) for _ in range(count)],
            "c": [chance.choice([None, float("nan"), 1.5, -1.5]) for _ in range(count)],
            "n": range(count),
        },
        schema=SCHEMA,
    )


@pytest.mark.parametrize("columns", [("a",), ("b", "a"), ("c", "b"), ("n",)])
@pytest.mark.parametrize("run_bytes", [1, 3_000, 9_000, 1 << 30])
def test_runs_are_merged_to_the_order_of_one_sort(temporary: Path, columns: tuple[str, ...], run_bytes: int) -> None:
    given = some_rows(1_200)
    with ordered_rows(given.to_batches(max_chunksize=70), SCHEMA, columns, run_bytes) as found:
        assert found.count == 1_200
        assert bool(list(temporary.iterdir())) == (run_bytes < 1 << 30)
        merged = pa.concat_tables(found.tables)
    expected = given.sort_by([(name, "ascending") for name in columns])
    for name in columns:
        assert str(merged.column(name).to_pylist()) == str(expected.column(name).to_pylist())
    assert Counter(map(str, merged.to_pylist())) == Counter(map(str, given.to_pylist()))
    assert list(temporary.iterdir()) == []


def test_without_columns_the_order_stays(temporary: Path) -> None:
    given = some_rows(1_000)
    with ordered_rows(given.to_batches(max_chunksize=70), SCHEMA, (), 5_000) as found:
        assert pa.concat_tables(found.tables).column("n").to_pylist() == list(range(1_000))
    assert list(temporary.iterdir()) == []


def test_a_merge_holds_pieces_and_not_runs() -> None:
    given = some_rows(64_000)
    with ordered_rows(given.to_batches(max_chunksize=1_000), SCHEMA, ("a", "n"), given.nbytes // 8) as found:
        sizes = [table.num_rows for table in found.tables]
    pieces = 64_000 // PIECES_PER_RUN
    assert sum(sizes) == 64_000
    assert max(sizes) <= 3 * pieces


def test_a_merge_of_many_runs_holds_no_more_than_half_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    order = spill._order

    def noted(rows: pa.Table, columns: Sequence[str]) -> pa.Array:
        held.append(rows.num_rows)
        return order(rows, columns)

    monkeypatch.setattr(spill, "PIECES_PER_RUN", 4)
    given = some_rows(6_400)
    with ordered_rows(given.to_batches(max_chunksize=64), SCHEMA, ("a", "n"), given.nbytes // 10) as found:
        monkeypatch.setattr(spill, "_order", noted)
        assert sum(table.num_rows for table in found.tables) == 6_400
    assert max(held) <= 320


def test_no_rows() -> None:
    with ordered_rows([], SCHEMA, ("a",)) as found:
        assert (found.count, sum(table.num_rows for table in found.tables)) == (0, 0)


def clustered(table: HudiTable, run_bytes: int, outputs: int, *sort: str) -> list[list[str]]:
    """Keys of each file that a clustering of all slices makes."""
    table = table.refreshed()
    context = context_of(table, f"2024010100000001{outputs}")
    work = Clusterer(
        context=context,
        reader=table.scan().reader(),
        sort_columns=sort,
        seed=table.clock.new_uuid(),
        run_bytes=run_bytes,
    )
    stats = work((0, ClusteringGroup(table.view().latest_slices(), outputs)), scope())
    assert [one.file_id.rpartition("-")[2] for one in stats] == [str(number) for number in range(len(stats))]
    return [
        open_base_file(table.storage, f"{table.base_path}/{one.path}").read(["id"]).column("id").to_pylist()
        for one in stats
    ]


@pytest.mark.parametrize("sort", [(), ("id",)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_group_beyond_memory_becomes_the_same_files(tmp_path: Path, sort: tuple[str, ...], outputs: int) -> None:
    found = []
    for run_bytes in (1, 1 << 30):
        table = new_table(str(tmp_path / str(run_bytes)))
        work = start(table, T1)
        stats: list[WriteStat] = []
        for number in range(4):
            handle = CreateHandle(context_of(table, T1), scope(number), "p", f"g{number}")
            handle.write(rows(*((f"{key:03d}", 1, "x") for key in range(number, 100, 4)), partition="p"))
            stats += handle.close()
        complete(table, work, stats)
        found.append(clustered(table, run_bytes, outputs, *sort))
    assert found[0] == found[1]
    assert len(found[0]) == outputs
    assert sum(map(len, found[0])) == 100
    if sort:
        keys = [key for file in found[0] for key in file]
        assert keys == sorted(keys)
