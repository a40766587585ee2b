"""Random batches of every operation on every kind of table, services in between, against a dict."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import COW, MOR, Jobs, Row, row, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROUNDS = 6
EVENT_TIME = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}


class Model:
    """What a table holds: one row for each (partition, key), the incoming one instead of the stored one.

    With ``event_time`` a stored row of a greater ordering value stays.
    """

    def __init__(self, *, event_time: bool) -> None:
        self.event_time = event_time
        self.rows: dict[tuple[str | None, int], Row] = {}

    def upsert(self, batch: list[Row]) -> None:
        newest: dict[tuple[str | None, int], Row] = {}
        for one in batch:
            key = (one["p"], one["id"])
            if key not in newest or one["ts"] >= newest[key]["ts"]:
                newest[key] = one
        for key, one in newest.items():
            stored = self.rows.get(key)
            if self.event_time and stored is not None and stored["ts"] > one["ts"]:
                continue
            if one["_hoodie_is_deleted"]:
                self.rows.pop(key, None)
            else:
                self.rows[key] = one

    def delete(self, batch: list[Row]) -> None:
        for one in batch:
            self.rows.pop((one["p"], one["id"]), None)


@pytest.mark.parametrize("partitions", [("p",), ()], ids=["partitioned", "flat"])
@pytest.mark.parametrize("event_time", [False, True], ids=["overwrite", "event_time"])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_random_batches(
    spark: SparkSession, tmp_path: Path, table_type: str, event_time: bool, partitions: tuple[str, ...]
) -> None:
    seed = f"{table_type} {event_time} {partitions}"
    choose = random.Random(seed)
    conf = EVENT_TIME if event_time else {}
    jobs = Jobs(
        spark=spark, path=tmp_path / "t", table_type=table_type, partitions=partitions, conf=conf, local_services=True
    )
    model = Model(event_time=event_time)
    letters = "abc" if partitions else "a"
    fresh = iter(range(10_000))

    def new(ts: int, how_many: int) -> list[Row]:
        return [row(next(fresh), choose.choice(letters), f"new {ts}", ts) for _ in range(how_many)]

    first = new(1, 30)
    jobs.write("bulk_insert", first)
    model.upsert(first)
    for ts in range(2, 2 + ROUNDS):
        op = choose.choice(["upsert", "upsert", "upsert", "insert", "bulk_insert", "delete"])
        stored = list(model.rows.values())
        batch: list[Row]
        if op in ("insert", "bulk_insert"):
            batch = new(ts, 5)
            jobs.write(op, batch)
            model.upsert(batch)
        elif op == "delete":
            batch = [*choose.sample(stored, min(6, len(stored))), row(99_999, "a", None, ts)]
            jobs.write(op, batch)
            model.delete(batch)
        else:
            batch = upserts(choose, stored, ts, late=event_time) + new(ts, 4)
            batch.append(row(88_888, "a", None, ts, deleted=True))  # a deletion of what was never there
            choose.shuffle(batch)
            jobs.write(op, batch)
            model.upsert(batch)
        expect(jobs, model, f"{seed}: {op} {ts}")
        serve(choose, jobs)
        expect(jobs, model, f"{seed}: services after {op} {ts}")


def upserts(choose: random.Random, stored: list[Row], ts: int, *, late: bool) -> list[Row]:
    """Changes of stored rows: newer ones, ties with the stored ordering value, deletes, two for a key, late ones."""
    batch: list[Row] = []
    for one in choose.sample(stored, min(12, len(stored))):
        kind = choose.choice(["newer", "tie", "delete", "twice", "late"])
        changed: dict[str, Any] = {**one, "v": f"{kind} {ts}"}
        if kind == "newer":
            batch.append({**changed, "ts": ts})
        elif kind == "tie":
            batch.append(changed)
        elif kind == "delete":
            batch.append({**changed, "ts": ts, "_hoodie_is_deleted": True})
        elif kind == "twice":
            batch += [{**changed, "ts": ts - 1, "v": "older of two"}, {**changed, "ts": ts}]
        elif late:
            batch.append({**changed, "ts": one["ts"] - 1})
    return batch


def serve(choose: random.Random, jobs: Jobs) -> None:
    service = choose.choice(["compact", "cluster", "clean", "none"])
    if service == "compact" and jobs.table_type == MOR:
        jobs.compact()
    elif service == "cluster":
        jobs.cluster()
    elif service == "clean":
        jobs.clean()


def expect(jobs: Jobs, model: Model, when: str) -> None:
    assert jobs.rows() == shown(model.rows.values()), when
