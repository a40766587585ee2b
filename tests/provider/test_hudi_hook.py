"""The connection type `hudi`, and tables as assets."""

import json
from pathlib import Path

import pytest

from airflow_provider_pyhudi import HudiCleanOperator, HudiHook, hudi_asset
from spark_jobs.core.table import HudiTable

pytestmark = pytest.mark.provider


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    extra = {"base_path": str(tmp_path), "spark_conn_id": "big", "hoodie_conf": {"hoodie.a": 1, "hoodie.b": "x"}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "hudi", "extra": extra}))
    return tmp_path


def test_relative_paths_are_joined_and_others_left(lake: Path) -> None:
    hook = HudiHook("lake")
    assert hook.base_path_of("trips") == f"{lake}/trips"
    assert hook.base_path_of("/elsewhere/trips") == "/elsewhere/trips"
    assert hook.base_path_of("s3://lake/trips") == "s3://lake/trips"
    assert hook.base_path_of("file:/lake/trips") == "file:/lake/trips"
    assert hook.spark_conn_id == "big"


def test_a_table_is_opened_without_spark(lake: Path) -> None:
    HudiTable.create(str(lake / "trips"), name="trips", record_key_fields=["k"])
    assert HudiHook("lake").open_table("trips").timeline.completed_commits() == ()
    assert HudiHook("lake").test_connection() == (True, f"{lake} has 1 entries")


def test_the_tasks_own_values_win_over_the_connections(lake: Path) -> None:
    operator = HudiCleanOperator(
        task_id="clean", base_path="trips", hudi_conn_id="lake", hoodie_conf={"hoodie.b": "y"}, dry_run="True"
    )
    options = operator.build_options({})  # type: ignore[typeddict-item]
    assert options.base_path == f"{lake}/trips"
    assert dict(options.hoodie_conf) == {"hoodie.a": "1", "hoodie.b": "y"}
    assert options.dry_run is True


def test_an_asset_is_the_same_for_each_spelling() -> None:
    assert hudi_asset("/lake/trips").uri == hudi_asset("file:///lake/trips/").uri == "file:///lake/trips"
    assert hudi_asset("file:/lake/trips").uri == "file:///lake/trips"
    assert hudi_asset("s3://lake/trips/").uri == "s3://lake/trips"
    assert hudi_asset("/lake/trips", name="trips").name == "trips"
