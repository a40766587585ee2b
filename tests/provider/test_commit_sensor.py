"""The sensor looks at a real table; commits appear as Hudi's files do."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowSensorTimeout, TaskDeferred

from airflow_provider_pyhudi import HudiCommitSensor, HudiCommitTrigger
from spark_jobs.core.table import HudiTable

pytestmark = pytest.mark.provider

FIRST, SECOND, THIRD = "20240101000000001", "20240101000000002", "20240101000000003"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    HudiTable.create(str(tmp_path / "t"), name="t", record_key_fields=["k"])
    return tmp_path / "t"


def _commit(table: Path, name: str) -> None:
    (table / ".hoodie" / name).write_text("{}")


def _sensor(base_path: Path, **given: Any) -> HudiCommitSensor:
    return HudiCommitSensor(task_id="wait", base_path=str(base_path), **given)


def test_a_table_that_is_not_there_has_no_commits(tmp_path: Path) -> None:
    assert not _sensor(tmp_path / "nowhere").poke({}).is_done


def test_only_completed_commits_count(table: Path) -> None:
    for name in (f"{FIRST}.commit.requested", f"{FIRST}.inflight", f"{SECOND}.clean"):
        _commit(table, name)
    assert not _sensor(table).poke({}).is_done
    _commit(table, f"{FIRST}.commit")
    found = _sensor(table).poke({})
    assert found.is_done
    assert found.xcom_value == {"instant": FIRST, "instants": [FIRST]}


@pytest.mark.parametrize(
    ("after", "least", "actions", "instants"),
    [
        (None, 1, None, [FIRST, SECOND, THIRD]),
        ("None", 1, None, [FIRST, SECOND, THIRD]),
        (FIRST, 1, None, [SECOND, THIRD]),
        (FIRST, "2", None, [SECOND, THIRD]),
        (FIRST, 3, None, None),
        (THIRD, 1, None, None),
        (None, 1, ["commit"], [THIRD]),
        (FIRST, 1, ["replacecommit"], None),
    ],
)
def test_what_counts(
    after: str | None, least: int, actions: list[str] | None, instants: list[str] | None, table: Path
) -> None:
    for name in (f"{FIRST}.deltacommit", f"{SECOND}.deltacommit", f"{THIRD}.commit"):
        _commit(table, name)
    found = _sensor(table, after_instant=after, min_commits=least, actions=actions).poke({})
    assert (found.xcom_value or {}).get("instants") == instants
    assert found.is_done is (instants is not None)


def test_waiting_in_a_worker_ends_at_the_timeout(table: Path) -> None:
    sensor = _sensor(table, poke_interval=0.1, timeout=0.3)
    with pytest.raises(AirflowSensorTimeout):
        sensor.execute({})  # type: ignore[arg-type]


def test_a_deferred_wait_ends_with_the_commit(table: Path) -> None:
    sensor = _sensor(table, after_instant=FIRST, deferrable=True, poke_interval=0.05, timeout=60)
    _commit(table, f"{FIRST}.commit")
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})  # type: ignore[arg-type]
    path, arguments = deferred.value.trigger.serialize()
    assert path == "airflow_provider_pyhudi.triggers.commit.HudiCommitTrigger"
    trigger = HudiCommitTrigger(**arguments)

    async def wait() -> dict[str, Any]:
        events = trigger.run()
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        _commit(table, f"{SECOND}.commit")
        return dict((await asyncio.wait_for(waiting, 10)).payload)

    event = asyncio.run(wait())
    assert sensor.execute_complete({}, event) == {"instant": SECOND, "instants": [SECOND]}  # type: ignore[arg-type]


def test_a_commit_that_is_there_needs_no_trigger(table: Path) -> None:
    _commit(table, f"{FIRST}.commit")
    assert _sensor(table, deferrable=True).execute({})["instant"] == FIRST  # type: ignore[arg-type]


def test_an_unreadable_table_ends_the_wait(table: Path) -> None:
    (table / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=t\nhoodie.table.version=99\n")
    trigger = HudiCommitTrigger(str(table))
    event = asyncio.run(asyncio.wait_for(anext(trigger.run()), 10)).payload  # type: ignore[arg-type]
    with pytest.raises(AirflowException, match="99"):
        _sensor(table).execute_complete({}, event)  # type: ignore[arg-type]


@pytest.mark.parametrize("actions", ["commit", "['commit']", ["commit"]])
def test_one_action_may_stand_without_a_list(actions: Any, table: Path) -> None:
    _commit(table, f"{FIRST}.deltacommit")
    sensor = _sensor(table, actions=actions, deferrable=True)
    assert sensor.trigger().actions == ["commit"]
    assert not sensor.poke({}).is_done  # type: ignore[arg-type]
    _commit(table, f"{SECOND}.commit")
    assert sensor.execute({})["instants"] == [SECOND]  # type: ignore[arg-type]


def test_an_action_that_no_write_has_is_refused(table: Path) -> None:
    with pytest.raises(ValueError, match="deltacomit"):
        _sensor(table, actions=["deltacomit"])


@pytest.mark.parametrize(
    ("after", "found"), [("2023-12-31", True), ("2024-01-02", False), ("2024-01-01 12:00:00", False)]
)
def test_a_date_is_an_instant(after: str, found: bool, table: Path) -> None:
    _commit(table, f"{FIRST}.commit")
    assert _sensor(table, after_instant=after).poke({}).is_done is found  # type: ignore[arg-type]
