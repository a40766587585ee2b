"""Retries, clears and backfills of a task that goes by its own name, in a real Airflow whose worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.provider

SCRIPT = Path(__file__).parent / "scripts" / "generations_dag.py"


def steps(folder: Path, name: str, *words: str, ends: int = 0) -> list[dict[str, Any]]:
    """What each step of a process came to."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        capture_output=True,
        text=True,
        timeout=900,
        env={
            **os.environ,
            "PROBE_FOLDER": str(folder),
            "PROBE_DAG": name,
            "AIRFLOW__CORE__DAGS_FOLDER": str(SCRIPT.parent),
        },
    )
    assert done.returncode == ends, done.stdout + done.stderr
    told = [line.removeprefix("step: ") for line in done.stdout.splitlines() if line.startswith("step: ")]
    return [json.loads(line) for line in told]


def test_a_retry_adds_nothing_and_a_clear_of_a_success_writes_anew(airflow_database: None, tmp_path: Path) -> None:
    assert steps(tmp_path, "generations", "probe=kill", "first", ends=-signal.SIGKILL) == []
    found = steps(
        tmp_path,
        "generations",
        *("lost", "probe=end", "retries=3", "value=unseen", "clear"),  # the killed try committed: the key stays
        *("value=two", "clear"),  # a success is cleared, with other input
        *("value=three", "probe=fail", "clear"),  # the next generation commits, and its task fails
        *("value=unseen", "probe=end", "retries=5", "retry"),
        *("value=four", "reprocess"),
    )
    assert [(one["step"], one["state"], one["repeated"], one["values"], one["commits"]) for one in found] == [
        ("clear", "success", True, ["one"], 1),
        ("clear", "success", False, ["two"], 2),
        ("clear", "up_for_retry", None, ["three"], 3),
        ("retry", "success", True, ["three"], 3),
        ("reprocess", "success", False, ["four"], 4),
    ]
    assert [one["events"] for one in found] == [1, 2, 2, 3, 4]  # one for each generation that succeeded
