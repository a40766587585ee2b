"""Writes put together by hand that leave nothing behind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.schema.meta_fields import PARTITION_PATH
from spark_jobs.core.table import HudiTable
from tests.support.folder import file_at
from tests.unit.core.support import complete, context_of, next_time, rows, scope, start
from tests.unit.services import by_hand


def insert(table: HudiTable, *keys: str) -> None:
    by_hand.insert(table, *keys)
    sweep(table)


def change(table: HudiTable, key: str, *, delete: bool = False, partition: str = "p") -> None:
    time = next_time(table)
    work = start(table, time)
    view = table.refreshed().view()
    home = min(view.latest_slices(), key=lambda one: one.base_instant)  # the group of the first three keys
    context, target = context_of(table, time), append_target(view, home, None)
    stamped = stamp(rows((key, 9, time), partition="p"), context, scope(), "p", "")
    place = stamped.schema.get_field_index(PARTITION_PATH)
    stamped = stamped.set_column(place, stamped.schema.field(place), pa.array([partition], pa.string()))
    changes = Changes(stamped, np.array([delete]))
    complete(table, work, append_changes(context, scope(), target, changes, hard_deletes=False))
    sweep(table)


def sweep(table: HudiTable) -> None:
    """What the end of a write does, which the writes here don't have."""
    for one in file_at(table.storage, table.base_path, ".hoodie", ".temp").iterdir():
        one.remove()
