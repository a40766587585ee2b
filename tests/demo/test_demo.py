"""The demo as a person starts it: once, and once more on top of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest

from dags_examples.demo.metastore import running_metastore, stop_metastore
from dags_examples.demo.questions import REMAINING_FLIGHTS
from tests.java import SHARED

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1500)]

TABLES = ("flights", "flights_mor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one start of the demo said and left."""

    code: int
    out: str
    err: str
    instants: dict[str, tuple[str, ...]]


def run_demo(directory: Path) -> Run:
    outcome = subprocess.run(
        [sys.executable, "-m", "dags_examples.demo", "--directory", str(directory)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=directory.parent,
        env={**os.environ, "CI": "true", "JDK_JAVA_OPTIONS": SHARED},
    )
    instants = {
        name: tuple(sorted(path.name for path in (directory / "tables" / name / ".hoodie").glob("[0-9]*")))
        for name in TABLES
    }
    return Run(code=outcome.returncode, out=outcome.stdout, err=outcome.stderr, instants=instants)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("with space") / "demo"


@pytest.fixture(scope="module")
def first(directory: Path) -> Run:
    try:
        return run_demo(directory)
    finally:
        stop_metastore(directory / "metastore")


def test_it_succeeds_and_says_what_ran_and_where_everything_is(first: Run, directory: Path) -> None:
    assert first.code == 0, first.out + first.err
    assert first.err == ""
    for task in ("prepare_data", "load_flights", "upsert_flights_mor_q4", "wait_for_commit", "compact", "verify"):
        assert re.search(rf"^  {task} +[\d.]+ s  done$", first.out, re.MULTILINE), first.out
    for place in (directory / "tables" / "flights", directory / "timeline.svg", directory / "logs"):
        assert str(place) in first.out
        assert place.exists()
    results = json.loads((directory / "results.json").read_text())
    assert results["load_flights"]["records_out"] == 336_776
    assert results["compact"]["instant"] == results["plan_compaction"]["instant"]
    assert {result["state"] for result in results.values()} <= {"COMPLETED", "SCHEDULED"}
    verification = json.loads((directory / "verification.json").read_text())
    assert verification["problems"] == []
    assert all(rows > 200 for rows in verification["answers_compared"].values())
    # in one test: a demo of several minutes is run once, whichever processes share the tests
    _assert_both_tables_hold_the_flights_that_left(directory)
    _assert_the_picture_shows_what_is_on_the_timelines(directory)
    assert running_metastore(directory / "metastore") is None


def _assert_both_tables_hold_the_flights_that_left(directory: Path) -> None:
    from spark_jobs.core.table import HudiTable

    for name in TABLES:
        rows = HudiTable.open(str(directory / "tables" / name)).scan(columns=["month"]).to_arrow()
        assert rows.num_rows == REMAINING_FLIGHTS


def _assert_the_picture_shows_what_is_on_the_timelines(directory: Path) -> None:
    root = ElementTree.parse(directory / "timeline.svg").getroot()
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"flights", "flights_mor", "commit", "deltacommit", "compaction", "clean", "bulk_insert"} <= texts


def test_a_second_run_writes_nothing_twice(first: Run, directory: Path) -> None:
    before = json.loads((directory / "results.json").read_text())
    second = run_demo(directory)
    assert second.code == 0, second.out + second.err
    after = json.loads((directory / "results.json").read_text())
    writes = [name for name in before if name.startswith(("load_", "upsert_"))]
    assert {name: after[name]["instant"] for name in writes} == {name: before[name]["instant"] for name in writes}
    for name in TABLES:
        old, new = (
            [file for file in run.instants[name] if file.endswith((".commit.requested", ".deltacommit.requested"))]
            for run in (first, second)
        )
        assert new == old
