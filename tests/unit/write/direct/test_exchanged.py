"""Rows and stored keys that meet in tasks by the hashes of their keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.write.direct.exchanged import bucket_by_hash
from spark_jobs.write.direct.key_exchange import KeyFilter
from spark_jobs.write.direct.part import KIND, NUMBER, PATH, Kind, PartRules, key_hashes, place_part

pytestmark = pytest.mark.unit

GROUPS = {0: ("a", "f0"), 1: ("a", "f1"), 2: ("b", "f2")}
PATHS = ("a", "b")


def rules(**more: object) -> PartRules:
    given = {"paths": PATHS, "starts": (0, 10), "groups": GROUPS, "by_key": True, "drops_known": False, **more}
    return PartRules(**given)  # type: ignore[arg-type]


def block(kind: Kind, *rows: tuple[str, str, int]) -> pa.RecordBatch:
    """Rows of (key, partition path, number)."""
    columns = {
        KIND: pa.array([int(kind)] * len(rows), pa.int8()),
        RECORD_KEY: pa.array([key for key, _, _ in rows]),
        PATH: pa.array([PATHS.index(path) for _, path, _ in rows], pa.int32()),
        NUMBER: pa.array([number for _, _, number in rows], pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(
    "keys",
    [
        [str(one) for one in range(20_000)],
        [f"order-{one:012d}" for one in range(20_000)],
        [f"é{one}" for one in range(20_000)],
    ],
)
def test_hashes_spread_keys_that_count_up(keys: list[str]) -> None:
    hashes = key_hashes(pa.array(keys))
    for tasks in (2, 7, 64):
        counts = np.bincount((hashes % np.uint64(tasks)).astype(int), minlength=tasks)
        assert counts.max() < 1.3 * len(keys) / tasks
    # and those of one task go to all buckets as they are to be filled
    of_one = hashes[hashes % np.uint64(2) == 0]
    marks = (of_one >> np.uint64(33)).astype(np.int32)
    chosen = np.bincount(bucket_by_hash(marks, [(4, 300), (2, 100)]), minlength=5)
    assert chosen[4] == pytest.approx(0.75 * len(of_one), rel=0.05)
    assert chosen[2] == pytest.approx(0.25 * len(of_one), rel=0.1)


@pytest.mark.parametrize("rows", [1, 100, 20_000])
def test_a_filter_lets_all_keys_pass_that_come_and_few_others(rows: int) -> None:
    shift = KeyFilter.shift_for(rows)
    hashes = key_hashes(pa.array([f"{one}-1" for one in range(rows)]))
    asked = KeyFilter.of(shift, [(some >> np.uint64(shift)).astype(np.uint32) for some in np.array_split(hashes, 3)])
    assert asked.passes(hashes).all()
    assert asked.passes(key_hashes(pa.array([f"{one}-2" for one in range(20_000)]))).mean() < 0.2


def test_rows_get_the_buckets_of_their_keys_in_their_own_partition() -> None:
    rows = block(Kind.INCOMING, ("k", "a", 0), ("k", "b", 3), ("new", "a", 11), ("k", "a", 12))
    stored = block(Kind.STORED, ("k", "a", 1), ("k", "a", 1), ("new", "b", 2))
    part = place_part([rows, stored], rules())
    first, second = part.shares[0], part.shares[1]
    assert first.offsets.tolist() == [0, 3]
    assert first.buckets[0] == 1
    assert first.buckets[1] < 0
    assert first.codes.tolist() == [1]
    assert second.offsets.tolist() == [1, 2]
    assert second.buckets[1] == 1
    assert second.codes.tolist() == [0]
    assert part.updates == {1: 1}
    assert part.inserts == {(1, 0): 1, (0, 0): 1}


def test_rows_count_as_they_come_where_they_are_not_combined() -> None:
    rows = block(Kind.INCOMING, ("k", "a", 0), ("k", "a", 1), ("new", "a", 2), ("new", "a", 3))
    part = place_part([rows, block(Kind.STORED, ("k", "a", 0))], rules(by_key=False))
    assert (part.updates, part.inserts) == ({0: 2}, {(0, 0): 2})


def test_an_insert_leaves_out_what_is_stored() -> None:
    rows = block(Kind.INCOMING, ("k", "a", 0), ("new", "a", 1), ("k", "a", 2))
    part = place_part([rows, block(Kind.STORED, ("k", "a", 0))], rules(drops_known=True))
    assert part.dropped == 2
    assert part.shares[0].offsets.tolist() == [1]


def test_groups_whose_keys_may_be_dead_are_asked_once_more_where_others_have_them() -> None:
    rows = block(Kind.INCOMING, ("k", "a", 0), ("only", "a", 1))
    stored = block(Kind.STORED, ("k", "a", 0), ("k", "a", 1), ("only", "a", 0))
    part = place_part([rows, stored], rules(logged=frozenset({0, 1})))
    assert (part.doubtful, part.shares) == (frozenset({0, 1}), {})
    living = block(Kind.LIVING, ("k", "a", 1))
    part = place_part([rows, stored, living], rules(logged=frozenset({0, 1}), living=frozenset({0, 1})))
    assert part.shares[0].buckets.tolist() == [1, 0]
