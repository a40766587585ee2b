"""A writer and all services on one table at the same time, each in a process of its own, under the file lock: the rows
at the end are those that the writer knows, and nothing is left behind.

CI runs it for a short time with a MERGE_ON_READ table. ``make together SECONDS=300`` runs both types for five minutes
each, and lets real Hudi read the tables at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options import ClusteringOptions, CompactionOptions, RollbackOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.commands import environment
from tests.faults.roles import CONF, ROLES
from tests.java import needs_java
from tests.spark.tables import COW, MOR, ordered
from tests.support.jobs import job_context
from tests.unit.core.metadata_table.agreement import disagreements

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]

SECONDS = float(os.environ.get("PYHUDI_TOGETHER_SECONDS", "0"))
SEED = os.environ.get("PYHUDI_TOGETHER_SEED", "1")
TYPES = [COW, MOR] if SECONDS else [MOR]
LAST_SECONDS = 300.0
"""For the last attempt of each process, after the time is over."""


@pytest.mark.parametrize("table_type", TYPES)
def test_a_writer_and_all_services_together(table_type: str, tmp_path: Path) -> None:
    needs_java()
    path, folder = tmp_path / "t", tmp_path / "reports"
    folder.mkdir()
    local.create(path, table_type)
    processes = {role: _start(role, path, folder) for role in ROLES}
    try:
        _wait(lambda: (folder / "begun").exists() or processes["writer"].poll() is not None, LAST_SECONDS)
        SYSTEM_CLOCK.sleep(SECONDS or 10.0)
        (folder / "stop").touch()
        _wait(lambda: all(one.poll() is not None for one in processes.values()), LAST_SECONDS)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    reports = {role: json.loads((folder / f"{role}.json").read_text()) for role in ROLES}
    print("\n".join(f"{role}: {report['counts']}" for role, report in reports.items()))
    wrong = {role: report["wrong"] for role, report in reports.items() if report["wrong"]}
    assert not wrong, "\n".join(f"{role}: {line}" for role, lines in wrong.items() for line in lines)
    expected = ordered(json.loads((folder / "rows.json").read_text()))
    assert _rows(path) == expected
    _end_what_is_planned(path)
    assert _rows(path) == expected
    assert local.problems_of(path) == []
    assert disagreements(path) == []
    assert [str(one) for one in validate(str(path), deep=True)] == []
    if SECONDS:
        _hudi_reads_the_same(path, expected, tmp_path)


def _start(role: str, path: Path, folder: Path) -> subprocess.Popen[bytes]:
    with open(folder / f"{role}.log", "wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.faults.roles", role, str(path), str(folder), SEED],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait(what: Any, seconds: float) -> None:
    deadline = SYSTEM_CLOCK.monotonic() + seconds
    while not what():
        assert SYSTEM_CLOCK.monotonic() < deadline, "it did not end in time"
        SYSTEM_CLOCK.sleep(0.1)


def _rows(path: Path) -> list[dict[str, Any]]:
    return ordered(HudiTable.open(str(path)).scan(columns=["id", "p", "v", "ts"]).to_arrow().to_pylist())


def _end_what_is_planned(path: Path) -> None:
    """Undo what dead writers left, carry out the plans of compactions, take those of others back."""
    engine = LocalEngine(SYSTEM_CLOCK)
    run_rollback(RollbackOptions(base_path=str(path), hoodie_conf=CONF), job_context())
    for one in HudiTable.open(str(path)).timeline.pending({Action.LOG_COMPACTION, Action.REPLACE_COMMIT}):
        given: dict[str, Any] = {"base_path": str(path), "hoodie_conf": CONF, "mode": "cancel"}
        given["instant_time"] = one.timestamp
        if one.action is Action.REPLACE_COMMIT:
            run_clustering(ClusteringOptions(**given), job_context(engine=engine))
        else:
            run_compaction(CompactionOptions(**given, log_compaction=True), job_context(engine=engine))
    while HudiTable.open(str(path)).timeline.pending({Action.COMPACTION}):
        run_compaction(
            CompactionOptions(base_path=str(path), hoodie_conf=CONF, mode="execute"), job_context(engine=engine)
        )
    local.clean(path)


def _hudi_reads_the_same(path: Path, expected: list[dict[str, Any]], folder: Path) -> None:
    from tests.interop.real_hudi import RealHudi

    with RealHudi(folder / "hudi.log") as hudi:
        found = hudi.read(path, options={"hoodie.metadata.enable": "true"})
        assert ordered(found.select(["id", "p", "v", "ts"]).to_pylist()) == expected
        assert hudi.validate(path) == []
