"""Global indexes without Spark: a key is one record in the whole table, beside a dict."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest

from spark_jobs.core.format.folders import SOURCE_FOLDER
from spark_jobs.core.table import HudiTable
from spark_jobs.options.result import JobState
from spark_jobs.write.direct import placed_source
from tests.faults.local_table import problems_of
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
INDEXES = {
    "GLOBAL_SIMPLE": "hoodie.simple.index.update.partition.path",
    "GLOBAL_BLOOM": "hoodie.bloom.index.update.partition.path",
    "RECORD_INDEX": "hoodie.record.index.update.partition.path",
}
Rows = dict[int, tuple[str, str]]
SCHEMA = pa.schema(
    [("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64()), ("_hoodie_is_deleted", pa.bool_())]
)


def made(path: Folder, table_type: str, payload: str = "") -> HudiTable:
    fields = {"record_key_fields": ["id"], "partition_fields": ["p"], "precombine_field": "ts"}
    return HudiTable.create(str(path), name="t", table_type=table_type, payload_class=payload, **fields, lake=path.lake)


def conf(index: str, *, moves: bool) -> dict[str, str]:
    return {
        "hoodie.index.type": index,
        "hoodie.index.bloom.num_entries": "100",
        INDEXES[index]: str(moves).lower(),
        "hoodie.metadata.record.index.enable": str(index == "RECORD_INDEX").lower(),
    }


def data(rows: Iterable[tuple[int, str, str]], ts: int = 1, *, gone: bool = False) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, (*row, ts, gone), strict=True)) for row in rows], SCHEMA)


def rows_of(table: HudiTable) -> Rows:
    """By key the partition in which its record lies, and its value."""
    found = table.refreshed().scan(columns=["_hoodie_partition_path", "id", "v"]).to_arrow().to_pylist()
    rows = {one["id"]: (one["_hoodie_partition_path"], one["v"]) for one in found}
    assert len(rows) == len(found), "a key stands twice"
    return rows


@pytest.mark.parametrize(
    ("index", "moves", "exchanged", "most"),
    [
        *((index, moves, False, "1000") for index in INDEXES for moves in (False, True)),
        ("GLOBAL_SIMPLE", True, True, "1000"),
        *((index, moves, False, "1") for index in INDEXES for moves in (False, True)),
    ],
)
@pytest.mark.parametrize("table_type", TYPES)
def test_a_key_is_one_record_wherever_it_comes_from(
    root: Folder,
    table_type: str,
    index: str,
    moves: bool,
    exchanged: bool,
    most: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if exchanged:
        monkeypatch.setattr(placed_source, "MOST_READ_AGAIN", 0)
    options = {"hoodie_conf": {**conf(index, moves=moves), "pyhudi.ingest.driver.max.rows": most}}
    table = made(root / "t", table_type)
    model: Rows = {one: ("ab"[one % 2], "x") for one in range(12)}
    table.upsert(data((key, *value) for key, value in model.items()), **options)
    # to a new partition, to another one (from a group that logs the removal alone), at home, and a new key
    changed = [(1, "c", "y"), (2, "b", "y"), (3, "b", "y"), (50, "b", "y")]
    table.upsert(data(changed, 2), **options)
    for key, partition, value in changed:
        model[key] = (partition if moves or key not in model else model[key][0], value)
    assert rows_of(table) == model
    # back again, and of one key's records in several partitions the latest
    several = pa.concat_tables([data([(4, "d", "old")], 3), data([(4, "c", "new"), (1, "b", "z"), (2, "d", "w")], 4)])
    table.upsert(several, **options)
    model[4], model[1], model[2] = ("c" if moves else "a", "new"), ("b", "z"), ("d" if moves else "a", "w")
    assert rows_of(table) == model
    # deletions reach a record wherever it is
    table.upsert(data([(5, "zz", "")], 5, gone=True), **options)
    table.delete(data([(6, "zz", ""), (999, "a", "")], 6), **options)
    del model[5], model[6]
    assert rows_of(table) == model
    assert not (root / "t" / "zz").exists()
    # a key that is gone is new again
    table.upsert(data([(5, "c", "again")], 7), **options)
    assert rows_of(table)[5][1] == "again"
    assert problems_of(root / "t") == []


@pytest.mark.parametrize("most", ["1000", "1"])
@pytest.mark.parametrize("table_type", TYPES)
def test_an_insert_drops_what_any_partition_has(root: Folder, table_type: str, most: str) -> None:
    table = made(root / "t", table_type)
    own = {**conf("GLOBAL_SIMPLE", moves=True), "hoodie.datasource.write.insert.drop.duplicates": "true"}
    own["pyhudi.ingest.driver.max.rows"] = most
    table.insert(data([(1, "a", "x")]), hoodie_conf=own)
    table.insert(data([(1, "b", "y"), (2, "a", "old"), (2, "b", "old")], 2), hoodie_conf=own)
    rows = rows_of(table)
    assert rows[1] == ("a", "x")
    assert set(rows) == {1, 2}


def test_a_table_without_a_record_index_is_searched(root: Folder) -> None:
    table = made(root / "t", "COPY_ON_WRITE")
    table.bulk_insert(data([(1, "a", "x"), (2, "b", "x")]))
    table.upsert(data([(1, "b", "y")], 2), hoodie_conf={"hoodie.index.type": "RECORD_INDEX"})
    assert rows_of(table) == {1: ("b", "y"), 2: ("b", "x")}


@pytest.mark.parametrize("most", ["1000", "1"])
@pytest.mark.parametrize("table_type", TYPES)
def test_a_payload_that_has_a_say_in_what_moves(root: Folder, table_type: str, most: str) -> None:
    """Event time: a later record moves, an earlier one changes nothing, a delete goes to where its record is."""
    payload = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    table = made(root / "t", table_type, payload)
    own = {"hoodie_conf": {**conf("GLOBAL_SIMPLE", moves=True), "pyhudi.ingest.driver.max.rows": most}}
    table.upsert(data([(1, "a", "x"), (2, "a", "x"), (3, "b", "x"), (4, "b", "x"), (5, "a", "x")], 5), **own)
    moved = [(1, "b", "later"), (3, "c", "later"), (6, "c", "new"), (5, "a", "stays")]
    done = table.upsert(data(moved, 6), **own)
    assert rows_of(table) == {
        1: ("b", "later"),
        2: ("a", "x"),
        3: ("c", "later"),
        4: ("b", "x"),
        5: ("a", "stays"),
        6: ("c", "new"),
    }
    assert done.state is JobState.COMPLETED
    table.upsert(data([(2, "c", "earlier"), (4, "a", "later"), (4, "c", "too early")], 4), **own)
    assert rows_of(table)[2] == ("a", "x")
    assert rows_of(table)[4] == ("b", "x")
    table.delete(data([(1, "c", "")], 7), **own)
    assert set(rows_of(table)) == {2, 3, 4, 5, 6}
    assert problems_of(root / "t") == []
    assert not (root / "t" / SOURCE_FOLDER).exists()


@pytest.mark.parametrize("most", ["1000", "1"])
@pytest.mark.parametrize("table_type", TYPES)
def test_a_record_takes_with_it_what_the_payload_keeps_of_the_stored_one(
    root: Folder, table_type: str, most: str
) -> None:
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    table = made(root / "t", table_type, payload)
    own = {"hoodie_conf": {**conf("RECORD_INDEX", moves=True), "pyhudi.ingest.driver.max.rows": most}}
    table.upsert(data([(one, "a", f"v{one}") for one in range(20)]), **own)
    batch = data([(one, "b", "") for one in range(5, 25)], 2)
    kept = batch.set_column(2, "v", pa.array([None] * 10 + ["new"] * 10, pa.string()))
    table.upsert(kept, **own)
    assert rows_of(table) == {
        **{one: ("a", f"v{one}") for one in range(5)},
        **{one: ("b", f"v{one}") for one in range(5, 15)},
        **dict.fromkeys(range(15, 25), ("b", "new")),
    }
    assert problems_of(root / "t") == []
