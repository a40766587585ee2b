"""The questions that the demo asks twice: of its tables through Spark, and of the original frames through DuckDB."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import duckdb

from dags_examples.demo.frames import frame

Row = tuple[object, ...]

REMAINING_FLIGHTS = 328_521
"""Flights that really left; the others are deleted by the quarterly upserts."""


def remaining_flights() -> int:
    """:data:`REMAINING_FLIGHTS`, or how many there are of a sample."""
    return int(frame("flights")["dep_time"].notna().sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """SQL that Spark and DuckDB both understand; ``{flights}`` stands for the flights' table."""

    title: str
    sql: str


QUESTIONS = (
    Question(
        title="rows by month",
        sql="SELECT month, count(*) AS flights, count(DISTINCT day) AS days FROM {flights} GROUP BY month",
    ),
    Question(
        title="keys",
        sql="SELECT count(*) AS flights, min(year), max(year) FROM (SELECT year, month, day, carrier, flight, origin "
        "FROM {flights} GROUP BY year, month, day, carrier, flight, origin) AS keys",
    ),
    Question(
        title="delays by carrier",
        sql="SELECT carrier, count(*) AS flights, count(arr_delay) AS arrived, sum(dep_delay), "
        "sum(arr_delay), sum(air_time), sum(distance) FROM {flights} GROUP BY carrier",
    ),
    Question(
        title="times by origin and month",
        sql="SELECT origin, month, sum(dep_time), sum(arr_time), sum(sched_dep_time), sum(sched_arr_time), sum(hour), "
        "sum(minute), min(dest), max(dest) FROM {flights} GROUP BY origin, month",
    ),
    Question(
        title="delays by airline",
        sql="SELECT airlines.name, flights.origin, max(flights.dep_delay), sum(flights.arr_delay) "
        "FROM {flights} AS flights JOIN airlines ON airlines.carrier = flights.carrier "
        "GROUP BY airlines.name, flights.origin",
    ),
    Question(
        title="flights and seats by manufacturer",
        sql="SELECT planes.manufacturer, count(*) AS flights, sum(planes.seats), count(DISTINCT flights.tailnum) "
        "FROM {flights} AS flights JOIN planes ON planes.tailnum = flights.tailnum GROUP BY planes.manufacturer",
    ),
    Question(
        title="air time by destination",
        sql="SELECT flights.dest, max(airports.name), sum(flights.air_time) FROM {flights} AS flights "
        "LEFT JOIN airports ON airports.faa = flights.dest GROUP BY flights.dest",
    ),
    Question(
        title="departures in the rain",
        sql="SELECT flights.origin, flights.month, count(*) AS flights, sum(flights.dep_delay) "
        "FROM {flights} AS flights "
        "JOIN weather ON weather.origin = flights.origin AND weather.time_hour = flights.time_hour "
        "WHERE weather.precip > 0 GROUP BY flights.origin, flights.month",
    ),
)


def expected_answers(questions: Sequence[Question] = QUESTIONS) -> dict[str, list[Row]]:
    """Answers from the original frames, by title; neither the prepared files nor the tables are looked at."""
    with duckdb.connect() as connection:
        flights = frame("flights")
        connection.register("flights", flights[flights["dep_time"].notna()])
        for name in ("airlines", "airports", "planes", "weather"):
            connection.register(name, frame(name))
        return {
            question.title: normalised(connection.execute(question.sql.format(flights="flights")).fetchall())
            for question in questions
        }


def normalised(rows: Iterable[Sequence[object]]) -> list[Row]:
    """Rows in one order, whole numbers as int whatever type the engine gives them."""
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def difference(expected: Sequence[Row], actual: Sequence[Row], limit: int = 10) -> list[str]:
    """Lines that tell the two apart: ``-`` for a row only in ``expected``, ``+`` for one only in ``actual``."""
    missing, extra = Counter(expected), Counter(actual)
    missing, extra = missing - extra, extra - missing
    lines = [f"- {row}" for row in sorted(missing.elements(), key=repr)]
    lines += [f"+ {row}" for row in sorted(extra.elements(), key=repr)]
    lines.sort(key=lambda line: line[2:])
    if len(lines) > limit:
        lines = [*lines[:limit], f"... and {len(lines) - limit} more"]
    return lines


def _plain(value: object) -> object:
    if isinstance(value, (float, Decimal)) and math.isfinite(value) and value == int(value):
        return int(value)
    return value
