"""The DAGs in README.md and docs/operators.md are made as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from airflow.sdk import DAG

pytestmark = pytest.mark.provider
ROOT = Path(__file__).parents[2]
TASKS = {
    "README.md": {"trips": ["upsert_trips"]},
    "docs/operators.md": {"trips_services": ["wait", "plan", "compact", "clean"]},
}


@pytest.mark.parametrize("page", TASKS)
def test_the_examples_make_their_dags(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, list[str]] = {}
    for block in blocks:
        if "airflow" not in block:
            continue
        names: dict[str, object] = {}
        exec(compile(re.sub(r"(with DAG\(.*\)):", r"\1 as dag:", block), page, "exec"), names)
        dag = names["dag"]
        assert isinstance(dag, DAG)
        found[dag.dag_id] = list(dag.task_ids)
    assert found == TASKS[page]
