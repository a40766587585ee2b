"""Tables whose precombine field is no column, as the ``ts`` that Hudi's writers name where nothing else is said."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.options import CompactionOptions, JobState
from spark_jobs.services.compaction.job import run_compaction
from tests.hudi_tables import unpack
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

NOW = {"hoodie.compact.inline.max.delta.commits": "1"}


def rows(path: Folder) -> list[str]:
    found: pa.Table = path.table().scan().to_arrow().drop_columns(["_hoodie_file_name"])
    return sorted(map(str, found.to_pylist()))


def test_the_later_record_wins(root: Folder) -> None:
    """The changes of this table ascend in both orders, so that its rows stay what they are."""
    path = unpack("tables/mor_logs", root)
    before = rows(path)
    properties = path / ".hoodie" / "hoodie.properties"
    lines = properties.read_text().splitlines()
    others = [line for line in lines if not line.startswith("hoodie.table.precombine.field=")]
    assert len(others) == len(lines) - 1
    properties.write_text("\n".join([*others, "hoodie.table.precombine.field=nothing\n"]))
    assert any(one.log_files for one in path.table().file_slices())
    assert rows(path) == before
    options = CompactionOptions(base_path=str(path), hoodie_conf=NOW)
    done = run_compaction(options, job_context(lake=root.lake))
    assert done.state is JobState.COMPLETED
    assert rows(path) == before
