"""Who yields to whom, and when it is asked, by the keys that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import pytest

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.folders import MARKER_FOLDER
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.rules import Change
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.options.service import ClusteringOptions
from spark_jobs.services.clustering.job import run_clustering
from tests.faults import local_table as local
from tests.support.beside import before_it_publishes
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit
EARLY = {"hoodie.write.concurrency.early.conflict.detection.enable": "true"}
STRATEGY = "hoodie.write.lock.conflict.resolution.strategy"
PREFER = {STRATEGY: "org.apache.hudi.client.transaction.PreferWriterConflictResolutionStrategy"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
FIRST, OTHERS = local.batch(0, 4, "first", 1), local.batch(10, 4, "others", 1)
MINE, YOURS = local.batch(0, 2, "mine", 5), local.batch(2, 2, "yours", 6)
KINDS = pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])


def of_one_partition(own: Change, other: Change) -> bool:
    """What a user may ask for."""
    return bool(own.partitions & other.partitions)


def failing(own: Change, other: Change) -> bool:
    raise KeyError(other.instant)


def settings(*some: Mapping[str, str]) -> dict[str, Any]:
    given = {**local.WRITES, **local.AT_ONCE}
    for one in some:
        given |= one
    return {"hoodie_conf": given}


@KINDS
@pytest.mark.parametrize("conf", [{}, BUCKETS], ids=["groups", "buckets"])
def test_of_two_writers_of_a_file_group_the_later_one_ends_before_its_first_file(
    root: Folder, kind: str, conf: dict[str, str]
) -> None:
    table = local.create(root / "t", kind)
    table.upsert(FIRST, **settings(conf))
    said, marked = list[str](), list[list[str]]()

    def another() -> None:
        with pytest.raises(WriteConflictError, match=r"both changed .* file group") as caught:
            table.refreshed().upsert(YOURS, **settings(conf, EARLY))
        said.append(str(caught.value))
        marked.append([one.path for one in table.storage.list(f"{table.base_path}/{MARKER_FOLDER}")])

    with before_it_publishes(another):
        done = table.refreshed().upsert(MINE, **settings(conf))
    assert f"run it again when {done.instant} is completed" in said[0]
    assert marked[0] == [f"{table.base_path}/{MARKER_FOLDER}/{done.instant}"]
    table.refreshed().upsert(YOURS, **settings(conf, EARLY))
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST, MINE, YOURS)
    assert local.problems_of(root / "t") == []


def test_a_bucket_that_two_writers_begin(root: Folder) -> None:
    """No inflight file has the ids of new file groups: markers do."""
    table = local.create(root / "t", "COPY_ON_WRITE")

    def another() -> None:
        with pytest.raises(WriteConflictError, match=r"run it again when"):
            table.refreshed().upsert(YOURS, **settings(BUCKETS, EARLY))

    with before_it_publishes(another):
        table.upsert(FIRST, **settings(BUCKETS))
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST)


def test_the_earlier_one_goes_on(root: Folder) -> None:
    """And without the key the first to publish wins."""
    table = local.create(root / "t", "COPY_ON_WRITE")
    table.upsert(FIRST, **settings())
    to_inflight = Transaction.to_inflight

    def after_another(self: Transaction, *given: Any) -> None:
        with patch.object(Transaction, "to_inflight", to_inflight):
            table.refreshed().upsert(YOURS, **settings())
        to_inflight(self, *given)

    with (
        patch.object(Transaction, "to_inflight", after_another),
        pytest.raises(WriteConflictError, match=r"run it again$"),
    ):
        table.refreshed().upsert(MINE, **settings(EARLY))
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST, YOURS)


def run_clusterings(table: HudiTable, mode: str, conf: Mapping[str, str], instant: str | None = None) -> Any:
    given = tuple({**local.AT_ONCE, **conf}.items())
    options = ClusteringOptions(base_path=table.url, mode=mode, instant_time=instant, hoodie_conf=given)
    return run_clustering(options, job_context(lake=table.lake))


@KINDS
def test_a_clustering_yields_to_a_write_under_way(root: Folder, kind: str) -> None:
    table = local.create(root / "t", kind)
    table.upsert(FIRST, **settings())
    table.upsert(OTHERS, **settings())
    plan = run_clusterings(table, "schedule", {}).instant
    said = list[str]()

    def execute() -> None:
        with pytest.raises(WriteConflictError, match=r"both changed 1 file group") as caught:
            run_clusterings(table, "execute", PREFER)
        said.append(str(caught.value))

    with before_it_publishes(execute):
        done = table.refreshed().upsert(MINE.slice(0, 1), **settings(PREFER))
    assert str(done.instant) in said[0]
    assert f"--mode cancel --instant-time {plan}" in said[0]
    expected = local.expected_rows(FIRST, OTHERS, MINE.slice(0, 1))
    assert local.rows_in(table.refreshed()) == expected
    run_clusterings(table, "cancel", {}, plan)
    run_clusterings(table, "scheduleAndExecute", PREFER)
    assert local.rows_in(table.refreshed()) == expected
    assert local.problems_of(root / "t") == []


def test_a_function_refuses_more(root: Folder) -> None:
    table = local.create(root / "t", "COPY_ON_WRITE")
    table.upsert(FIRST, **settings())
    table.upsert(OTHERS, **settings())
    own = {STRATEGY: f"{__name__}:of_one_partition"}

    def another() -> None:
        table.refreshed().upsert(OTHERS.slice(0, 1), **settings())  # in partition a, in a file group of its own

    with before_it_publishes(another):
        table.refreshed().upsert(MINE.slice(1, 1), **settings(own))
    with (
        before_it_publishes(another),
        pytest.raises(WriteConflictError, match=r"may not be published beside .*, says .*:of_one_partition"),
    ):
        table.refreshed().upsert(MINE.slice(0, 1), **settings(own))
    with before_it_publishes(another):
        table.refreshed().upsert(MINE.slice(0, 1), **settings())


def test_a_function_that_is_not_there_or_fails(root: Folder) -> None:
    table = local.create(root / "t", "COPY_ON_WRITE")
    table.upsert(FIRST, **settings())
    before = table.refreshed().timeline.instants
    for name in ("nowhere:function", f"{__name__}:nothing"):
        with pytest.raises(ConfigError, match=r"conflict resolution"):
            table.refreshed().upsert(MINE, **settings({STRATEGY: name}))
    assert table.refreshed().timeline.instants == before

    def another() -> None:
        table.refreshed().upsert(OTHERS, **settings())

    with before_it_publishes(another), pytest.raises(ConfigError, match=r":failing failed for .* KeyError"):
        table.refreshed().upsert(MINE, **settings({STRATEGY: f"{__name__}:failing"}))
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST, OTHERS)


def test_another_class_is_refused(root: Folder) -> None:
    table = local.create(root / "t", "COPY_ON_WRITE")
    with pytest.raises(ConfigError, match=r"conflict\.resolution\.strategy"):
        table.upsert(FIRST, **settings({STRATEGY: "com.example.Mine"}))
