"""A write that is told of other buckets than those of the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.index.bucket_check import refuse_other_buckets
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import bucket_ids, file_id_of
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.rewriting.context import slice_reader
from tests.support.folder import Folder
from tests.unit.core.support import complete, context_of, new_table, rows, scope, start

pytestmark = pytest.mark.unit

TIME = "20240101000000000"
KEYS = [f"k{number}" for number in range(40)]


def bucketed(path: Folder, *, in_logs: bool) -> HudiTable:
    """The keys in four buckets, of base files or of logs alone."""
    table = new_table(path / "t", merge_on_read=in_logs, clock=SYSTEM_CLOCK)
    work = start(table, TIME, Action.DELTA_COMMIT if in_logs else Action.COMMIT)
    context = context_of(table, TIME)
    buckets = bucket_ids(pa.array(KEYS), ("id",), 4)
    stats: list[WriteStat] = []
    for bucket in range(4):
        file_id = file_id_of(bucket, SYSTEM_CLOCK.new_uuid())
        records = rows(*((KEYS[place], 1, "v") for place in np.flatnonzero(buckets == bucket)))
        if in_logs:
            target = AppendTarget(
                partition="a", file_id=file_id, base_instant=TIME, base_file="", log_names=(), next_version=1
            )
            changes = Changes(stamp(records, context, scope(), "a", ""), np.zeros(len(records), bool))
            stats += append_changes(context, scope(), target, changes, hard_deletes=False)
        else:
            handle = CreateHandle(context, scope(), "a", file_id)
            handle.write(records)
            stats += [*handle.close()]
    complete(table, work, stats)
    return table.refreshed()


@pytest.mark.parametrize("in_logs", [False, True], ids=["base files", "logs"])
@pytest.mark.parametrize("told", [4, 8, 12, 5])
def test_only_the_number_of_the_table_is_taken(root: Folder, told: int, in_logs: bool) -> None:
    table = bucketed(root, in_logs=in_logs)
    slices = table.view(["a"]).latest_slices()
    assert all((one.base_file is None) is in_logs for one in slices)
    reader = slice_reader(table, context_of(table, "1"), {})
    settings = BucketSettings(buckets=told, fields=("id",))
    if told == 4:
        refuse_other_buckets(reader, slices, settings)
    else:
        with pytest.raises(ConfigError, match=rf"hoodie.bucket.index.num.buckets is {told}, by which key 'k\d+' is"):
            refuse_other_buckets(reader, slices, settings)


def test_a_table_without_records_has_no_number_yet(root: Folder) -> None:
    table = new_table(root / "t", clock=SYSTEM_CLOCK)
    refuse_other_buckets(slice_reader(table, context_of(table, "1"), {}), [], BucketSettings(buckets=8, fields=("id",)))
