"""JSON that is nested without end, where a service reads what another process left."""

from __future__ import annotations

import pytest

from spark_jobs.services.rewriting.completion import CompletionRecords
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at

pytestmark = pytest.mark.unit
DEEP = "[" * 100_000


def test_a_completion_record_counts_for_none(root: Folder) -> None:
    records = CompletionRecords(storage=root.storage, base_path=str(root), instant="20240101", plan_id="p", pieces=1)
    folder = file_at(root.storage, records.folder)
    folder.mkdir(parents=True)
    (folder / "0.json").write_text(DEEP)
    assert records.finished() == {}


def test_a_commit_is_a_finding(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(0, 2, "v", 1), "k")
    (path / ".hoodie" / "29991231235959999.commit").write_text(DEEP)
    found = validate(str(path), lake=path.lake)
    assert any("is not commit metadata (maximum recursion depth" in str(one) for one in found)
