"""Finding keys by their hashes, against a dict; and a merge of so many changes that they are found so."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.merge import key_table
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.key_table import KeyTable, are_distinct, hashes_of
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.merge.with_base import FEW, BaseMerge
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from tests.nightly import examples

pytestmark = pytest.mark.unit

KEYS = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(KEYS, unique=True, max_size=30), st.lists(KEYS, max_size=30), st.integers(0, 5), st.integers(0, 5))
def test_keys_are_found_where_they_are(known: list[str], others: list[str], cut: int, split: int) -> None:
    asked = [*others, *known, *known[:cut]]
    chunks = pa.chunked_array([pa.array(part, pa.string()) for part in (known[:split], known[split:])])
    places = {key: number for number, key in enumerate(known)}
    expected = [places.get(key, -1) for key in asked]
    sliced = pa.array(["before", *asked, "after"], pa.string()).slice(1, len(asked))
    assert KeyTable(chunks).find(sliced).tolist() == expected
    assert KeyTable(chunks.combine_chunks()).find(sliced).tolist() == expected


def test_keys_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two texts of one hash are known here, so that all get one, or one of two."""
    asked = pa.array(["d", "a", "x", "c", "b", "y"])
    for hashes in (lambda keys: np.zeros(len(keys), np.uint64), lambda keys: hashes_of(keys) >> np.uint64(63)):
        monkeypatch.setattr(key_table, "hashes_of", hashes)
        assert KeyTable(pa.array(["a", "b", "c", "d"])).find(asked).tolist() == [3, 0, -1, 2, 1, -1]
        assert are_distinct(pa.chunked_array([["a", "b"], ["c"]]))
        assert not are_distinct(pa.chunked_array([["a", "b"], ["a"]]))


def test_hashes_depend_on_the_text_alone() -> None:
    texts = ["", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgh" * 5, "ü", "\0", "\0\0", "a\0"]
    together = hashes_of(pa.array(texts))
    assert len(set(together.tolist())) == len(texts)
    assert [int(hashes_of(pa.array([text]))[0]) for text in texts] == together.tolist()
    assert int(hashes_of(pa.array([None], pa.string()))[0]) == together[0]
    many = pa.array([str(number) for number in range(40_000)])
    assert len(np.unique(hashes_of(many))) == 40_000
    assert np.array_equal(hashes_of(many.slice(20_000)), hashes_of(many)[20_000:])


def test_a_repeated_key_is_seen() -> None:
    assert are_distinct(pa.chunked_array([], pa.string()))
    assert are_distinct(pa.chunked_array([["a", "b"], ["c"]]))
    assert not are_distinct(pa.chunked_array([["a", "b"], ["b"]]))


def test_a_null_key_is_found_nowhere() -> None:
    """That of a damaged base file."""
    assert KeyTable(pa.array(["", "a"])).find(pa.array([None, "a"])).tolist() == [-1, 1]


def test_a_merge_of_many_changes() -> None:
    rows, changed = FEW * 3 // 2, FEW + 1

    def table(numbers: np.ndarray, value: str) -> pa.Table:
        return pa.table(
            {RECORD_KEY: pc.cast(pa.array(numbers), pa.string()), "v": pa.repeat(pa.scalar(value), len(numbers))}
        )

    places = np.random.default_rng(7).permutation(2 * rows)[:changed]  # about half of them are not stored
    deleted = places % 10 == 0
    given_in_parts = pa.concat_tables([table(places[:1000], "new"), table(places[1000:], "new")])
    merge = BaseMerge(Changes(given_in_parts, deleted), OVERWRITE, None)
    merged = [merge.merge(batch) for batch in table(np.arange(rows), "old").to_batches(max_chunksize=10_000)]
    new, gone = np.zeros(2 * rows, bool), np.zeros(2 * rows, bool)
    new[places[~deleted]], gone[places[deleted]] = True, True
    kept = np.arange(rows)[~gone[:rows]]
    found = pa.Table.from_batches([one.rows for one in merged])
    assert found[RECORD_KEY].to_pylist() == [str(one) for one in kept.tolist()]
    assert np.array_equal(np.asarray(pc.equal(found["v"], "new")), new[kept])
    assert sum(one.updated for one in merged) == int(new[:rows].sum())
    assert sum(one.deleted for one in merged) == int(gone[:rows].sum())
    unseen = [int(key) for some in merge.unseen() for key in some[RECORD_KEY].to_pylist()]
    assert sorted(unseen) == (rows + np.flatnonzero(new[rows:])).tolist()
