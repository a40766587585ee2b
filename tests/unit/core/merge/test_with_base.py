"""Changes over base files, against a dict; and the choice within a batch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.merge.changes import Changes, deleted_mask, dense_ranks, precombine
from spark_jobs.core.merge.pairs import greater
from spark_jobs.core.merge.payload import EVENT_TIME, OVERWRITE, Payload, ordering_field_of, payload_of_table
from spark_jobs.core.merge.with_base import BaseMerge
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from tests.nightly import examples

pytestmark = pytest.mark.unit

SCHEMA = pa.schema(
    [(RECORD_KEY, pa.string()), ("ts", pa.int64()), ("value", pa.string()), ("tags", pa.list_(pa.string()))]
)
KEYS = st.sampled_from("abcdefgh")
Record = tuple[str, int | None, str]


def table(records: list[Record]) -> pa.Table:
    return pa.table(
        {
            RECORD_KEY: [key for key, _, _ in records],
            "ts": [ts for _, ts, _ in records],
            "value": [value for _, _, value in records],
            "tags": [[value] for _, _, value in records],
        },
        schema=SCHEMA,
    )


def records_of(rows: pa.Table | pa.RecordBatch) -> list[Record]:
    found = rows.to_pylist()
    assert all(row["tags"] == [row["value"]] for row in found)
    return [(row[RECORD_KEY], row["ts"], row["value"]) for row in found]


BASE = st.lists(
    st.tuples(KEYS, st.none() | st.integers(0, 3), st.just("old")), unique_by=lambda one: one[0], max_size=8
)
CHANGES = st.lists(
    st.tuples(st.tuples(KEYS, st.integers(0, 3), st.just("new")), st.booleans()),
    unique_by=lambda one: one[0][0],
    max_size=8,
)


@settings(max_examples=examples(200), deadline=None)
@given(BASE, CHANGES, st.sampled_from([OVERWRITE, EVENT_TIME]), st.booleans(), st.integers(1, 4))
def test_merge_is_a_dict_update(
    base: list[Record], changes: list[tuple[Record, bool]], payload: Payload, event_time_deletes: bool, rows: int
) -> None:
    expected = {record[0]: record for record in base}
    updated = deleted = 0
    for record, is_delete in changes:
        stored = expected.get(record[0])
        compares = payload is EVENT_TIME and (not is_delete or event_time_deletes)
        if compares and stored is not None and (stored[1] or 0) > (record[1] or 0):  # null is below all, as 0 is
            continue
        if not is_delete:
            expected[record[0]] = record
            updated += stored is not None
        elif stored is not None:
            del expected[record[0]]
            deleted += 1
    merge = BaseMerge(
        Changes(table([record for record, _ in changes]), np.array([gone for _, gone in changes], bool)),
        payload,
        "ts",
        event_time_deletes=event_time_deletes,
    )
    batches = table(base).to_batches(max_chunksize=rows)
    merged = [merge.merge(batch) for batch in batches]
    found = [record for one in merged for record in records_of(one.rows)]
    in_base = [record[0] for record in base]
    assert [record[0] for record in found] == [key for key in in_base if key in expected]  # the order of the base file
    found += [record for some in merge.unseen() for record in records_of(some)]
    assert sorted(map(str, found)) == sorted(map(str, expected.values()))
    assert (sum(one.updated for one in merged), sum(one.deleted for one in merged)) == (updated, deleted)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(KEYS, st.integers(0, 3), st.uuids().map(str)), max_size=12), st.booleans())
def test_of_equal_keys_the_greatest_stays_and_of_equal_ones_the_last(records: list[Record], ordered: bool) -> None:
    expected: dict[str, Record] = {}
    for record in records:
        before = expected.get(record[0])
        if before is None or not ordered or before[1] is None or record[1] is None or record[1] >= before[1]:
            expected[record[0]] = record
    found = records_of(precombine(table(records), "ts" if ordered else None).rows)
    assert sorted(map(str, found)) == sorted(map(str, expected.values()))
    assert found == [record for record in records if record in found]  # the order of the input


def test_a_null_in_the_precombine_field_is_refused() -> None:
    with pytest.raises(BadRecordError, match="1 records have no value in the precombine field ts"):
        precombine(table([("a", None, "x")]), "ts")


def test_which_rows_are_deletes() -> None:
    marked = table([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "x")]).append_column(
        "_hoodie_is_deleted", pa.array([True, None, False])
    )
    assert deleted_mask(marked).tolist() == [True, False, False]
    assert deleted_mask(marked, all_deleted=True).tolist() == [True, True, True]
    assert deleted_mask(marked.drop(["_hoodie_is_deleted"])).tolist() == [False, False, False]
    text = marked.drop(["_hoodie_is_deleted"]).append_column("_hoodie_is_deleted", pa.array(["true"] * 3))
    assert deleted_mask(text).tolist() == [False, False, False]


def test_changes_split_into_upserts_and_deletes() -> None:
    changes = Changes(table([("a", 1, "x"), ("b", 1, "x")]), np.array([False, True]))
    assert (changes.upserts().column(RECORD_KEY).to_pylist(), changes.deletes().column(RECORD_KEY).to_pylist()) == (
        ["a"],
        ["b"],
    )


def test_texts_that_an_update_leaves_are_not_copied() -> None:
    """Nulls and empty texts differ; a column with one other value is written anew."""
    count = 20
    rows = pa.table(
        {
            RECORD_KEY: [f"k{number}" for number in range(count)],
            "same": [None if number % 3 else f"s{number}" for number in range(count)],
            "other": ["" for _ in range(count)],
            "amount": pa.array(range(count), pa.int64()),
        }
    )
    changed = rows.take(pa.array([17, 4, 1]))
    changed = changed.set_column(2, "other", pa.array([None, "", ""], pa.string()))
    changed = changed.set_column(3, "amount", pa.array([-1, -2, -3], pa.int64()))
    batch = rows.combine_chunks().to_batches()[0]
    merged = BaseMerge(Changes(changed, np.zeros(3, bool)), OVERWRITE, None).merge(batch)
    by_key = {row[RECORD_KEY]: row for row in changed.to_pylist()}
    assert merged.rows.to_pylist() == [by_key.get(row[RECORD_KEY], row) for row in rows.to_pylist()]
    offsets = [[one.column(number).buffers()[1].address for number in range(3)] for one in (merged.rows, batch)]
    assert merged.updated == 3
    assert [after == before for after, before in zip(*offsets, strict=True)] == [True, True, False]


def nested(key: str, ts: int | None, value: str) -> pa.Table:
    kind = pa.struct([("ts", pa.int64())])
    columns = [pa.array([key]), pa.array([None if ts is None else {"ts": ts}], kind), pa.array([value])]
    return pa.table(columns, names=[RECORD_KEY, "m", "value"])


@pytest.mark.parametrize(
    ("payload_class", "stored", "incoming", "kept"),
    [
        ("DefaultHoodieRecordPayload", 5, 1, "old"),
        ("DefaultHoodieRecordPayload", 5, 5, "new"),
        ("DefaultHoodieRecordPayload", None, 1, "new"),
        ("EventTimeAvroPayload", 5, 1, "old"),
        ("FirstValueAvroPayload", 5, 5, "old"),
        ("FirstValueAvroPayload", None, 1, "new"),
        ("OverwriteWithLatestAvroPayload", 5, 1, "new"),
        ("PartialUpdateAvroPayload", 5, 1, "new"),
    ],
)
@pytest.mark.parametrize("field", ["m.ts", "m.nothing"])
def test_a_precombine_field_within_a_struct_decides_against_base_files(
    field: str, payload_class: str, stored: int | None, incoming: int, kept: str
) -> None:
    config = TableConfig(
        {
            "hoodie.table.precombine.field": field,
            "hoodie.compaction.payload.class": f"org.apache.hudi.common.model.{payload_class}",
        }
    )
    payload, change = payload_of_table(config), nested("a", incoming, "new")
    assert ordering_field_of(config, change.schema.names) is None
    merge = BaseMerge(Changes(change, np.zeros(1, bool)), payload, None, event_time_deletes=False)
    [batch] = nested("a", stored, "old").to_batches()
    expected = kept if field == "m.ts" else "new"
    assert merge.merge(batch).rows.column("value").to_pylist() == [expected]


def test_bytes_have_a_sign() -> None:
    """As Java's ByteBuffer compares them: b"\\xff" is the least of these."""
    values = [b"", b"\xff", b"\xffa", b"\x80\x80", b"\x7f", b"a", b"ab", b"a\xff", b"\x00"]
    expected = sorted(values, key=lambda value: [byte - 256 if byte > 127 else byte for byte in value])
    column = pa.chunked_array([[b"-", *values[:4]], values[4:], []], pa.binary())
    column = pa.chunked_array([column.chunk(0).slice(1), *column.chunks[1:]])
    ranks = dict(zip(column.to_pylist(), dense_ranks(column).tolist(), strict=True))
    assert sorted(values, key=ranks.__getitem__) == expected
    for lesser, value in pairwise(expected):
        assert greater(pa.array([value, lesser, lesser, None]), pa.array([lesser, value, lesser, value])).tolist() == [
            True,
            False,
            False,
            False,
        ]
    assert dense_ranks(pa.chunked_array([pa.array([b"", b""])])).tolist() == [1, 1]
    assert not greater(pa.array([b""]), pa.array([b""])).any()
