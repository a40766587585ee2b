"""Column statistics that Hudi wrote: read, recomputed from the footers, and used to leave files out of queries."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS, ColumnStats, Wrapped, merge_stats, tombstone
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.keys import column_id, column_stats_key, file_id, partition_id, xxhash64
from spark_jobs.core.metadata_table.layout import partition_of
from spark_jobs.core.metadata_table.scan import read_prefixes, read_records
from spark_jobs.core.metadata_table.schema import STORED_TEXT
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import listed_files, metadata_table_of

pytestmark = pytest.mark.unit

FIELD = pc.field
LOW, HIGH = Wrapped("LongWrapper", 1), Wrapped("LongWrapper", 9)

CONDITIONS = {
    "whole": FIELD("whole") > 60,
    "id": (FIELD("id") >= 30) & (FIELD("id") < 35),
    "word": FIELD("word") == "w0005é",
    "no such word": FIELD("word") == "zzz",
    "flag": FIELD("flag"),
    "day": FIELD("day") > datetime.date(1995, 1, 1),
    "price": FIELD("price") < Decimal("-12.000"),
    "at": FIELD("at") > datetime.datetime(1970, 1, 4, tzinfo=datetime.UTC),
    "ratio": FIELD("ratio") > 40.0,
    "maybe": FIELD("maybe") == 70,
    "null": FIELD("maybe").is_null(),
    "either": (FIELD("id") < 5) | (FIELD("id") > 130),
    "in": FIELD("id").isin([3, 139]),
    "not": ~(FIELD("id") < 100),
    "key": FIELD("_hoodie_record_key") == "7",
}


def test_ids_are_those_of_hudi() -> None:
    assert column_id("ts") == "oyTjviKHuhI="
    assert partition_id("y=1993") == "KzsexeR2ymg="
    assert partition_id("") == "FXThHwelITM="
    assert file_id("a.parquet") == "ziWfGpvMZP1XYkarUrP7AA=="


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_hash_is_xxh64(text: bytes, value: int) -> None:
    assert xxhash64(text, 0) == value


def test_keys_are_found_by_recomputing_them(indexed_table: Folder) -> None:
    table = metadata_table_of(indexed_table)
    records = read_records(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    listed = {(key, name) for key, names in listed_files(indexed_table).items() for name in names}
    wanted = {column_stats_key(one.column, "", one.file_name) for one in records.values()}
    wanted |= {
        column_stats_key(one.column, partition_of(key), one.file_name)
        for one in records.values()
        for key, name in listed
        if name == one.file_name
    }
    live = {key for key, one in records.items() if not one.is_deleted}
    assert live <= wanted | {key for key, one in records.items() if (one.file_name not in {name for _, name in listed})}
    some = next(iter(live))
    assert read_records(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS, [some]) == {some: records[some]}
    ids = column_id("id")
    by_prefix = read_prefixes(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS, [ids])
    assert by_prefix == {key: one for key, one in records.items() if key.startswith(ids)}
    assert {one.column for one in by_prefix.values()} == {"id"}


def test_footers_give_what_hudi_stored(indexed_table: Folder) -> None:
    """Bounds by value: a compaction of the metadata table changes the wrappers of dates and decimals."""
    table = indexed_table.table()
    records = read_records(metadata_table_of(indexed_table), MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    compared = 0
    for key, names in listed_files(indexed_table).items():
        for name in names:
            if parse_base_file_name(name) is None:
                continue
            path = "/".join(part for part in (table.base_path, partition_of(key), name) if part)
            columns = {one.column for one in records.values() if one.file_name == name}
            for one in read_footer_stats(table.storage, path, columns):
                stored = records[column_stats_key(one.column, partition_of(key), name)]
                assert (_value(one.low), _value(one.high)) == (_value(stored.low), _value(stored.high)), one.column
                counts = ("file_name", "column", "values", "nulls", "size", "uncompressed_size", "is_deleted")
                assert [getattr(one, each) for each in counts] == [getattr(stored, each) for each in counts]
                compared += 1
    assert compared > 20


def _value(bound: Wrapped | None) -> object:
    if bound is None:
        return None
    if bound.wrapper == "BytesWrapper":
        return Decimal(int.from_bytes(bound.value, signed=True)).scaleb(-15)
    return bound.value


@pytest.mark.parametrize("name", CONDITIONS)
def test_no_row_is_lost_by_leaving_files_out(indexed_table: Folder, name: str) -> None:
    path, condition = indexed_table, CONDITIONS[name]
    for query in ("snapshot", "read_optimized"):
        everything = path.table(lists_storage=True).scan(filter=condition, query=query)
        skipping = path.table().scan(filter=condition, query=query)
        assert skipping.to_arrow().sort_by("id").equals(everything.to_arrow().sort_by("id"))
        assert len(skipping.slices()) <= len(everything.slices())


@pytest.mark.parametrize("name", sorted(set(CONDITIONS) - {"flag", "ratio", "null"}))
def test_files_without_a_match_are_not_read(indexed_table: Folder, name: str) -> None:
    if name in ("price", "either") and indexed_table.name == "indexed_unpartitioned":
        pytest.skip("both of its files have such rows")
    path, condition = indexed_table, CONDITIONS[name]
    everything = path.table().scan(query="read_optimized").slices()
    assert len(path.table().scan(filter=condition, query="read_optimized").slices()) < len(everything)


def test_two_records_of_one_file() -> None:
    one = ColumnStats(file_name="f", column="c", low=LOW, high=LOW, values=3, nulls=1, size=10, uncompressed_size=20)
    other = ColumnStats(file_name="f", column="c", low=HIGH, high=HIGH, values=2, nulls=0, size=1, uncompressed_size=2)
    both = ColumnStats(file_name="f", column="c", low=LOW, high=HIGH, values=5, nulls=1, size=11, uncompressed_size=22)
    assert merge_stats(one, other) == merge_stats(other, one) == both
    nothing = ColumnStats(file_name="f", column="c", values=2, nulls=2)
    assert (merge_stats(one, nothing).low, merge_stats(nothing, one).high) == (LOW, LOW)
    gone = tombstone("f", "c")
    assert merge_stats(one, gone) == gone
    assert merge_stats(gone, one) == one
    text = Wrapped("StringWrapper", "x")
    assert merge_stats(one, ColumnStats(file_name="f", column="c", low=text, high=text, values=1)).low is None


WRAPPED = st.one_of(
    st.builds(Wrapped, st.just("BooleanWrapper"), st.booleans()),
    st.builds(Wrapped, st.just("IntWrapper"), st.integers(-(2**31), 2**31 - 1)),
    st.builds(Wrapped, st.just("LongWrapper"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(Wrapped, st.just("DoubleWrapper"), st.floats(allow_nan=False)),
    st.builds(Wrapped, st.just("BytesWrapper"), st.binary(max_size=9)),
    st.builds(Wrapped, st.just("StringWrapper"), st.text(max_size=9)),
    st.builds(Wrapped, st.just("DateWrapper"), st.integers(-(2**31), 2**31 - 1)),
    st.builds(Wrapped, st.just("TimestampMicrosWrapper"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(
        Wrapped,
        st.just("DecimalWrapper"),
        st.integers(-(10**30) + 1, 10**30 - 1).map(lambda number: Decimal(number).scaleb(-15)),
    ),
)


@given(
    low=st.none() | WRAPPED, high=st.none() | WRAPPED, counts=st.lists(st.integers(-1, 2**62), min_size=4, max_size=4)
)
def test_records_come_back_equal(low: Wrapped | None, high: Wrapped | None, counts: list[int]) -> None:
    values, nulls, size, uncompressed = counts
    stats = ColumnStats(
        file_name="f",
        column="c",
        low=low,
        high=high,
        values=values,
        nulls=nulls,
        size=size,
        uncompressed_size=uncompressed,
    )
    assert _round_trip(COLUMN_STATS, stats) == stats


def _round_trip(codec: Codec[ColumnStats], stats: ColumnStats) -> ColumnStats:
    return codec.decode(codec.encode("k", stats), STORED_TEXT, "here")


def test_a_record_of_another_partition_is_none_of_these() -> None:
    with pytest.raises(CorruptTableError, match="type 2 among column stats"):
        COLUMN_STATS.from_avro({"type": 2}, "here")
