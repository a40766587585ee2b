"""Compaction of slices that have logs alone, whose file ids may be of other writers' forms."""

from __future__ import annotations

import numpy as np
import pytest

from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.merge.changes import Changes
from spark_jobs.services.compaction.execute import Compactor
from tests.support.folder import Folder
from tests.unit.core.support import complete, contents, context_of, new_table, rows, scope, start

pytestmark = pytest.mark.unit

T1, T2 = "20240101000000001", "20240101000000002"


@pytest.mark.parametrize(
    "file_id",
    [
        "11111111-2222-3333-4444-55555555000a",  # Flink's: no suffix
        "11111111-2222-3333-4444-555555550001-007",
        "00000003-2222-3333-4444-555555550001",  # a bucket's
        "plain",
    ],
)
def test_the_base_file_has_the_file_id_of_the_logs(root: Folder, file_id: str) -> None:
    table = new_table(root / "t")
    first = start(table, T1)
    target = AppendTarget(partition="p", file_id=file_id, base_instant=T1, base_file="", log_names=(), next_version=1)
    context = context_of(table, T1)
    given = stamp(rows(("a", 1, "x"), ("b", 1, "y"), partition="p"), context, scope(), "p", file_id)
    changes = Changes(given, np.array([False, False]))
    [stat] = append_changes(context, scope(), target, changes, hard_deletes=False)
    complete(table, first, [stat])
    (one,) = table.refreshed().file_slices()
    assert (one.file_id, one.base_file) == (file_id, None)
    work = start(table, T2)
    compactor = Compactor(context=context_of(table, T2, max_file_size=1), reader=table.refreshed().scan().reader())
    (made,) = compactor(one, scope(1))
    assert made.file_id == file_id
    complete(table, work, [made])
    (one,) = table.refreshed().file_slices()
    assert (one.file_id, one.base_instant, one.log_files) == (file_id, T2, ())
    assert contents(table) == [("a", 1, "x"), ("b", 1, "y")]
