"""A validation whose looks go to another process finds what one in this process finds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options.validate import ValidateOptions
from spark_jobs.services.validation import key_checks
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.job import run_validation
from spark_jobs.services.validation.run import inspect
from spark_jobs.services.validation.scans import Scans
from tests.support.engines import Elsewhere
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.services.validation.damage import data_files

pytestmark = pytest.mark.unit

QUIET = Progress.silent("validate")


def findings(base: Folder, engine: LocalEngine | None = None) -> tuple[Finding, ...]:
    table = base.table(lists_storage=True)
    return inspect(table, deep=True, overdue_hours=24, progress=QUIET, engine=engine).findings


@pytest.mark.parametrize(
    "name",
    [
        "tables/mor_logs",
        "log_tables/logs_compacted",
        "metadata_tables/indexed_mor",
        "tables/cow_clustered",
        "tables/bootstrap_mor",
    ],
)
def test_the_same_findings(name: str, unpack: Callable[[str], Folder], monkeypatch: pytest.MonkeyPatch) -> None:
    base = unpack(name)
    assert findings(base, Elsewhere()) == findings(base)
    for path in data_files(base)[::2]:
        data = bytearray((base / path).read_bytes())
        for place in range(len(data) // 3, len(data) // 2):
            data[place] ^= 0x5A
        (base / path).write_bytes(bytes(data))
    monkeypatch.setattr(key_checks, "_MOST_BYTES", 1)  # a job for each slice
    engine = Elsewhere()
    found = findings(base, engine)
    assert found == findings(base)
    assert any(one.is_error for one in found)
    assert engine.jobs > 3
    assert engine.told is not None
    assert all(engine.told)


def test_footers_alone_count_by_calls(unpack: Callable[[str], Folder]) -> None:
    engine = Elsewhere()
    base = unpack("tables/cow_upserts")
    result = run_validation(ValidateOptions(base_path=str(base)), job_context(engine=engine, lake=base.lake))
    assert engine.told is not None
    assert (engine.told[0], engine.told[1] > 0, engine.jobs) == (0, True, 1)
    assert (result.extra["engine"], result.extra["sound"]) == ("spark", True)


def test_looks_come_in_order_in_waves_of_so_many_bytes() -> None:
    engine, steps = Elsewhere(), list[int]()
    scans = Scans(engine=engine, progress=QUIET, on_spark=True)
    found = scans.each(range(7), str, [3, 3, 3, 9, 1, 1, 1], steps.append, at_once=2, together=2, most=12)
    assert list(found) == list("0123456")
    assert (engine.jobs, sum(steps)) == (3, 7)  # of 6, 12 and 2 + 1 bytes
    assert list(scans.each([], str, [], steps.append)) == []
