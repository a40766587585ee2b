"""The upkeep of the metadata table: whatever storage call breaks, it agrees with the storage after a rerun."""

from __future__ import annotations

import pytest

from spark_jobs.services.metadata import maintain_metadata_table
from tests.faults import local_table as local
from tests.faults.broken_calls import FIRST, SECOND, Case, wrong_after_broken_calls
from tests.support.folder import Folder

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]

COMPACT_AT_ONCE = {"hoodie.metadata.compact.max.delta.commits": "3"}


def maintain(path: Folder) -> None:
    settings = path.table().transaction_settings(local.AT_ONCE)
    maintain_metadata_table(settings, {**local.AT_ONCE, **COMPACT_AT_ONCE}, print)


MAINTENANCE = Case(
    table_type="MERGE_ON_READ",
    prepare=lambda path: (local.write(path, FIRST, "first"), local.write(path, SECOND, "second")),
    act=maintain,
    expected=(FIRST, SECOND),
)


def test_after_any_broken_call_of_its_upkeep_a_rerun_gives_the_same(root: Folder) -> None:
    wrong = wrong_after_broken_calls(MAINTENANCE, root)
    assert not wrong, "\n".join(wrong)
