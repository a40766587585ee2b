"""Two attempts of one task: speculation, or a stage that runs again.

Each names the same file groups, and of their files those of one attempt are left when the write is published.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.files.log_writer import schema_text
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.append import append_target
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.write.routes import AppendRoute, CreateRoute, MergeRoute, Route
from spark_jobs.write.tasks import BUCKET, RecordRules, bulk_insert_batches, write_buckets
from tests.support.folder import Folder, file_at
from tests.unit.core.support import AVRO, context_of, new_table, rows

pytestmark = pytest.mark.unit

SEED = "00000000-0000-0000-0000-00000000000a"
PREFIX = "00000000-0000-0000-0000-0000000000ff"
RULES = RecordRules(combine=True, all_deleted=False)


def scope(attempt: int) -> TaskScope:
    return TaskScope(3, f"3-7-{attempt}")


@pytest.fixture(params=[False, True], ids=["cow", "mor"])
def table(request: pytest.FixtureRequest, root: Folder) -> HudiTable:
    """With one file group in partition a: the keys k0 to k3."""
    made = new_table(root / "t", merge_on_read=request.param, clock=SYSTEM_CLOCK)
    transaction = started(made)
    stats = list(
        write_buckets(
            routed(0, "old"), context_of(made, transaction.time), scope(1), {0: CreateRoute("a", PREFIX)}, RULES
        )
    )
    publish(made, transaction, stats)
    return made


def started(table: HudiTable, action: Action | None = None) -> Transaction:
    plain = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    transaction = begin(table.transaction_settings({}), action or plain)
    assert transaction is not None
    transaction.to_inflight()
    return transaction


def publish(
    table: HudiTable,
    transaction: Transaction,
    stats: list[WriteStat],
    replaced: dict[str, tuple[str, ...]] | None = None,
) -> None:
    metadata = CommitMetadata(
        write_stats=tuple(stats),
        operation_type=OperationType.UPSERT if replaced is None else OperationType.INSERT_OVERWRITE,
        extra_metadata={SCHEMA_KEY: schema_text(AVRO)},
        replaced_file_ids=replaced,
    )
    transaction.publish(metadata.payload(), written=written_paths(stats))


def routed(bucket: int, value: str, keys: range = range(4)) -> Iterator[pa.RecordBatch]:
    for key in keys:
        batch = rows((f"k{key}", 1, value)).to_batches()[0]
        yield batch.append_column(BUCKET, pa.array(np.full(1, bucket, np.int32)))


def data_files(table: HudiTable) -> set[str]:
    base = file_at(table.storage, table.base_path)
    return {str(one.relative_to(base)) for one in base.glob("[a-z]/*") if "metadata" not in one.name}


def held(table: HudiTable) -> dict[str, str]:
    found = table.refreshed().scan().to_arrow()
    return dict(zip(found.column("id").to_pylist(), found.column("value").to_pylist(), strict=True))


def route_of(table: HudiTable, kind: str) -> Route:
    view = table.refreshed().view()
    (one,) = view.latest_slices()
    if kind == "append":
        return AppendRoute(append_target(view, one, None))
    assert one.base_file is not None
    return CreateRoute("a", SEED) if kind == "create" else MergeRoute(one.base_file, concatenate=kind == "concatenate")


@pytest.mark.parametrize("kind", ["create", "merge", "concatenate", "append"])
@pytest.mark.parametrize("kept", [0, 1])
def test_one_attempt_of_a_handle_is_left(table: HudiTable, kind: str, kept: int) -> None:
    """Both ran to their end; Spark tells the driver of either."""
    if kind == "append" and not table.config.is_merge_on_read:
        pytest.skip("no logs on COPY_ON_WRITE")
    transaction = started(table)
    context = context_of(table, transaction.time)
    keys = range(4, 8) if kind in ("create", "concatenate") else range(4)
    routes = {5: route_of(table, kind)}
    before = data_files(table)
    attempts = [list(write_buckets(routed(5, "new", keys), context, scope(n), routes, RULES)) for n in (11, 12)]
    assert [one.file_id for one in attempts[0]] == [one.file_id for one in attempts[1]]
    assert len(data_files(table) - before) == 2
    publish(table, transaction, attempts[kept])
    assert data_files(table) - before == written_paths(attempts[kept])
    old = {f"k{key}": "old" for key in range(4)}
    assert held(table) == {**old, **{f"k{key}": "new" for key in keys}}


@pytest.mark.parametrize("replaces", [False, True], ids=["bulk_insert", "insert_overwrite"])
def test_a_rerun_that_gets_its_records_in_another_order_names_the_same_groups(table: HudiTable, replaces: bool) -> None:
    """A stage that was computed again may shuffle otherwise: its batches come in another order."""
    old = [one.file_id for one in table.refreshed().file_slices()]
    transaction = started(table, Action.REPLACE_COMMIT if replaces else None)
    context = context_of(table, transaction.time)
    given = [rows((f"n{number}", 1, "new"), partition="ab"[number % 2]).to_batches()[0] for number in range(6)]
    before = data_files(table)
    attempts = [
        list(bulk_insert_batches(iter(some), context, scope(n), SEED, RULES))
        for n, some in ((11, given), (12, list(reversed(given))))
    ]
    assert {one.file_id for one in attempts[0]} == {one.file_id for one in attempts[1]}
    publish(table, transaction, attempts[1], {"a": tuple(old)} if replaces else None)
    assert data_files(table) - before == written_paths(attempts[1])
    kept = {} if replaces else {f"k{key}": "old" for key in range(4)}
    assert held(table) == {**kept, **{f"n{number}": "new" for number in range(6)}}


def test_an_attempt_that_died_half_way_leaves_nothing(table: HudiTable) -> None:
    transaction = started(table)
    context = context_of(table, transaction.time)
    before = data_files(table)

    def broken() -> Iterator[pa.RecordBatch]:
        yield from rows(("x", 1, "lost"), partition="b").to_batches()
        raise ConnectionError("the executor is gone")

    with pytest.raises(ConnectionError):
        list(bulk_insert_batches(broken(), context, scope(11), SEED, RULES))
    whole = rows(("x", 1, "new"), partition="b").to_batches()
    stats = list(bulk_insert_batches(iter(whole), context, scope(12), SEED, RULES))
    publish(table, transaction, stats)
    assert data_files(table) - before == written_paths(stats)


@pytest.mark.parametrize("kind", ["create", "append"])
def test_an_attempt_that_outlives_the_write_takes_its_file_away(table: HudiTable, kind: str) -> None:
    if kind == "append" and not table.config.is_merge_on_read:
        pytest.skip("no logs on COPY_ON_WRITE")
    transaction = started(table)
    context = context_of(table, transaction.time)
    routes = {5: route_of(table, kind)}
    stats = list(write_buckets(routed(5, "new"), context, scope(11), routes, RULES))
    publish(table, transaction, stats)
    after = data_files(table)
    late = list(write_buckets(routed(5, "new"), context, scope(12), routes, RULES))
    assert data_files(table) - after == written_paths(
        late
    )  # made under a marker of its own, so the next writer finds it
    roll_back_failed_writes(table.refreshed().transaction_settings({}))
    assert data_files(table) == after


def test_a_marker_that_went_while_the_file_was_made_takes_the_file_with_it(
    table: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = started(table)
    context = context_of(table, transaction.time)
    before = data_files(table)
    plain = type(context).prepare

    def publish_first(self: object, *arguments: object) -> object:
        path = plain(self, *arguments)  # type: ignore[arg-type]
        publish(table, transaction, [])
        return path

    monkeypatch.setattr(type(context), "prepare", publish_first)
    with pytest.raises(WriteConflictError, match="ended while a task of it still wrote"):
        list(write_buckets(routed(5, "new"), context, scope(12), {5: CreateRoute("a", SEED)}, RULES))
    assert data_files(table) == before
