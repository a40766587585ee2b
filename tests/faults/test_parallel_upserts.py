"""Three processes upsert sources with keys in common, which the table lacks, before any of them is published."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.services.validation.run import validate
from spark_jobs.write.direct import write as tasks_of_write
from spark_jobs.write.tasks import write_buckets
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.forks import begun_in_fork

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]

SOURCES = [local.batch(first, 20, f"v{first}", 1) for first in (0, 10, 20)]
MOST_TRIES = 5


def upsert(path: Folder, number: int, placed: Path) -> None:
    """As a task does that is run again while its writes are refused; the first one waits until all others have placed
    their rows, too.

    :param placed: a folder, in which each says so.
    """
    waited = False

    def together(batches: Iterator[pa.RecordBatch], context: WriteContext, *others: Any) -> Any:
        nonlocal waited
        if not waited:
            waited = True
            (placed / str(number)).touch()
            while len(list(placed.iterdir())) < len(SOURCES):
                SYSTEM_CLOCK.sleep(0.01)
        return write_buckets(batches, context, *others)

    with patch.object(tasks_of_write, "write_buckets", together):
        for attempt in range(MOST_TRIES):
            try:
                local.write(path, SOURCES[number], f"source {number}")
                return
            except WriteConflictError:
                if attempt == MOST_TRIES - 1:
                    raise


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_each_key_is_stored_once(root: Folder, table_type: str, tmp_path: Path) -> None:
    path, placed = root / "t", tmp_path / "placed"
    placed.mkdir()
    local.create(path, table_type)
    writers = [begun_in_fork(partial(upsert, path, number, placed)) for number in range(len(SOURCES))]
    for one in writers:
        one.join()
    assert [one.exitcode for one in writers] == [0, 0, 0]
    found = local.rows_of(path)
    assert [key for key, *_ in found] == sorted(str(key) for key in range(40))
    local.clean(path)
    assert local.problems_of(path) == []
    assert [one for one in validate(str(path), deep=True, lake=path.lake) if one.invariant == 2] == []
