"""Upserts that append to one file group at the same time, and what they may not do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.support.beside import at_the_same_time
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
NON_BLOCKING = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
BY_TIME = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
CONF = {**local.WRITES, **local.AT_ONCE, **BUCKETS, **NON_BLOCKING}
NUMBERS = count()
FIRST = local.batch(0, 8, "first", 100)


def create(path: Folder, **more: Any) -> HudiTable:
    asked = {
        "table_type": "MERGE_ON_READ",
        "precombine_field": "ts",
        "payload_class": BY_TIME,
        **more,
    }
    return HudiTable.create(
        str(path), name="t", record_key_fields=["id"], partition_fields=["p"], lake=path.lake, **asked
    )


def upsert(table: HudiTable, rows: pa.Table, conf: dict[str, str] = CONF) -> str:
    return str(table.refreshed().upsert(rows, hoodie_conf=conf).instant)


def together(table: HudiTable, batches: Sequence[pa.Table], conf: dict[str, str] = CONF) -> None:
    at_the_same_time([partial(upsert, table, rows, conf) for rows in batches])


def by_time(*batches: pa.Table) -> list[tuple[object, ...]]:
    return local.expected_rows(pa.concat_tables(batches).sort_by("ts"))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=2, max_size=4),
    times=st.permutations(range(90, 130)),
)
def test_the_greatest_ordering_value_wins(root: Folder, keys: list[set[int]], times: list[int]) -> None:
    path = root / f"t{next(NUMBERS)}"
    table = create(path)
    upsert(table, FIRST)
    left = list(times)
    batches = [
        pa.table(
            {
                "id": sorted(ids),
                "p": [local.PARTITIONS[one % 2] for one in sorted(ids)],
                "v": [f"writer {writer}"] * len(ids),
                "ts": [left.pop() for _ in ids],
            },
            schema=local.SCHEMA,
        )
        for writer, ids in enumerate(keys)
    ]
    together(table, batches)
    expected = by_time(FIRST, *batches)
    assert local.rows_in(table.refreshed()) == expected
    local.compact(path)
    assert local.rows_in(table.refreshed()) == expected
    assert local.problems_of(path) == []


def test_without_it_they_conflict(root: Folder) -> None:
    table = create(root / "t")
    upsert(table, FIRST)
    conf = {name: value for name, value in CONF.items() if name not in NON_BLOCKING}
    with pytest.raises(WriteConflictError):
        together(table, [local.batch(0, 1, "one", 110), local.batch(0, 1, "two", 111)], conf)


@pytest.mark.parametrize("deletes", [0, 1])
def test_a_delete_is_a_conflict(root: Folder, deletes: int) -> None:
    """Of whichever: a record that is older than it, and read later, would be there again."""
    table = create(root / "t")
    flags = FIRST.append_column("_hoodie_is_deleted", pa.array([False] * FIRST.num_rows))
    upsert(table, flags)
    two = [
        local.batch(0, 1, name, 110).append_column("_hoodie_is_deleted", pa.array([place == deletes]))
        for place, name in enumerate(("one", "two"))
    ]
    with pytest.raises(WriteConflictError, match="both changed 1 file group"):
        together(table, two)


def test_a_bucket_that_both_begin_is_a_conflict(root: Folder) -> None:
    table = create(root / "t")
    with pytest.raises(WriteConflictError, match="both changed"):
        together(table, [local.batch(0, 1, "one", 110), local.batch(0, 1, "two", 111)])
    assert local.rows_in(table.refreshed()) == local.expected_rows(local.batch(0, 1, "two", 111))


@pytest.mark.parametrize(
    ("made", "conf", "why"),
    [
        ({"table_type": "COPY_ON_WRITE"}, {}, "is no MERGE_ON_READ table"),
        ({}, {"hoodie.index.type": "BLOOM"}, "has the index BLOOM, not BUCKET"),
        ({"payload_class": ""}, {}, "has the payload OverwriteWithLatestAvroPayload"),
        ({"precombine_field": ""}, {}, "has no precombine field"),
    ],
)
def test_tables_that_do_not_allow_it(root: Folder, made: dict[str, Any], conf: dict[str, str], why: str) -> None:
    table = create(root / "t", **made)
    with pytest.raises(ConfigError, match=rf"can't be served: table t {why}.*optimistic_concurrency_control"):
        upsert(table, FIRST, {**CONF, **conf})
    assert table.refreshed().timeline.instants == ()
