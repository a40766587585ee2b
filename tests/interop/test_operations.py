"""Overwrites, deleted partitions and inserts by real Hudi and by us on one table, in turn; and the same replace commit
by both, side by side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from tests.interop.flights import KEY, PARTITION, Oracle, delayed, flights, revise, sample
from tests.interop.ours import Ours
from tests.interop.real_hudi import RealHudi
from tests.interop.shared import Shared
from tests.interop.tending import tended_by_hudi

PARTITIONS_TO_DELETE = "hoodie.datasource.write.partitions.to.delete"


class Replaced(Shared):
    """A table whose oracle knows what overwrites do."""

    def ours_does(self, rows: pa.Table, operation: str, **options: str) -> None:
        self.ours.write(self.path, rows, operation, table_type=self.table_type, options=options)
        self._expect(rows, operation, **options)
        self.check(f"after our {operation}")

    def hudi_does(self, rows: pa.Table, operation: str, **options: str) -> None:
        self.hudi.write(self.path, rows, operation, {**self.hudi_options, **options})
        self._expect(rows, operation, **options)
        self.check(f"after Hudi's {operation}")

    def _expect(self, rows: pa.Table, operation: str, **options: str) -> None:
        months = {str(one) for one in rows[PARTITION].unique().to_pylist()}
        if operation == "insert_overwrite_table":
            self.oracle = Oracle()
        elif operation in ("insert_overwrite", "delete_partition"):
            gone = set(options.get(PARTITIONS_TO_DELETE, "").split(",")) - {""} or months
            for key in [key for key in self.oracle.rows if str(key[KEY.index(PARTITION)]) in gone]:
                self.oracle.rows.pop(key)
        if operation == "delete_partition":
            return
        super()._expect(rows, operation)


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, real_hudi: RealHudi, ours: Ours) -> Replaced:
    rows = flights((1, 2, 3), one_in=150)
    return Replaced(path=tmp_path / "flights", table_type=request.param, hudi=real_hudi, ours=ours, rows=rows)


def of_month(rows: pa.Table, month: int) -> pa.Table:
    return rows.filter(pc.equal(rows[PARTITION], month))


def test_hudi_goes_on_where_we_replaced(shared: Replaced) -> None:
    rows = shared.rows
    shared.ours_does(sample(rows, 0, 2), "bulk_insert", **{"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"})
    shared.hudi_does(delayed(sample(rows, 0, 3), 1), "upsert")
    shared.ours_does(delayed(sample(of_month(rows, 1), 0, 3), 2), "insert_overwrite")
    shared.hudi_does(delayed(sample(rows, 0, 3), 3), "upsert")
    shared.ours_does(rows.slice(0, 1), "delete_partition", **{PARTITIONS_TO_DELETE: "2"})
    shared.hudi_does(revise(sample(of_month(rows, 2), 0, 5), 4), "insert")
    tended_by_hudi(shared.hudi, shared.path)
    shared.check("after Hudi tended it")
    shared.ours_does(delayed(sample(rows, 1, 4), 5), "insert_overwrite_table")
    shared.hudi_does(delayed(sample(rows, 0, 3), 6), "upsert")  # which rewrites small files, and makes no logs
    tended_by_hudi(shared.hudi, shared.path, compacts=False)
    shared.check("at the end")


def test_we_go_on_where_hudi_replaced(shared: Replaced) -> None:
    rows = shared.rows
    shared.hudi_does(sample(rows, 0, 2), "bulk_insert", **{"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"})
    shared.ours_does(delayed(sample(rows, 0, 3), 1), "upsert")
    shared.hudi_does(delayed(sample(of_month(rows, 1), 0, 3), 2), "insert_overwrite")
    shared.ours_does(delayed(sample(rows, 0, 3), 3), "upsert")
    shared.hudi_does(rows.slice(0, 1), "delete_partition", **{PARTITIONS_TO_DELETE: "2"})
    shared.ours_does(revise(sample(of_month(rows, 2), 0, 5), 4), "insert")
    if shared.merge_on_read:
        shared.ours.compact(shared.path)
    shared.ours.clean(shared.path)
    shared.check("after our services")
    shared.hudi_does(delayed(sample(rows, 1, 4), 5), "insert_overwrite_table")
    shared.ours_does(delayed(sample(rows, 0, 3), 6), "upsert")
    shared.ours.clean(shared.path)
    shared.check("at the end")


@pytest.mark.parametrize("shared", ["MERGE_ON_READ"], indirect=True)
def test_a_replace_commit_says_what_hudis_says(shared: Replaced, tmp_path: Path) -> None:
    """The three files of each replacement, ours on one table and Hudi's on a copy of it."""
    rows = shared.rows
    found: dict[str, list[Any]] = {"ours": [], "hudi": []}
    for who in found:
        shared.path = tmp_path / who
        shared.hudi.write(shared.path, sample(rows, 0, 2), "bulk_insert", shared.hudi_options)
        steps: list[tuple[pa.Table, str, Mapping[str, str]]] = [
            (sample(of_month(rows, 1), 0, 3), "insert_overwrite", {}),
            (rows.slice(0, 1), "delete_partition", {PARTITIONS_TO_DELETE: "2*"}),
            (sample(rows, 0, 9), "insert_overwrite_table", {}),
        ]
        for given, operation, options in steps:
            if who == "ours":
                shared.ours.write(shared.path, given, operation, table_type=shared.table_type, options=options)
            else:
                shared.hudi.write(shared.path, given, operation, {**shared.hudi_options, **options})
            found[who].append(said(shared.path))
    assert found["ours"] == found["hudi"]


def said(path: Path) -> dict[str, Any]:
    """The newest replace commit, without what differs between two writes: ids, names, sizes."""
    table = HudiTable.open(str(path))
    timeline = table.timeline
    done = timeline.completed(Action.REPLACE_COMMIT)[-1]
    inflight = json.loads(timeline.read(done.at(State.INFLIGHT)))
    completed = json.loads(timeline.read(done))
    stats = [one for some in completed["partitionToWriteStats"].values() for one in some]
    return {
        "requested": timeline.payload(done.at(State.REQUESTED), table.clock),
        "inflight": {key: value for key, value in inflight.items() if key != "partitionToWriteStats"},
        "profile": {
            partition: [(one["fileId"], one["prevCommit"], one["numInserts"], one["path"]) for one in some]
            for partition, some in inflight["partitionToWriteStats"].items()
        },
        "completed": sorted(completed),
        "schema": bool(completed["extraMetadata"].get("schema")),
        "extra": sorted(completed["extraMetadata"]),
        "operation": completed["operationType"],
        "compacted": completed["compacted"],
        "replaced": {partition: len(ids) for partition, ids in sorted(completed["partitionToReplaceFileIds"].items())},
        "stats": sorted(
            (one["partitionPath"], one["prevCommit"], one["numInserts"], one["numWrites"]) for one in stats
        ),
        "fields": sorted({name for one in stats for name in one}),
    }
