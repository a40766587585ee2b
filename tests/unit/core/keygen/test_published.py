"""The seven examples of Hudi's documentation for time-based keys, to the letter.

Each was also put to Hudi 0.15.0 (``test_against_hudi.py``); where it answers otherwise than its documentation says, it
is right, and the published value stands beside it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.keygen.keys import partition_paths
from spark_jobs.core.keygen.spec import PACKAGE, Generator, KeySpec

pytestmark = pytest.mark.unit

ISO = "yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd'T'HH:mm:ss.SSSZ"


def path(value: Any, **settings: str) -> str:
    """The partition of one value; settings by the ends of their keys, ``_`` for ``.``."""
    properties = {"hoodie.keygen.timebased." + name.replace("_", "."): text for name, text in settings.items()}
    spec = KeySpec.of(
        ["id"],
        ["ts"],
        hive_style=False,
        url_encode=False,
        class_name=PACKAGE + Generator.TIMESTAMP,
        properties=properties,
    )
    kind = pa.string() if "input_dateformat" in settings else pa.int64()
    found: str = partition_paths(pa.table({"id": ["k"], "ts": pa.array([value], kind)}), spec)[0].as_py()
    return found


@pytest.mark.parametrize(("value", "expected"), [(1578283932000, "2020-01-06 12"), (None, "1970-01-01 08")])
def test_milliseconds_in_a_zone(value: int | None, expected: str) -> None:
    settings = {"timestamp_type": "EPOCHMILLISECONDS", "timezone": "GMT+8:00", "output_dateformat": "yyyy-MM-dd hh"}
    assert path(value, **settings) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2020-01-06 12:12:12", "2020-01-06 12"),
        (None, "1970-01-01 08"),  # published: 1970-01-01 12:00:00, which the pattern can't even give
    ],
)
def test_text_in_a_zone(value: str | None, expected: str) -> None:
    settings = {
        "timestamp_type": "DATE_STRING",
        "timezone": "GMT+8:00",
        "input_dateformat": "yyyy-MM-dd hh:mm:ss",
        "output_dateformat": "yyyy-MM-dd hh",
    }
    assert path(value, **settings) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (20000, "2024-10-04 12"),
        (None, "1970-01-02 12"),  # published: 1970-01-01 12; but null counts as one unit, here a day
    ],
)
def test_days(value: int | None, expected: str) -> None:
    settings = {
        "timestamp_type": "SCALAR",
        "timestamp_scalar_time_unit": "days",
        "timezone": "GMT",
        "output_dateformat": "yyyy-MM-dd hh",
    }
    assert path(value, **settings) == expected


def test_text_with_an_offset() -> None:
    settings = {
        "timestamp_type": "DATE_STRING",
        "input_dateformat": "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
        "output_timezone": "GMT",
        "output_dateformat": "yyyyMMddHH",
    }
    assert path("2020-04-01T13:01:33.428Z", **settings) == "2020040113"


@pytest.mark.parametrize(
    ("value", "expected"), [("2020-04-01T13:01:33.428Z", "2020040113"), ("2020-04-01T13:01:33-05:00", "2020040118")]
)
def test_one_of_two_patterns(value: str, expected: str) -> None:
    settings = {
        "timestamp_type": "DATE_STRING",
        "input_dateformat": ISO,
        "output_timezone": "UTC",
        "output_dateformat": "yyyyMMddHH",
    }
    assert path(value, **settings) == expected


def test_a_slash_makes_directories() -> None:
    settings = {
        "timestamp_type": "DATE_STRING",
        "input_dateformat": ISO + ",yyyyMMdd",
        "input_timezone": "UTC",
        "output_timezone": "UTC",
        "output_dateformat": "MM/dd/yyyy",
    }
    assert path("20200401", **settings) == "04/01/2020"
