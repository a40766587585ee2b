"""What two processes leave that both took the table lock for theirs, as only Hudi's or an earlier release's come to:
the next writer and validation say so, and nobody takes the commit for done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.contradictions import refuse_rolled_back_commits
from spark_jobs.core.transaction.transaction import schedule
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.run import validate
from spark_jobs.write.once import settle
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.support.payloads import stored
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

ONE, TWO = local.batch(0, 20, "one", 1), local.batch(0, 20, "two", 2)


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def path(request: pytest.FixtureRequest, root: Folder) -> Folder:
    local.create(root / "t", request.param)
    local.write(root / "t", ONE, "one")
    return root / "t"


def overlaps(path: Folder) -> list[str]:
    return [str(one) for one in validate(str(path), lake=path.lake) if one.invariant == 10]


def published_late(path: Folder) -> Instant:
    """A write that was rolled back while its process was suspended right before it made its completed file."""
    local.begin_and_leave(path, TWO)
    table = path.table()
    (pending,) = table.timeline.pending_writes()
    roll_back(table.transaction_settings(local.AT_ONCE), table.timeline, pending)
    done = pending.at(State.COMPLETED)
    stat = WriteStat(file_id="g-0", path="a/g-0_0-0-1_1.parquet", partition_path="a")
    metadata = CommitMetadata(
        write_stats=(stat,), operation_type=OperationType.UPSERT, extra_metadata={IDEMPOTENCY_KEY: "two"}
    )
    table.storage.create(table.timeline.path(done), stored(metadata.payload()))
    return done


def test_a_commit_that_was_taken_back_before_it_completed_is_never_done(path: Folder) -> None:
    late = published_late(path)
    table = path.table()
    settings = table.transaction_settings(local.AT_ONCE)
    refused = rf"^{late.timestamp} .* although rollback \d+ took it back: .*rollback.py --instant-time {late.timestamp}"
    others: list[Callable[[], object]] = [
        lambda: settle(settings, "two", print),
        lambda: local.write(path, TWO, "other"),
        lambda: schedule(settings, Action.COMPACTION, table.timeline, b""),
    ]
    for other in others:
        with pytest.raises(CorruptTableError, match=refused):
            other()
    (finding,) = overlaps(path)
    assert finding.startswith("ERROR")
    assert "two processes held the table lock" in finding

    run_rollback(RollbackOptions(base_path=str(path), instant_time=late.timestamp), job_context(lake=path.lake))
    local.write(path, TWO, "two")
    assert local.rows_of(path) == local.expected_rows(ONE, TWO)
    assert overlaps(path) == []


def test_a_plan_that_is_executed_again_after_its_rollback_is_no_contradiction(root: Folder) -> None:
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    for rows, key in ((ONE, "one"), (TWO, "two")):
        local.write(path, rows, key)
    table = path.table()
    settings = table.transaction_settings(local.AT_ONCE)
    local.compact(path)
    (compaction,) = table.refreshed().timeline.completed(Action.COMMIT)
    storage, line = table.storage, table.refreshed().timeline
    planned = Instant(compaction.timestamp, Action.COMPACTION, State.REQUESTED)
    plan = storage.read(line.path(planned))
    run_rollback(RollbackOptions(base_path=str(path), instant_time=compaction.timestamp), job_context(lake=root.lake))
    storage.create(line.path(planned), plan)
    local.compact(path)
    assert compaction in table.refreshed().timeline.instants
    assert settle(settings, "two", print) is not None
    local.write(path, ONE, "three")
    assert overlaps(path) == []


def test_of_two_that_rewrote_one_file_group_beside_each_other_the_later_is_named(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    first = local.write(path, ONE, "one")
    second = local.write(path, TWO, "two")
    third = local.write(path, local.batch(0, 20, "three", 3), "three")
    assert overlaps(path) == []
    table = path.table()
    (last,) = table.timeline.find(third)
    metadata = table.timeline.commit_metadata(last, table.clock)
    stats = tuple(replace(one, prev_commit=first) for one in metadata.write_stats)
    table.storage.replace(table.timeline.path(last), stored(replace(metadata, write_stats=stats).payload()))
    found = overlaps(path)
    assert len(found) == 2
    assert all(f"{third} made it from the file of {first}, beside {second}" in one for one in found)


def test_what_was_written_to_a_replaced_file_group_is_named(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    for rows, key in ((ONE, "one"), (TWO, "two")):
        local.write(path, rows, key)
    late = local.write(path, local.batch(0, 20, "three", 3), "three")
    table = path.table()
    (commit,) = table.timeline.find(late)
    groups = table.timeline.commit_metadata(commit, table.clock).touched_file_groups()
    before = table.timeline.completed_commits()[-2]
    time = f"{int(before.timestamp) + 1}"
    replaced = {partition: (file_id,) for partition, file_id in groups}
    metadata = CommitMetadata(operation_type=OperationType.CLUSTER, replaced_file_ids=replaced)
    line = table.timeline
    for state, data in ((State.REQUESTED, b""), (State.INFLIGHT, b""), (State.COMPLETED, stored(metadata.payload()))):
        table.storage.create(line.path(Instant(time, Action.REPLACE_COMMIT, state)), data)
    found = overlaps(path)
    assert len(found) == 2
    assert all(f"{late} wrote it to a file group that replacecommit {time} had replaced" in one for one in found)


def test_nobody_waits_for_a_rollback_that_hudi_left_empty(path: Folder) -> None:
    table = path.table()
    for state in State:
        empty = Instant(f"{int(table.timeline.last_time) + 1}", Action.ROLLBACK, state)
        file_at(table.storage, table.timeline.path(empty)).write_bytes(b"")
    clock = HandClock()
    before = clock.monotonic()
    refuse_rolled_back_commits(table.refreshed().timeline, clock)
    assert clock.monotonic() == before
