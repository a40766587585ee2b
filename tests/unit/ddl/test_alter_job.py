"""``alter_table.py`` from its words to its result."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.ddl.alter_job import run_alter_table
from spark_jobs.engine.job import run_job
from spark_jobs.options.alter_table import AlterTableOptions
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
ROWS = pa.table({"id": ["a", "b"], "fare": pa.array([1.0, 2.0], pa.float32()), "ts": [1, 1]})


@pytest.fixture
def trips(root: Folder) -> HudiTable:
    """Two rows of a MERGE_ON_READ table, by its name in the database ``lake``."""
    table = HudiTable.create(
        str(root / "trips"),
        name="trips",
        database="lake",
        table_type="MERGE_ON_READ",
        record_key_fields=["id"],
        precombine_field="ts",
        lake=root.lake,
    )
    table.upsert(ROWS)
    return table.refreshed()


def run(
    capfd: pytest.CaptureFixture[str], table: HudiTable, ddl: str, *words: str
) -> tuple[int, dict[str, object], str]:
    """Exit code, result and the last line of stderr."""
    code = run_job(
        run_alter_table, AlterTableOptions, ["--base-path", table.url, "--ddl", ddl, *words], lake=table.lake
    )
    out, err = capfd.readouterr()
    return code, json.loads(out.splitlines()[-1]) if out else {}, err.splitlines()[-1] if err else ""


def rows(table: HudiTable, *names: str) -> list[dict[str, object]]:
    found = table.refreshed().scan().to_arrow().select(["id", *names]).to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def test_a_dry_run_shows_the_columns_and_its_hash_is_carried_out(
    trips: HudiTable, capfd: pytest.CaptureFixture[str]
) -> None:
    ddl = "alter table lake.trips rename column fare to price"
    code, shown, _ = run(capfd, trips, ddl, "--dry-run")
    assert (code, shown["state"], shown["instant"]) == (0, "DRY_RUN", None)
    plan, extra = shown["plan"], shown["extra"]
    assert isinstance(plan, dict)
    assert isinstance(extra, dict)
    assert [one["name"] for one in plan["before"]] == ["id", "fare", "ts"]
    assert [one["name"] for one in plan["after"]] == ["id", "price", "ts"]
    assert trips.refreshed().schema.names == ["id", "fare", "ts"]

    code, done, _ = run(capfd, trips, ddl, "--plan-hash", extra["plan_hash"])
    assert (code, done["state"], done["repeated"]) == (0, "COMPLETED", False)
    assert rows(trips, "price") == [{"id": "a", "price": 1.0}, {"id": "b", "price": 2.0}]

    code, error, line = run(capfd, trips, "alter table trips drop column price", "--plan-hash", extra["plan_hash"])
    assert (code, error) == (3, {})
    assert "the plan is not" in line


def test_a_statement_is_carried_out_once_though_writes_follow(
    trips: HudiTable, capfd: pytest.CaptureFixture[str]
) -> None:
    ddl = "alter table trips add columns (tip double)"
    _, first, _ = run(capfd, trips, ddl)
    trips.refreshed().upsert(pa.table({"id": ["b"], "fare": pa.array([3.0], pa.float32()), "ts": [2], "tip": [0.5]}))

    code, again, _ = run(capfd, trips, ddl.replace(" add ", "\n  add ") + ";")

    assert (code, again["state"], again["repeated"], again["instant"]) == (0, "COMPLETED", True, first["instant"])
    assert rows(trips, "fare", "tip") == [{"id": "a", "fare": 1.0, "tip": None}, {"id": "b", "fare": 3.0, "tip": 0.5}]


def test_after_another_change_the_same_words_mean_another_one(
    trips: HudiTable, capfd: pytest.CaptureFixture[str]
) -> None:
    add, drop = "alter table trips add columns (tip double)", "alter table trips drop column tip"
    states = [run(capfd, trips, ddl)[1]["repeated"] for ddl in (add, drop, add)]
    assert states == [False, False, False]
    assert trips.refreshed().schema.names == ["id", "fare", "ts", "tip"]


def test_where_nothing_is_to_be_changed(trips: HudiTable, capfd: pytest.CaptureFixture[str]) -> None:
    code, result, _ = run(capfd, trips, "alter table trips drop column if exists tip")
    assert (code, result["state"]) == (0, "NOTHING_TO_DO")
    assert result["reason"] == "the columns are what the statement asks for"
    assert len(trips.refreshed().timeline.completed_commits()) == 1


@pytest.mark.parametrize(
    ("ddl", "code", "what"),
    [
        ("alter table rides drop column fare", 2, "the statement alters rides, and the table at"),
        ("alter table other.trips drop column fare", 2, "the statement alters trips, and the table at"),
        ("alter table trips drop column id", 2, "column id is part of the key"),
        ("alter table trips rename column ts to at", 2, "column ts is part of the key"),
        ("alter table trips add columns (_hoodie_commit_time string)", 2, "column _hoodie_commit_time"),
        ("alter table trips drop column none", 2, "there is no column none"),
    ],
)
def test_what_is_refused_changes_nothing(
    trips: HudiTable, capfd: pytest.CaptureFixture[str], ddl: str, code: int, what: str
) -> None:
    found, _, line = run(capfd, trips, ddl)
    assert (found, line.startswith("alter_table: error: ")) == (code, True)
    assert what in line
    assert len(trips.refreshed().timeline.instants) == 1
