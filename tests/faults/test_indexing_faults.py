"""The indexing job: whatever change of the storage breaks, a rerun gives an index that agrees with the rows.

``make all-faults`` breaks each call that reads too, and in every way.
"""

from __future__ import annotations

import pytest

from spark_jobs.options.indexing import IndexingOptions
from spark_jobs.services.indexing.job import run_indexing
from tests.faults import local_table as local
from tests.faults.broken_calls import FIRST, SECOND, Case, wrong_after_broken_calls
from tests.faults.faulty_storage import Fault
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]

KEEP = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.async": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.record.index.max.filegroup.count": "1",
}


def make_index(path: Folder) -> None:
    conf = tuple(local.AT_ONCE.items())
    run_indexing(
        IndexingOptions(base_path=str(path), index_types=("RECORD_INDEX",), hoodie_conf=conf),
        job_context(lake=path.lake),
    )


CASE = Case(
    table_type="COPY_ON_WRITE",
    prepare=lambda path: (local.write(path, FIRST, "first"), local.write(path, SECOND, "second")),
    act=make_index,
    expected=(FIRST, SECOND),
)


def test_after_any_broken_call_a_rerun_gives_the_same(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in KEEP.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)
    local.create(root / "whole", CASE.table_type)
    CASE.prepare(root / "whole")
    make_index(root / "whole")
    assert "record_index" in (root / "whole").table().config.metadata_partitions
    wrong = wrong_after_broken_calls(CASE, root, (Fault.REFUSE, Fault.DIE_AFTER), only_changes=True)
    assert not wrong, "\n".join(wrong)
