"""What a write is called in the error table: as a retry of it is, also one that reads a live source further."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.lake import Lake
from spark_jobs.core.timeline.checkpoint import CheckpointMove, CheckpointOrders, StoredCheckpoint
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import resolve
from spark_jobs.write.error_table import ErrorOrigin, ErrorTable

pytestmark = pytest.mark.unit


def origin(key: str | None = None, move: CheckpointMove | None = None, instant: str = "1") -> ErrorOrigin:
    options = IngestOptions(
        base_path="/nowhere/t", table_name="t", record_key_fields=("id",), precombine_field="ts", idempotency_key=key
    )
    return ErrorOrigin.of(replace(resolve(options, None, Lake()), checkpoint=move), instant)


def move(before: str, after: str, reset: str | None = None) -> CheckpointMove:
    stored = StoredCheckpoint(value=before, reset="", ignored="")
    return CheckpointMove(before=stored, after=after, orders=CheckpointOrders(reset=reset))


def test_a_write_without_a_name_comes_once() -> None:
    first, second = origin(), origin(instant="2")
    assert not first.may_come_again
    assert first.write != second.write
    assert first.start != second.start


def test_a_retry_of_a_named_write_is_the_same() -> None:
    assert origin("k") == origin("k", instant="2")
    assert origin("k").may_come_again
    assert origin("k").start != origin("other").start


def test_of_a_source_with_a_checkpoint_a_retry_begins_where_the_first_did() -> None:
    first = origin("k/t,0:5", move("t,0:2", "t,0:5"))
    further = origin("k/t,0:7", move("t,0:2", "t,0:7"), instant="2")
    assert first.may_come_again
    assert (first.start, first.write != further.write) == (further.start, True)
    assert first.start == origin(None, move("t,0:2", "t,0:5")).start
    assert first.start != origin("k/t,0:7", move("t,0:5", "t,0:7")).start
    assert first.start != origin("k/t,0:5", move("t,0:2", "t,0:5", reset="t,0:0")).start
    followed = replace(move("t,0:2", "t,0:5"), before=StoredCheckpoint(value="t,0:2", reset="t,0:0", ignored=""))
    again = replace(followed, orders=CheckpointOrders(reset="t,0:0"))  # an order that is no news
    assert origin(None, followed).start == origin(None, again).start


def test_the_error_table_is_written_under_the_lock_of_the_write_and_by_none_of_its_other_settings() -> None:
    lock = {"hoodie.write.lock.wait_time_ms": "1000", "pyhudi.lock.lease_ms": "5000", "pyhudi.durable": "false"}
    others = {"pyhudi.errortable.max.errors": "3", "pyhudi.archive.lost.before": "1", "hoodie.index.type": "BLOOM"}
    table = ErrorTable(base_path="/nowhere/e", name="e", most=None, properties={**lock, **others})
    found = table.options(origin("k"), "digest").hoodie_properties()
    assert {name: found.get(name) for name in (*lock, *others)} == {**lock, **dict.fromkeys(others)}
