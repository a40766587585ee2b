"""Real Hudi tends a table: it compacts and cleans it, and what it makes of the metadata table before and after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spark_jobs.core.table import HudiTable
from tests.interop.ours import COMPACT_AT_ONCE
from tests.interop.real_hudi import RealHudi

CLEAN_ALL = {"hoodie.cleaner.commits.retained": "1"}


def assert_hudi_validates(hudi: RealHudi, path: Path, when: str) -> None:
    """The metadata table says what listings and footers do: see ``hudi_validation``."""
    found = hudi.validate(path)
    assert not found, f"Hudi's validation {when}: {found}"


def tended_by_hudi(
    hudi: RealHudi, path: Path, options: Mapping[str, str] | None = None, *, compacts: bool = True
) -> None:
    """Validate, compact where there are logs, clean, validate.

    :param options: for Hudi's services, besides what makes them due.
    :param compacts: False where Hudi's procedure can't compact such a table, whoever wrote it.
    """
    assert_hudi_validates(hudi, path, "before Hudi tends the table")
    if compacts and _has_logs(path):
        assert hudi.compact(path, options={**COMPACT_AT_ONCE, **(options or {})})
        assert_hudi_validates(hudi, path, "after Hudi's compaction")
        assert not _has_logs(path)
    hudi.clean(path, options={**CLEAN_ALL, **(options or {})})
    assert_hudi_validates(hudi, path, "after Hudi's cleaning")


def _has_logs(path: Path) -> bool:
    return any(one.log_files for one in HudiTable.open(str(path)).file_slices())
