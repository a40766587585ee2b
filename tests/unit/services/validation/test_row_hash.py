"""Rows are told apart by all their values, whatever the batches they come in and their order."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.services.validation.row_hash import Fingerprint, hash_rows, hash_text, hash_values

pytestmark = pytest.mark.unit

KIND = pa.struct(
    [
        ("text", pa.string()),
        ("number", pa.int64()),
        ("list", pa.list_(pa.struct([("a", pa.float64()), ("b", pa.binary())]))),
        ("map", pa.map_(pa.string(), pa.int32())),
    ]
)
VALUES = st.none() | st.fixed_dictionaries(
    {
        "text": st.none() | st.text("ab\0é", max_size=10),
        "number": st.none() | st.integers(-3, 3),
        "list": st.none()
        | st.lists(
            st.none()
            | st.fixed_dictionaries({"a": st.sampled_from([None, 0.5, 1.0]), "b": st.binary(max_size=2) | st.none()}),
            max_size=3,
        ),
        "map": st.none()
        | st.dictionaries(st.sampled_from("xyz"), st.none() | st.integers(0, 2), max_size=2).map(
            lambda found: sorted(found.items())
        ),
    }
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=12), st.integers(0, 12))
def test_equal_values_and_no_others_have_equal_hashes(values: list[Any], cut: int) -> None:
    array = pa.array(values, KIND)
    hashes = hash_values(array)
    assert len(hashes) == len(values)
    stored = [repr(value) for value in array.to_pylist()]
    assert len(set(hashes.tolist())) == len(set(stored)) == len(set(zip(stored, hashes.tolist(), strict=True)))
    parts = [array.slice(0, cut), array.slice(cut)]
    assert np.concatenate([hash_values(part) for part in parts]).tolist() == hashes.tolist()
    assert hash_values(pa.chunked_array(parts, KIND)).tolist() == hashes.tolist()


@settings(deadline=None)
@given(st.lists(st.none() | st.text(max_size=30), max_size=40))
def test_texts(values: list[str | None]) -> None:
    hashes = hash_text(pa.array(values, pa.string()))
    assert len(set(hashes.tolist())) == len(set(values))
    assert hash_text(pa.array(values, pa.large_string())).tolist() == hashes.tolist()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.bool_(), [True, False, None]),
        (pa.date32(), [0, 1, None]),
        (pa.timestamp("us", "UTC"), [0, 1, None]),
        (pa.decimal128(10, 2), [Decimal("1.10"), Decimal("1.11"), None]),
        (pa.binary(2), [b"ab", b"ac", None]),
        (pa.float32(), [0.1, float("nan"), None]),
        (pa.dictionary(pa.int32(), pa.string()), ["a", "b", None]),
    ],
)
def test_every_kind_of_column(kind: pa.DataType, values: list[Any]) -> None:
    assert len(set(hash_values(pa.array(values, kind)).tolist())) == 3


def test_columns_do_not_stand_for_each_other() -> None:
    rows = pa.table({"a": ["x", "y"], "b": ["y", "x"]})
    assert len(set(hash_rows(rows).tolist())) == 2


def test_a_fingerprint_is_of_a_multiset() -> None:
    rows = pa.table({"a": ["x", "y", "x"]})
    whole = Fingerprint().with_rows(hash_rows(rows))
    parts = Fingerprint().with_rows(hash_rows(rows.slice(1))).with_rows(hash_rows(rows.slice(0, 1)))
    assert parts == whole
    assert Fingerprint().with_rows(hash_rows(pa.table({"a": ["x", "y", "y"]}))) != whole
    assert Fingerprint().with_rows(hash_rows(pa.table({"a": ["x", "y"]}))) != whole
