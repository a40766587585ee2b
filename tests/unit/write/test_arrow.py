"""Writes of Arrow data by this process: every operation, type of table and index, beside a dict; without Spark."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.index.stored_keys import base_and_slice_keys
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.write.direct import key_exchange, placed_source
from spark_jobs.write.direct.arrow_source import ArrowSource
from tests.faults.local_table import problems_of
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
INDEXES: dict[str, dict[str, str]] = {
    "SIMPLE": {},
    "BLOOM": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "3"},
    "RECORD_INDEX": {"hoodie.metadata.record.index.enable": "true"},
}
Rows = dict[int, tuple[str, str, int]]


def made(path: Folder, table_type: str = "COPY_ON_WRITE", **more: Any) -> HudiTable:
    fields = {"record_key_fields": ["id"], "partition_fields": ["p"], "precombine_field": "ts", **more}
    return HudiTable.create(str(path), name="t", table_type=table_type, **fields, lake=path.lake)


def conf(index: str) -> dict[str, str]:
    return {"hoodie.index.type": index, "hoodie.bloom.index.num_entries": "100", **INDEXES[index]}


def data(ids: Iterable[int], value: str, ts: int = 1) -> pa.Table:
    ids = list(ids)
    return pa.table(
        {"id": ids, "p": ["ab"[one % 2] for one in ids], "v": [value] * len(ids), "ts": [ts] * len(ids)},
        schema=pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64())]),
    )


def rows_of(table: HudiTable) -> Rows:
    found = table.refreshed().scan(columns=["id", "p", "v", "ts"]).to_arrow().to_pylist()
    rows = {one["id"]: (one["p"], one["v"], one["ts"]) for one in found}
    assert len(rows) == len(found), "a key stands twice"
    return rows


def as_rows(given: pa.Table) -> Rows:
    return {one["id"]: (one["p"], one["v"], one["ts"]) for one in given.to_pylist()}


@pytest.mark.parametrize("most", ["1000", "1"])
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("table_type", TYPES)
def test_every_operation_is_that_of_a_dict(root: Folder, table_type: str, index: str, most: str) -> None:
    """In one process, and through its exchange, which is for batches of more keys than the driver is to hold."""
    options = {"hoodie_conf": {**conf(index), "pyhudi.ingest.driver.max.rows": most}}
    table = made(root / "t", table_type)
    model: Rows = {}
    first = data(range(20), "first")
    table.bulk_insert(first, **options)
    model |= as_rows(first)
    assert rows_of(table) == model
    changed = data(range(15, 30), "second", 2)
    result = table.upsert(changed, **options)
    by_logs = table_type == "MERGE_ON_READ" and index == "BUCKET"  # which take new keys, too, and count all alike
    assert (result.inserts, result.updates) == ((0, 15) if by_logs else (10, 5))
    model |= as_rows(changed)
    assert rows_of(table) == model
    result = table.upsert(data([3], "late", 0), **options)
    late = rows_of(table)[3]
    assert late[1] in ("late", "first")
    model[3] = late
    more = data(range(40, 44), "third", 3)
    result = table.insert(more, **options)
    assert result.inserts + result.updates == 4
    model |= as_rows(more)
    gone = table.delete(data([0, 1, 41, 99], "").select(["id", "p"]), **options)
    assert gone.deletes == (4 if by_logs else 3)
    for one in (0, 1, 41):
        del model[one]
    assert rows_of(table) == model
    over = data([100, 102], "over", 4)
    table.insert_overwrite(over, **options)
    model = {one: row for one, row in model.items() if row[0] != "a"} | as_rows(over)
    assert rows_of(table) == model
    table.upsert(data([102, 104], "again", 5), **options)
    model |= as_rows(data([102, 104], "again", 5))
    assert rows_of(table) == model
    assert table.delete_partitions(["b"]).instant is not None
    model = {one: row for one, row in model.items() if row[0] != "b"}
    assert rows_of(table) == model
    nothing = table.delete_partitions(["b"])
    assert nothing.instant is None
    assert "no rows are in the partitions" in (nothing.reason or "")
    whole = data(range(5), "whole", 6)
    table.insert_overwrite(whole, whole_table=True, **options)
    assert rows_of(table) == as_rows(whole)
    assert problems_of(root / "t") == []


def test_rows_that_are_too_many_to_read_again_are_sent_to_their_tasks(
    root: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placed_source, "MOST_READ_AGAIN", 0)
    table = made(root / "t")
    table.bulk_insert(data(range(20), "first"))
    table.upsert(data(range(10, 40), "second", 2))
    table.upsert(data([1, 39], "third", 3))
    expected = as_rows(data(range(20), "first")) | as_rows(data(range(10, 40), "second", 2))
    assert rows_of(table) == expected | as_rows(data([1, 39], "third", 3))


@pytest.mark.parametrize(("index", "looked_into"), [("SIMPLE", 2), ("BLOOM", 1)])
def test_files_whose_range_has_none_of_the_keys_are_not_read(
    root: Folder, index: str, looked_into: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, apart = made(root / "t"), {"hoodie.parquet.small.file.limit": "0"}
    for first in (10, 50):
        table.insert(data(range(first, first + 20, 2), "x"), hoodie_conf=apart)
    read: list[str] = []

    def keys_of(reader: SliceReader, one: FileSlice) -> Iterator[pa.Array]:
        read.append(one.file_id)
        return base_and_slice_keys(reader, one)

    monkeypatch.setattr(key_exchange, "base_and_slice_keys", keys_of)
    own = {**conf(index), "pyhudi.ingest.driver.max.rows": "1"}
    result = table.upsert(data([52, 54, 69], "y", 2), hoodie_conf=own)
    assert (result.inserts, result.updates, len(set(read))) == (1, 2, looked_into)


def test_anything_with_an_arrow_stream_is_data(root: Folder) -> None:
    table, rows = made(root / "t"), data(range(4), "x")
    table.upsert(rows.to_batches()[0])
    table.upsert(pa.RecordBatchReader.from_batches(rows.schema, data(range(4, 8), "x").to_batches()))
    table.upsert(data(range(8, 12), "x").to_pandas())
    more = data(range(12, 16), "x")  # noqa: F841  (found by its name)
    table.upsert(duckdb.sql("SELECT * FROM more"))
    table.upsert(polars.from_arrow(data(range(16, 20), "x")))
    assert rows_of(table) == as_rows(data(range(20), "x"))


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "insert_overwrite"])
def test_frames_of_polars_have_views_of_texts(root: Folder, operation: str) -> None:
    table = made(root / "t")
    frame = polars.DataFrame(
        {
            **{"id": [1, 2], "p": ["x", "y"], "v": ["a", None], "ts": [1, 1]},
            "kind": polars.Series(["red", None], dtype=polars.Categorical),
            "words": [["a", None], []],
            "place": [{"city": "Oslo"}, {"city": None}],
        }
    )
    for _ in range(2):
        getattr(table, operation)(frame)
    wanted = {"id": 1, "p": "x", "v": "a", "ts": 1, "kind": "red", "words": ["a", None], "place": {"city": "Oslo"}}
    found = [row for row in table.refreshed().scan(columns=list(wanted)).to_arrow().to_pylist() if row["id"] == 1]
    assert found == [wanted] * (2 if operation in ("insert", "bulk_insert") else 1)
    table.delete(frame.select("id", "p").filter(polars.col("id") == 1))
    assert table.refreshed().scan(columns=["id"]).to_arrow()["id"].unique().to_pylist() == [2]


@pytest.mark.parametrize("views", [pa.string_view(), pa.list_view(pa.string_view()), pa.binary_view()])
def test_views_inside_of_others(views: pa.DataType) -> None:
    letters: list[Any] = [[b"a"], None, [b"c"]] if pa.types.is_list_view(views) else [b"a", None, b"c"]
    for kind, given in (
        (views, letters),
        (pa.struct([("s", views)]), [None if one is None else {"s": one} for one in letters]),
        (pa.list_(views, 1), [None if one is None else [one] for one in letters]),
        (pa.map_(pa.string(), views), [[] if one is None else [("k", one)] for one in letters]),
    ):
        source = ArrowSource.of(pa.table({"c": pa.array(given, kind)}), "t")
        plain = ArrowSource.of(pa.table({"c": pa.array(given, _plain(kind))}), "t")
        assert source.schema == plain.schema
        assert source.take(np.array([0, 2])) == plain.take(np.array([0, 2]))


def _plain(kind: Any) -> Any:
    names = {"string_view": pa.string(), "binary_view": pa.binary()}
    if pa.types.is_struct(kind):
        return pa.struct([("s", _plain(kind.field(0).type))])
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), _plain(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain(kind.value_type), 1)
    return pa.list_(pa.string()) if pa.types.is_list_view(kind) else names[str(kind)]


def test_partitions_to_delete_are_a_list_of_paths(root: Folder) -> None:
    table = made(root / "t")
    table.upsert(data(range(4), "x"))
    before = rows_of(table)
    for wrong, said in (
        ("a*", r"partitions='a\*' is one text: give a list: \['a\*'\]"),
        (["x,y"], "a path there is a text without commas"),
        ([" x"], "without space around it"),
        ([""], "partitions has ''"),
    ):
        with pytest.raises(ConfigError, match=said):
            table.delete_partitions(wrong)
    assert rows_of(table) == before


def test_what_a_scan_gives_can_be_written_again(root: Folder) -> None:
    table = made(root / "t")
    table.upsert(data(range(4), "x"))
    result = table.upsert(table.refreshed().scan().to_arrow())
    assert (result.inserts, result.updates) == (0, 4)


def test_types_that_only_arrow_has_become_those_of_tables(root: Folder) -> None:
    table = made(root / "t")
    rows = data(range(2), "x")
    given = rows.set_column(2, "v", rows.column("v").dictionary_encode())
    given = given.set_column(1, "p", given.column("p").cast(pa.large_string()))
    given = given.append_column("when", pa.array([1_000, 2_000], pa.timestamp("ns", "UTC")))
    table.upsert(given)
    table.upsert(given)
    found = table.refreshed().scan(columns=["v", "when"]).to_arrow()
    assert found.schema.field("v").type == pa.string()
    assert found.schema.field("when").type == pa.timestamp("us", "UTC")
    assert sorted(found.column("when").cast(pa.int64()).to_pylist()) == [1, 2]


def test_a_name_is_written_once(root: Folder) -> None:
    table = made(root / "t")
    first = table.upsert(data(range(4), "x"), idempotency_key="daily")
    again = table.upsert(data(range(4), "other", 9), idempotency_key="daily")
    assert (again.repeated, again.instant) == (True, first.instant)
    assert rows_of(table) == as_rows(data(range(4), "x"))


def test_of_several_records_of_a_key_the_latest_stays(root: Folder) -> None:
    table = made(root / "t")
    rows = pa.concat_tables([data([1, 2], "new", 5), data([1, 2], "old", 3)])
    table.upsert(rows)
    assert rows_of(table) == as_rows(data([1, 2], "new", 5))


@pytest.mark.parametrize("mode", ["NONE", "GLOBAL_SORT", "PARTITION_SORT", "PARTITION_PATH_REPARTITION_AND_SORT"])
def test_a_bulk_insert_sorts_and_combines_as_asked(root: Folder, mode: str) -> None:
    table = made(root / "t")
    rows = pa.concat_tables([data([9, 3, 7, 2], "new", 5), data([3, 2], "old", 3), data([4], "x", 1)])
    options = {"hoodie.bulkinsert.sort.mode": mode, "hoodie.combine.before.insert": "true"}
    assert table.bulk_insert(rows, hoodie_conf=options).inserts == 5
    assert rows_of(table) == as_rows(data([9, 3, 7, 2], "new", 5)) | as_rows(data([4], "x", 1))
    slices = table.refreshed().file_slices()
    by_file = [table.refreshed().scan(filter=pa.compute.field("p") == one).to_arrow()["id"].to_pylist() for one in "ab"]
    if mode in ("GLOBAL_SORT", "PARTITION_SORT"):
        assert by_file == [[2, 4], [3, 7, 9]]
    assert len(slices) == 2


def test_sort_columns_order_a_bulk_insert(root: Folder) -> None:
    table = made(root / "t")
    rows = data([2, 4, 6], "x").set_column(3, "ts", pa.array([3, 1, 2]))
    table.bulk_insert(rows, hoodie_conf={"hoodie.bulkinsert.user.defined.partitioner.sort.columns": "ts"})
    assert table.refreshed().scan(columns=["id"]).to_arrow()["id"].to_pylist() == [4, 6, 2]
    with pytest.raises(ConfigError, match="which the source does not have"):
        table.bulk_insert(rows, hoodie_conf={"hoodie.bulkinsert.user.defined.partitioner.sort.columns": "nope"})


def test_what_is_wrong_is_said_and_nothing_is_left(root: Folder) -> None:
    table = made(root / "t")
    table.upsert(data(range(4), "x"))
    before = [one.path for one in root.storage.walk(str(root / "t"))]
    with pytest.raises(ConfigError, match="the data has no column id, which is a record key field"):
        table.upsert(data(range(2), "y").drop_columns(["id"]))
    with pytest.raises(ConfigError, match="the data has no column ts, which is a precombine field"):
        table.upsert(data(range(2), "y").drop_columns(["ts"]))
    with pytest.raises(ConfigError, match=r"builtins\.list is no Arrow table"):
        table.upsert([{"id": 1}])
    with pytest.raises(ConfigError, match=r"builtins\.NoneType is no Arrow table"):
        table.upsert(None)
    with pytest.raises(ConfigError, match="two columns id"):
        table.upsert(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"]))
    with pytest.raises(ConfigError, match=r"error_table is an option of ingest\.py"):
        table.upsert(data(range(2), "y"), error_table="/tmp/e")
    with pytest.raises(BadRecordError, match="no value in its key"):
        table.upsert(pa.concat_tables([data([1], "y"), data([1], "y").set_column(0, "id", pa.nulls(1, pa.int64()))]))
    with pytest.raises(ConfigError, match="no partitions to delete"):
        table.delete_partitions([])
    for values in (pa.chunked_array([[1, 2]]), polars.Series("id", ["a"])):
        with pytest.raises(ConfigError, match="is no Arrow table: give"):
            table.upsert(values)
    twins = pa.struct([pa.field("x", pa.int64()), pa.field("x", pa.int64())])
    with pytest.raises(ConfigError, match=r"^s has two columns x"):
        table.upsert(data(range(2), "y").append_column("s", pa.nulls(2, twins)))
    with pytest.raises(ConfigError, match=r"indx is no option of a write: give some of .*hoodie_conf, idemp"):
        table.upsert(data(range(2), "y"), indx="SIMPLE")
    with pytest.raises(ConfigError, match="op is no option of a write"):
        table.upsert(data(range(2), "y"), op="delete")
    for conf, said in (
        (["hoodie.index.type"], r"hoodie_conf=\['hoodie.index.type'\] is no mapping"),
        (7, "hoodie_conf=7 is no mapping"),
        ({"hoodie.datasource.write.operation": "delete"}, "operation has no effect here: call the method of that name"),
        ({"hoodie.errortable.enable": "true"}, r"errortable\.enable has no effect here: run ingest\.py"),
    ):
        with pytest.raises(ConfigError, match=said):
            table.upsert(data(range(2), "y"), hoodie_conf=conf)
    after = [one.path for one in root.storage.walk(str(root / "t"))]
    assert {one for one in after if "/.hoodie/" not in one} == {one for one in before if "/.hoodie/" not in one}
    assert rows_of(table) == as_rows(data(range(4), "x"))
    assert problems_of(root / "t") == []


@pytest.mark.parametrize(
    "conf", [["hoodie.index.type=SIMPLE"], (("hoodie.index.type", "SIMPLE"),), "hoodie.index.type=SIMPLE"]
)
def test_keys_may_be_given_as_a_job_has_them(root: Folder, conf: Any) -> None:
    table = made(root / "t")
    table.upsert(data(range(2), "x"), hoodie_conf=conf)
    assert table.upsert(data(range(2), "y", 2), hoodie_conf=conf).updates == 2


def test_what_has_no_effect_goes_to_the_log(root: Folder, caplog: pytest.LogCaptureFixture) -> None:
    table = made(root / "t")
    table.upsert(data(range(3), "a"), hoodie_conf={"hoodie.metadata.enabel": "false", "hoodie.index.type": "SIMPLE"})
    assert [(one.name, one.levelname, one.getMessage()) for one in caplog.records] == [
        (
            "pyhudi",
            "WARNING",
            "write: hoodie.metadata.enabel is not known to this release and has no effect; did you mean "
            "hoodie.metadata.enable?",
        )
    ]


def test_new_columns_evolve_the_table(root: Folder) -> None:
    table = made(root / "t")
    table.upsert(data(range(4), "x"))
    table.upsert(data([1], "y", 2).append_column("more", pa.array([7], pa.int32())))
    found = table.refreshed().scan(columns=["id", "more"]).to_arrow().to_pylist()
    assert sorted((one["id"], one["more"]) for one in found) == [(0, None), (1, 7), (2, None), (3, None)]


def test_a_frame_of_pandas_without_stream_is_refused_by_its_type() -> None:
    assert hasattr(pd.DataFrame(), "__arrow_c_stream__")  # else the case above would say so


_ALONE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "airflow", "pandas", "pymetastore", "sqlglot"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Missing())
import pyarrow as pa
from spark_jobs.core.table import HudiTable

table = HudiTable.create(sys.argv[1], name="t", record_key_fields=["id"])
table.upsert(pa.table({"id": [1, 2], "v": ["a", "b"]}))
table.upsert(pa.table({"id": [2, 3], "v": ["c", "d"]}))
print(sorted(table.refreshed().scan(columns=["id", "v"]).to_arrow().to_pylist(), key=lambda row: row["id"]))
"""


def test_neither_spark_nor_airflow_is_needed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, str(tmp_path / "t")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("[{'id': 1, 'v': 'a'}, {'id': 2, 'v': 'c'}, {'id': 3, 'v': 'd'}]")
