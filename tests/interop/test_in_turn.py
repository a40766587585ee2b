"""Real Hudi and we write the same table in turn; after every single action both must read the rows of the oracle.

Hudi runs at its defaults, so it makes a metadata table, and would not see a file that its metadata table does not list
(invariants 9 and 13 of docs/architecture.md).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interop.flights import PRECOMBINE, assert_same, by_key, delayed, sample
from tests.interop.ours import COMPACT_AT_ONCE, Ours
from tests.interop.real_hudi import RealHudi
from tests.interop.shared import Shared
from tests.interop.tending import assert_hudi_validates, tended_by_hudi
from tests.nightly import NIGHTLY

ROUNDS = int(os.environ.get("PYHUDI_ROUNDS") or (3 if NIGHTLY else 1))


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, real_hudi: RealHudi, ours: Ours) -> Shared:
    return Shared(path=tmp_path / "flights", table_type=request.param, hudi=real_hudi, ours=ours)


def test_hudi_reads_what_we_write(shared: Shared) -> None:
    """Invariant 13: bulk insert, upsert with new keys, insert, delete, and the services, all by us."""
    held_back = 500
    shared.by_us(shared.rows.slice(held_back), "bulk_insert")
    shared.by_us(delayed(sample(shared.rows, 0, 4), 1), "upsert")
    shared.by_us(sample(shared.rows, 3, 40), "delete")
    if shared.merge_on_read:
        shared.ours.compact(shared.path)
        shared.check("after our compaction")
        shared.read_optimized_is_all("after our compaction")
        shared.by_us(delayed(sample(shared.rows, 1, 6), 2), "upsert")
    else:
        shared.ours.cluster(shared.path, "carrier", "tailnum")
        shared.check("after our clustering")
        shared.by_us(delayed(sample(shared.rows, 1, 6), 2), "upsert")
    shared.ours.clean(shared.path)
    shared.check("after our cleaning")
    tended_by_hudi(shared.hudi, shared.path)
    shared.check("after Hudi tended it")


def test_we_read_what_hudi_writes(shared: Shared) -> None:
    """The other direction, with the same steps."""
    shared.by_hudi(shared.rows.slice(500), "bulk_insert")
    shared.by_hudi(delayed(sample(shared.rows, 0, 4), 1), "upsert")
    shared.by_hudi(sample(shared.rows, 3, 40), "delete")
    if shared.merge_on_read:
        shared.hudi.compact(shared.path, options=COMPACT_AT_ONCE)
        shared.check("after Hudi's compaction")
        shared.read_optimized_is_all("after Hudi's compaction")
        shared.by_hudi(delayed(sample(shared.rows, 1, 6), 2), "upsert")
    else:
        shared.hudi.cluster(shared.path, order="carrier,tailnum")
        shared.check("after Hudi's clustering")
        shared.by_hudi(delayed(sample(shared.rows, 1, 6), 2), "upsert")
    shared.hudi.clean(shared.path, options={"hoodie.cleaner.commits.retained": "1"})
    shared.check("after Hudi's cleaning")


@pytest.mark.timeout(300 + 300 * ROUNDS)
@pytest.mark.parametrize("first", ["ours", "hudi"])
def test_rounds_in_turn(shared: Shared, first: str) -> None:
    """Each round: Hudi upserts, deletes, compacts, cleans; then we do (one by day, 20 by `make rounds-in-turn`)."""
    by_first = shared.by_us if first == "ours" else shared.by_hudi
    by_first(shared.rows.slice(900), "bulk_insert")
    for number in range(ROUNDS):
        revision = 2 * number + 1
        shared.by_hudi(delayed(sample(shared.rows, number, 7), revision), "upsert")
        shared.by_hudi(sample(shared.rows, 10 + number, 90), "delete")
        if shared.merge_on_read:
            shared.hudi.compact(shared.path, options=COMPACT_AT_ONCE)
            shared.check(f"after Hudi's compaction {number}")
        shared.hudi.clean(shared.path, options={"hoodie.cleaner.commits.retained": "2"})
        shared.check(f"after Hudi's cleaning {number}")
        shared.by_us(delayed(sample(shared.rows, number + 3, 7), revision + 1), "upsert")
        shared.by_us(sample(shared.rows, 20 + number, 90), "delete")
        if shared.merge_on_read:
            shared.ours.compact(shared.path)
            shared.check(f"after our compaction {number}")
            shared.read_optimized_is_all(f"after our compaction {number}")
        shared.ours.clean(shared.path, retained=2)
        shared.check(f"after our cleaning {number}")
    actions = {each["action"] for each in shared.hudi.show_commits(shared.path)}
    assert "clean" in actions
    assert all(each["state"] == "COMPLETED" for each in shared.hudi.show_commits(shared.path))
    assert_hudi_validates(shared.hudi, shared.path, "at the end")


def test_incremental_rows_are_the_same(shared: Shared) -> None:
    """Both give the rows of the commits after the first one, ours and Hudi's."""
    shared.by_us(shared.rows.slice(900), "bulk_insert")
    first = shared.hudi.show_commits(shared.path)[-1]["instant"]
    shared.by_hudi(delayed(sample(shared.rows, 1, 9), 1), "upsert")
    changed = delayed(sample(shared.rows, 2, 9), 2)
    shared.by_us(changed, "upsert")
    expected = {key: row for key, row in shared.oracle.rows.items() if row[PRECOMBINE] > 0 or key in by_key(changed)}
    found = by_key(shared.hudi.read(shared.path, "incremental", begin=first))
    assert_same(found, expected, "Hudi, incremental")
