"""What a line of error shows of a row that doesn't fit."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.write.error_table import message_of

pytestmark = pytest.mark.unit


def row(**given: Any) -> dict[str, Any]:
    return {
        "reason": "INVALID_RECORD_SCHEMA",
        "column": None,
        "message": "it is so:",
        "row": "",
        "place": None,
        **given,
    }


ROW = '{"id": 7, "card": "4111 1111 1111 1111", "amount": "' + "9" * 60 + '"}'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (row(column="id", row=ROW, place="a.csv"), "the first (id=7 of a.csv): it is so"),
        (row(column="id,card", row=ROW), "the first (id=7): it is so"),
        (row(column="amount", row=ROW), f'the first (amount="{"9" * 40}...): it is so'),
        (row(column="other", row=ROW), "the first: it is so"),
        (row(column="id", row="{not whole"), "the first: it is so"),
        (row(row="2,a,\n y" + "x" * 60), f"the first (2,a, y{'x' * 42}...): it is so"),
    ],
)
def test_one_short_value_at_most(given: dict[str, Any], told: str) -> None:
    assert message_of(given, shows_value=True) == told


def test_none_where_none_is_to_be_shown() -> None:
    hidden = message_of(row(column="card", row=ROW, message="4111 is no int", place="a.csv"), shows_value=False)
    assert hidden == (
        "the first (a.csv) is refused as INVALID_RECORD_SCHEMA, by its column card: pyhudi.errors.show.values=false"
    )
