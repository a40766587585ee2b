"""The demo with tables and sources on a server of S3 that it starts itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.java import SHARED
from tests.support.servers import environment

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1500)]


def test_the_same_on_a_server_of_s3_that_it_starts(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "dags_examples.demo", "--s3", "--directory", str(tmp_path), "--every", "40"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "JDK_JAVA_OPTIONS": SHARED,
            "PYHUDI_S3_SERVER": environment("s3_env.py")["server"],
            "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",  # what the user has of AWS leads elsewhere
            "AWS_SESSION_TOKEN": "of-another-key",
        },
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert {result["base_path"] for result in results.values()} == {
        f"s3://flights-demo/tables/{name}" for name in ("flights", "flights_mor")
    }
    assert results["compact"]["instant"] == results["plan_compaction"]["instant"]
    assert json.loads((tmp_path / "verification.json").read_text())["problems"] == []
    assert (tmp_path / "timeline.svg").is_file()
    assert not (tmp_path / "tables").exists()
