"""Rows to buckets as arrays, beside a plain loop over rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.write.direct.tagged import (
    NEW,
    PlacedRows,
    by_partition,
    count_by_bucket,
    place,
    rows_of_shares,
    rows_of_tasks,
    spread_inserts,
)

pytestmark = pytest.mark.unit


def keys_of(rows: list[tuple[str, str]]) -> pa.Table:
    return pa.table(
        {
            RECORD_KEY: pa.array([key for key, _ in rows], pa.string()),
            PARTITION_PATH: pa.array([partition for _, partition in rows], pa.string()).dictionary_encode(),
        }
    )


def placed(rows: list[int], buckets: list[int], places: list[int]) -> PlacedRows:
    return PlacedRows(rows=np.array(rows), buckets=np.array(buckets), places=np.array(places))


def test_rows_by_partition_with_their_distinct_keys() -> None:
    found = by_partition(keys_of([("b", "x"), ("a", "y"), ("a", "x"), ("b", "x")]))
    assert list(found) == ["x", "y"]
    assert found["x"].rows.tolist() == [0, 2, 3]
    assert found["x"].places.tolist() == [0, 1, 0]
    assert found["x"].keys.to_pylist() == ["b", "a"]
    assert found["y"].rows.tolist() == [1]
    assert by_partition(keys_of([])) == {}


def test_a_key_in_two_file_groups_goes_to_both() -> None:
    keys = by_partition(keys_of([("a", ""), ("b", ""), ("a", "")]))[""]
    found = place(keys, [(7, np.array([0])), (3, np.array([0]))])
    assert list(zip(found.rows.tolist(), found.buckets.tolist(), strict=True)) == [
        (0, 7),
        (0, 3),
        (1, NEW),
        (2, 7),
        (2, 3),
    ]


def test_new_rows_fill_the_shares_in_their_order_and_keep_a_key_together() -> None:
    found = spread_inserts(
        placed([0, 1, 2, 3, 4], [NEW, 9, NEW, NEW, NEW], [0, 1, 2, 0, 3]), [(5, 2), (6, 1)], by_key=False
    )
    assert found.buckets.tolist() == [5, 9, 6, 5, 6]
    assert count_by_bucket(found, by_key=False) == {5: 2, 6: 2, 9: 1}


def test_rows_of_one_key_count_as_the_record_that_they_become() -> None:
    rows = placed([0, 1, 2, 3, 4, 5, 6], [NEW, 9, NEW, NEW, NEW, 9, 8], [0, 1, 2, 0, 3, 1, 1])
    assert count_by_bucket(rows, by_key=True) == {NEW: 3, 8: 1, 9: 1}
    assert count_by_bucket(placed([], [], []), by_key=True) == {}
    found = spread_inserts(rows, [(5, 2), (6, 1)], by_key=True)
    assert found.buckets.tolist() == [5, 9, 5, 5, 6, 9, 8]


def test_tasks_get_their_rows_sorted_by_bucket() -> None:
    one, two = placed([0, 2, 4], [3, 1, NEW], [0, 1, 2]), placed([1, 3], [1, 2], [0, 1])
    shares = rows_of_tasks([one, two], 2)
    assert [(rows.tolist(), buckets.tolist()) for rows, buckets in shares] == [([3], [2]), ([1, 2, 0], [1, 1, 3])]


def test_ranges_of_the_source_get_their_rows_as_offsets() -> None:
    one, two = placed([0, 2, 4], [3, 1, NEW], [0, 1, 2]), placed([1, 3, 3], [1, 2, 5], [0, 1, 1])
    shares = rows_of_shares([one, two], [0, 2, 2, 5])
    assert [(offsets.tolist(), buckets.tolist()) for offsets, buckets in shares] == [
        ([0, 1], [3, 1]),
        ([], []),
        ([0, 1, 1], [1, 2, 5]),
    ]


@given(
    rows=st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), max_size=30),
    stored=st.lists(
        st.tuples(st.integers(0, 5), st.sets(st.sampled_from("abcdefgh"))), max_size=4, unique_by=lambda one: one[0]
    ),
    tasks=st.integers(1, 4),
)
def test_every_row_goes_to_all_groups_of_its_key(
    rows: list[tuple[str, str]], stored: list[tuple[int, set[str]]], tasks: int
) -> None:
    expected = set()
    found = []
    for partition, keys in by_partition(keys_of(rows)).items():
        names = keys.keys.to_pylist()
        pairs = [(bucket, np.array(sorted(names.index(key) for key in some & set(names)))) for bucket, some in stored]
        one = place(keys, [(bucket, places.astype(np.int64)) for bucket, places in pairs])
        found.append(spread_inserts(one, [(100, 2), (101, 1)], by_key=False))
        for number, (key, where) in enumerate(rows):
            if where == partition:
                expected |= {(number, bucket) for bucket, some in stored if key in some} or {(number, None)}
    got = [(int(row), int(bucket)) for share in rows_of_tasks(found, tasks) for row, bucket in zip(*share, strict=True)]
    assert len(got) == len(set(got))
    assert {(row, None if bucket >= 100 else bucket) for row, bucket in got} == expected
