"""Under which name a service plans."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_pyhudi import HudiCompactionOperator

pytestmark = pytest.mark.provider

TI = SimpleNamespace(dag_id="d", task_id="t", run_id="r", map_index=-1, try_number=1, max_tries=0)


@pytest.mark.parametrize(
    ("mode", "key"), [("schedule", "d/t/r/-1"), (" SCHEDULE", "d/t/r/-1"), ("execute", None), ("Cancel", None)]
)
def test_a_plan_has_the_name_of_its_task_however_the_mode_is_spelt(mode: str, key: str | None) -> None:
    context: Any = {"ti": TI}
    assert (
        HudiCompactionOperator(task_id="t", base_path="/lake/t", mode=mode).job_values(context)["idempotency_key"]
        == key
    )
