"""The demo's sources against the frames that they come from."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dags_examples.demo.data import ACTUAL_COLUMNS, FLIGHTS_SCHEMA, QUARTERS, REFERENCES, Sources, prepare
from dags_examples.demo.frames import frame
from dags_examples.demo.questions import (
    QUESTIONS,
    REMAINING_FLIGHTS,
    difference,
    expected_answers,
    normalised,
)

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return prepare(tmp_path_factory.mktemp("sources"))


def test_the_schedule_has_every_flight_and_nothing_that_happened(sources: Sources) -> None:
    schedule = pq.read_table(sources.schedule)
    assert schedule.schema.equals(FLIGHTS_SCHEMA)
    assert schedule.num_rows == len(frame("flights"))
    assert all(schedule[name].null_count == schedule.num_rows for name in ACTUAL_COLUMNS)
    assert pc.any(schedule["_hoodie_is_deleted"]).as_py() is False
    assert pc.unique(schedule["updated"]).to_pylist() == [0]
    keys = schedule.select(["year", "month", "day", "carrier", "flight", "origin"])
    assert keys.group_by(keys.column_names).aggregate([]).num_rows == schedule.num_rows


def test_quarters_split_the_flights_and_mark_those_that_never_left(sources: Sources) -> None:
    quarters = [pq.read_table(sources.actuals(quarter)) for quarter in QUARTERS]
    assert all(table.schema.equals(FLIGHTS_SCHEMA) for table in quarters)
    assert sum(table.num_rows for table in quarters) == len(frame("flights"))
    assert [sorted(pc.unique(table["month"]).to_pylist()) for table in quarters] == [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
        [10, 11, 12],
    ]
    assert [pc.unique(table["updated"]).to_pylist() for table in quarters] == [[1], [2], [3], [4]]
    left = sum(table.num_rows - pc.sum(table["_hoodie_is_deleted"]).as_py() for table in quarters)
    assert left == REMAINING_FLIGHTS
    for table in quarters:
        assert table["_hoodie_is_deleted"].equals(pc.is_null(table["dep_time"]))


def test_files_are_kept_when_they_are_there_and_the_same_when_made_again(sources: Sources, tmp_path: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in sources.all_files}
    assert prepare(sources.directory) == sources
    assert {path.name: path.stat().st_mtime_ns for path in sources.all_files} == before
    again = prepare(tmp_path)
    for old, new in zip(sources.all_files, again.all_files, strict=True):
        assert old.read_bytes() == new.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in again.all_files)


def test_the_prepared_files_answer_as_the_original_frames(sources: Sources) -> None:
    expected = expected_answers()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        files = f"'{sources.directory}/actuals_q*.parquet'"
        connection.execute(f"CREATE VIEW flights AS SELECT * FROM {files} WHERE NOT _hoodie_is_deleted")
        for name in REFERENCES:
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{sources.reference(name)}'")
        for question in QUESTIONS:
            answer = normalised(connection.execute(question.sql.format(flights="flights")).fetchall())
            assert difference(expected[question.title], answer) == []
            assert answer, question.title
    assert sum(row[1] for row in expected["rows by month"]) == REMAINING_FLIGHTS  # type: ignore[misc]


def test_a_difference_names_the_rows_of_both_sides() -> None:
    expected, actual = [("AA", 1), ("UA", 2)], [("AA", 1), ("UA", 3), ("ZZ", 4)]
    assert difference(expected, actual) == ["- ('UA', 2)", "+ ('UA', 3)", "+ ('ZZ', 4)"]
    assert difference(expected, actual, limit=1) == ["- ('UA', 2)", "... and 2 more"]


def test_answers_compare_by_value_not_by_the_engines_types() -> None:
    assert normalised([(2.0, None), (1, "a")]) == [(1, "a"), (2, None)]
    assert normalised([(2.5, float("nan"))])[0][0] == 2.5
