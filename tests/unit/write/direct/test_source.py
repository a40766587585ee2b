"""Parquet sources by row numbers, and which of them may be read without Spark."""

from __future__ import annotations

import os
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.lake import Lake
from spark_jobs.write.direct.choose import parquet_source, reads_alike, same_keys_without_spark
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import ParquetSource, RowRange

pytestmark = pytest.mark.unit

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64())])


def written(folder: Path, files: list[int], group: int = 3) -> ParquetSource:
    """Files of so many rows, numbered through in column ``n``."""
    urls, first = [], 0
    for number, rows in enumerate(files):
        values = range(first, first + rows)
        columns = {"n": list(values), "id": [f"k{value}" for value in values]}
        table = pa.table(columns, schema=pa.schema(list(SCHEMA)[::-1]))
        path = folder / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=group)
        urls.append(f"file://{path}")
        first += rows
    found = parquet_source(SCHEMA, urls, Lake())
    assert isinstance(found, ParquetSource), found
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 5, 40])
def test_shares_are_even_and_give_every_row_once(tmp_path: Path, count: int) -> None:
    source = written(tmp_path, [7, 0, 5])
    shares = source.shares(count)
    assert max(len_of(one) for one in shares) - min(len_of(one) for one in shares) <= 1
    assert len(shares) == min(count, 12)
    rows = [row for share in shares for batch in source.read(share) for row in batch.column("n").to_pylist()]
    assert rows == list(range(12))


@pytest.mark.parametrize(
    ("files", "count", "bounds"),
    [
        ([9], 3, [0, 3, 6, 9]),
        ([8], 4, [0, 3, 6, 8]),  # 2 and 4 are nearest to 3, of which the last is the same range
        ([3, 3], 2, [0, 3, 6]),
        ([3], 3, [0, 1, 2, 3]),  # one row group: nothing is near
        ([0], 2, []),
    ],
)
def test_aligned_shares_begin_with_row_groups(tmp_path: Path, files: list[int], count: int, bounds: list[int]) -> None:
    source = written(tmp_path, files)
    shares = source.aligned_shares(count)
    assert shares == [RowRange(*pair) for pair in pairwise(bounds)]
    rows = [row for share in shares for batch in source.read(share) for row in batch.column("n").to_pylist()]
    assert rows == list(range(sum(files)))


def len_of(share: RowRange) -> int:
    return share.stop - share.start


def test_rows_are_taken_by_their_numbers_over_files_and_row_groups(tmp_path: Path) -> None:
    source = written(tmp_path, [7, 5], group=2)
    table = source.take(np.array([0, 3, 6, 7, 11]))
    assert table.schema == SCHEMA
    assert table.to_pydict() == {"id": ["k0", "k3", "k6", "k7", "k11"], "n": [0, 3, 6, 7, 11]}
    assert source.take(np.zeros(0, np.int64)).num_rows == 0


def test_a_source_that_was_replaced_meanwhile_is_refused(tmp_path: Path) -> None:
    source = pickle.loads(pickle.dumps(written(tmp_path, [4])))
    os.unlink(tmp_path / "0.parquet")
    written(tmp_path, [4])
    with pytest.raises(StorageError, match="was changed while it was read"):
        list(source.read(RowRange(0, 4)))


def test_a_source_that_is_replaced_between_two_looks_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path, [4])
    reading = source.read(RowRange(0, 4))
    next(reading)
    os.unlink(tmp_path / "0.parquet")
    written(tmp_path, [4])
    with pytest.raises(StorageError, match="was changed while it was read"):
        list(reading)


def test_batches_of_wide_rows_are_short(tmp_path: Path) -> None:
    table = pa.table({"id": ["x" * 100_000] * 1000, "n": [1] * 1000}, schema=SCHEMA)
    pq.write_table(table, tmp_path / "wide.parquet")
    source = parquet_source(SCHEMA, [str(tmp_path / "wide.parquet")], Lake())
    assert isinstance(source, ParquetSource)
    batches = list(source.read(RowRange(0, 1000)))
    assert sum(batch.num_rows for batch in batches) == 1000
    assert max(batch.nbytes for batch in batches) <= 40 << 20


def test_wide_rows_behind_narrow_ones_come_in_short_batches(tmp_path: Path) -> None:
    narrow, wide = ["x"] * 4000, [f"{n:0200000}" for n in range(500)]
    table = pa.table({"id": narrow + wide, "n": list(range(4500))}, schema=SCHEMA)
    pq.write_table(table, tmp_path / "late.parquet", row_group_size=2000, use_dictionary=False)
    source = parquet_source(SCHEMA, [str(tmp_path / "late.parquet")], Lake())
    assert isinstance(source, ParquetSource), source
    batches = list(source.read(RowRange(0, 4500)))
    assert [batch.num_rows for batch in batches[:2]] == [2000, 2000]
    assert max(batch.nbytes for batch in batches) < 64 << 20
    assert pa.Table.from_batches(batches).column("n").to_pylist() == list(range(4500))


def test_keys_come_in_the_order_of_the_rows(tmp_path: Path) -> None:
    source = written(tmp_path, [3, 2])
    spec = KeySpec.of(("id",), ("n",), hive_style=True, url_encode=False)
    keyed = KeyedSource(source=source, spec=spec)
    assert keyed.keys(RowRange(0, 5)).to_pydict() == {
        "_hoodie_record_key": ["k0", "k1", "k2", "k3", "k4"],
        "_hoodie_partition_path": ["n=0", "n=1", "n=2", "n=3", "n=4"],
    }
    assert keyed.take(np.array([1, 4])).to_pydict() == {
        "_hoodie_record_key": ["k1", "k4"],
        "_hoodie_partition_path": ["n=1", "n=4"],
        "id": ["k1", "k4"],
        "n": [1, 4],
    }


@pytest.mark.parametrize(
    ("stored", "wanted", "alike"),
    [
        (pa.int32(), pa.int32(), True),
        (pa.int32(), pa.int64(), False),
        (pa.uint32(), pa.int64(), False),
        (pa.large_string(), pa.string(), True),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), True),
        (pa.binary(), pa.string(), False),
        (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), True),
        (pa.timestamp("us"), pa.timestamp("us"), True),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
        (pa.timestamp("ns"), pa.timestamp("us"), False),  # how pyarrow has the INT96 of older writers
        (pa.decimal128(9, 2), pa.decimal128(9, 2), True),
        (pa.decimal128(9, 2), pa.decimal128(10, 2), False),
        (pa.list_(pa.int32()), pa.list_(pa.int32()), True),
        (pa.large_list(pa.large_string()), pa.list_(pa.field("element", pa.string())), True),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), False),
        (pa.list_(pa.int32()), pa.int32(), False),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int32()), True),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64()), False),
        (pa.struct([("a", pa.int8()), ("b", pa.date32())]), pa.struct([("b", pa.date32()), ("a", pa.int8())]), True),
        (pa.struct([("a", pa.int8()), ("b", pa.date32())]), pa.struct([("a", pa.int8())]), False),
        (pa.struct([("a", pa.int8())]), pa.struct([("a", pa.int8()), ("b", pa.date32())]), False),
        (pa.struct([("a", pa.timestamp("ns"))]), pa.struct([("a", pa.timestamp("us"))]), False),
    ],
)
def test_types_that_spark_and_arrow_read_alike(stored: pa.DataType, wanted: pa.DataType, alike: bool) -> None:
    assert reads_alike(stored, wanted) is alike


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"org.apache.spark.legacyDateTime": ""}, "Julian"),
        ({"org.apache.spark.version": "2.4.8"}, "Julian"),
        ({"org.apache.spark.version": "3.5.1"}, None),
    ],
)
def test_files_of_the_old_calendar_are_left_to_spark(tmp_path: Path, metadata: dict[str, str], why: str | None) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["a"], "n": [1]}).replace_schema_metadata(metadata), path)
    found = parquet_source(SCHEMA, [str(path)], Lake())
    assert (why in found) if why else isinstance(found, ParquetSource)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("url", "why"),
    [("ftp://b/a.parquet", "no storage"), ("{tmp}/none.parquet", "is gone"), ("{tmp}/text.parquet", "not readable")],
)
def test_what_cannot_be_opened_is_left_to_spark(tmp_path: Path, url: str, why: str) -> None:
    (tmp_path / "text.parquet").write_text("no Parquet")
    found = parquet_source(SCHEMA, [url.format(tmp=tmp_path)], Lake())
    assert isinstance(found, str)
    assert why in found


def test_a_column_that_a_file_lacks_is_left_to_spark(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "a.parquet")
    assert "has no column n" in str(parquet_source(SCHEMA, [str(tmp_path / "a.parquet")], Lake()))


@pytest.mark.parametrize("folder", ["id=EU", "ID=EU", "i%64=EU"])
def test_a_folder_that_spark_takes_a_column_from_is_left_to_spark(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    pq.write_table(pa.table({"id": ["a"], "n": [1]}, schema=SCHEMA), tmp_path / folder / "a.parquet")
    assert "has the name of a column" in str(parquet_source(SCHEMA, [str(tmp_path / folder / "a.parquet")], Lake()))
    (tmp_path / "other=EU").mkdir()
    pq.write_table(pa.table({"id": ["a"], "n": [1]}, schema=SCHEMA), tmp_path / "other=EU" / "a.parquet")
    assert isinstance(parquet_source(SCHEMA, [str(tmp_path / "other=EU" / "a.parquet")], Lake()), ParquetSource)


@pytest.mark.parametrize(
    ("properties", "alike"),
    [
        ({"hoodie.keygen.timebased.timezone": "UTC"}, True),
        ({"hoodie.keygen.timebased.output.timezone": "UTC"}, True),
        ({}, False),
    ],
)
def test_what_goes_by_the_machines_zone_is_left_to_spark(properties: dict[str, str], alike: bool) -> None:
    spec = KeySpec.of(
        ("id",),
        ("n",),
        hive_style=False,
        url_encode=False,
        class_name="org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        properties={
            "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
            "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
            **properties,
        },
    )
    assert same_keys_without_spark(spec, SCHEMA, virtual=False) is alike


def test_timestamps_as_text_in_keys_are_left_to_spark() -> None:
    schema = pa.schema([("id", pa.timestamp("us", "UTC")), ("n", pa.int64())])
    consistent = {"hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true"}
    for properties, alike in ((consistent, False), ({}, True)):
        spec = KeySpec.of(("id",), (), hive_style=False, url_encode=False, properties=properties)
        assert same_keys_without_spark(spec, schema, virtual=False) is alike


def test_floating_point_keys_are_left_to_spark() -> None:
    schema = pa.schema([("id", pa.float64()), ("p", pa.string())])
    spec = KeySpec.of(("id",), ("p",), hive_style=False, url_encode=False)
    assert not same_keys_without_spark(spec, schema, virtual=False)
    assert same_keys_without_spark(spec, schema, virtual=True)
    inside = pa.schema([("s", pa.struct([("x", pa.float64())])), ("p", pa.string())])
    for fields, paths in ((("s.x",), ("p",)), (("p",), ("s.x",))):
        spec = KeySpec.of(fields, paths, hive_style=False, url_encode=False)
        assert not same_keys_without_spark(spec, inside, virtual=False)


def test_a_text_that_stands_in_all_rows_counts_for_each_of_them(tmp_path: Path) -> None:
    rows = pa.table({"id": ["x" * 1000] * 5000, "n": range(5000)}, schema=SCHEMA)
    pq.write_table(rows, tmp_path / "a.parquet")
    source = parquet_source(None, [str(tmp_path / "a.parquet")], Lake())
    assert isinstance(source, ParquetSource)
    assert source.content_size < 100_000
    assert source.memory_size >= 5_000_000


def test_without_a_schema_files_have_to_agree(tmp_path: Path) -> None:
    for name, columns in (("a", ["x", "y"]), ("b", ["y", "x"]), ("c", ["x"]), ("d", ["x", "y", "z"])):
        pq.write_table(pa.table({column: [1] for column in columns}), tmp_path / name)

    def of(names: str) -> ParquetSource | str:
        return parquet_source(None, [str(tmp_path / name) for name in names], Lake())

    both = of("ba")
    assert isinstance(both, ParquetSource)
    assert both.schema.names == ["x", "y"]
    assert "has no column y" in str(of("ac"))
    assert "has columns that" in str(of("ad"))
