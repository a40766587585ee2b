"""The sensor plans services on real tables and changes nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, TaskDeferred

from airflow_provider_pyhudi import HudiTableServiceSensor, HudiTableServiceTrigger
from tests.faults import local_table as local
from tests.support.jobs import job_context

pytestmark = pytest.mark.provider


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """MERGE_ON_READ with one delta commit that has logs, after one that has base files."""
    local.create(tmp_path / "t", "MERGE_ON_READ")
    local.write(tmp_path / "t", local.batch(0, 20, "one", 1), "one")
    local.write(tmp_path / "t", local.batch(0, 20, "two", 2), "two")
    return tmp_path / "t"


def _sensor(base_path: Path, needed: int = 2, **given: Any) -> HudiTableServiceSensor:
    conf = {"hoodie.compact.inline.max.delta.commits": needed, "hoodie.cleaner.commits.retained": 1}
    values = {"service": "compaction", "hoodie_conf": conf, **given}
    return HudiTableServiceSensor(task_id="wait", base_path=str(base_path), **values)


def test_a_table_that_is_not_there_has_nothing_due(tmp_path: Path) -> None:
    assert not _sensor(tmp_path / "nowhere").poke({}).is_done  # type: ignore[arg-type]


def test_compaction_is_due_by_its_own_rule(table: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = sorted(table.rglob("*"))
    with caplog.at_level("INFO"):
        assert not _sensor(table, needed=5).poke({}).is_done  # type: ignore[arg-type]
    assert "2 delta commit(s) since the last compaction, 5 make it due" in caplog.text
    due = _sensor(table, needed=2).poke({})  # type: ignore[arg-type]
    assert due.is_done
    assert due.xcom_value["state"] == "DRY_RUN"
    assert due.xcom_value["files_in"] == 4
    assert sorted(table.rglob("*")) == before


def test_a_plan_that_waits_for_its_execution_is_due(table: Path) -> None:
    from spark_jobs.options import CompactionOptions, ServiceMode
    from spark_jobs.services.compaction.job import run_compaction

    conf = {"hoodie.compact.inline.max.delta.commits": "1"}
    options = CompactionOptions(base_path=str(table), mode=ServiceMode.SCHEDULE, hoodie_conf=tuple(conf.items()))
    planned = run_compaction(options, job_context())
    found = _sensor(table, needed=50).poke({}).xcom_value  # type: ignore[arg-type]
    assert found["instant"] == planned.instant
    assert "planned already" in found["reason"]


def test_clustering_of_a_table_without_enough_commits_waits(table: Path) -> None:
    assert not _sensor(table, service="clustering").poke({}).is_done  # type: ignore[arg-type]


def test_clean_waits_for_old_slices(table: Path) -> None:
    assert not _sensor(table, service="clean").poke({}).is_done  # type: ignore[arg-type]
    local.compact(table)
    local.write(table, local.batch(0, 20, "three", 3), "three")
    due = _sensor(table, service="clean").poke({})  # type: ignore[arg-type]
    assert due.is_done
    assert due.xcom_value["action"] == "clean"


def test_what_only_the_connection_has_is_not_handed_to_the_triggerer(
    table: Path, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = {"hoodie.compact.inline.max.delta.commits": "2", "hoodie.datasource.hive_sync.password": "s3cr3t-of-hive"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "hudi", "extra": {"hoodie_conf": conf}}))
    sensor = _sensor(table, hudi_conn_id="lake", hoodie_conf={"hoodie.cleaner.commits.retained": 1})
    assert sensor.poke({}).is_done  # type: ignore[arg-type]
    _, given = sensor.trigger().serialize()
    assert given["hoodie_conf"] == {"hoodie.cleaner.commits.retained": "1"}
    assert "s3cr3t" not in repr(given)
    found = HudiTableServiceTrigger(**given).look()
    assert found is not None
    assert found["files_in"] == 4


def test_a_deferred_wait_ends_when_the_service_is_due(table: Path) -> None:
    sensor = _sensor(table, needed=3, deferrable=True, poke_interval=0.05, timeout=60)
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})  # type: ignore[arg-type]
    path, arguments = deferred.value.trigger.serialize()
    assert path == "airflow_provider_pyhudi.triggers.table_service.HudiTableServiceTrigger"
    trigger = HudiTableServiceTrigger(**arguments)

    async def wait() -> dict[str, Any]:
        waiting = asyncio.ensure_future(anext(trigger.run()))  # type: ignore[arg-type]
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await asyncio.to_thread(local.write, table, local.batch(0, 20, "three", 3), "three")
        return dict((await asyncio.wait_for(waiting, 20)).payload)

    event = asyncio.run(wait())
    assert sensor.execute_complete({}, event)["files_in"] == 6  # type: ignore[arg-type]


def test_a_service_that_the_table_cannot_have_ends_the_wait(tmp_path: Path) -> None:
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    trigger = HudiTableServiceTrigger(str(tmp_path / "t"), "compaction")
    event = asyncio.run(asyncio.wait_for(anext(trigger.run()), 10)).payload  # type: ignore[arg-type]
    with pytest.raises(AirflowException, match="COPY_ON_WRITE"):
        _sensor(tmp_path / "t").execute_complete({}, event)  # type: ignore[arg-type]


def test_another_service_is_refused() -> None:
    with pytest.raises(ValueError, match="clean, clustering, compaction"):
        HudiTableServiceSensor(task_id="wait", base_path="/t", service="vacuum")
