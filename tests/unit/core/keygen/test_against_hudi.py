"""Every answer of real Hudi 0.15.0's key generators (``tests/fixtures/key_generator_answers.json``), row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.config.keys.datasource import HIVE_STYLE, URL_ENCODE
from spark_jobs.core.errors import HudiError
from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import KeySpec, class_of_type
from spark_jobs.core.keygen.zones import local_zone
from tests.hudi_tables import FIXTURES
from tests.unit.core.keygen.questions import CASES, CLASS, KEY_FIELD, PARTITION_FIELD, TYPE, ZONE, table

pytestmark = pytest.mark.unit

ANSWERS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "key_generator_answers.json").read_text(encoding="utf-8"))
REFUSED = {"inferred, types": "Hudi takes text:SIMPLE for the name of a column, which there is not, and so for null"}
"""Cases that this release refuses, and why; Hudi has an answer."""
REFUSED_ROWS = {
    ("partition more", 7): "the partition . is the table's own folder",
    ("complex", 7): "the same below another",
    ("inferred, one and two", 7): "the same",
}
"""The same of single rows."""


@pytest.fixture(autouse=True)
def java_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone that Hudi answered in."""
    monkeypatch.setenv("TZ", ZONE)
    local_zone.cache_clear()
    yield
    local_zone.cache_clear()


def spec_of(options: Mapping[str, str]) -> KeySpec:
    named = options.get(CLASS, "") or (class_of_type(options[TYPE]) if TYPE in options else "")
    return KeySpec.of(
        [name for name in options[KEY_FIELD].split(",") if name],
        [name for name in options[PARTITION_FIELD].split(",") if name],
        hive_style=HIVE_STYLE.of(options),
        url_encode=URL_ENCODE.of(options),
        class_name=named,
        properties=options,
    )


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_hudis(name: str) -> None:
    answer, rows = ANSWERS[name], table()
    expected = answer.get("rows")
    if name in REFUSED or expected is None or all("error" in one for one in expected):
        with pytest.raises(HudiError):
            both(rows, CASES[name])
        return
    spec = spec_of(CASES[name])
    assert spec.class_name == answer["class"]
    bad = [row for row, one in enumerate(expected) if "error" in one or (name, row) in REFUSED_ROWS]
    for row in bad:
        with pytest.raises(HudiError):
            both(rows.slice(row, 1), CASES[name])
    good = [row for row in range(rows.num_rows) if row not in bad]
    assert both(rows.take(pa.array(good)), CASES[name]) == [
        (expected[row]["key"], expected[row]["path"]) for row in good
    ]


_JAVA_TIMES = {
    0: "2020-01-05 23:12:12.123456",
    1: "1969-12-31 19:00:00.0",
    3: "1969-12-31 18:59:59.999999",
    4: "2020-03-08 03:00:00.0",
    5: "2020-01-05 23:12:12.1",
    6: "1900-01-12 05:40:00.0",
    7: "9999-12-31 18:59:59.999999",
}
_NO_KEY = "HoodieKeyException: ['Record key has to be non-null!']"
_NO_DATE = "HoodieNotSupportedException: ['Unexpected type for partition field: java.sql.Date']"
_NO_TIME = "HoodieNotSupportedException: ['Unexpected type for partition field: java.sql.Timestamp']"
_NO_BYTE = "HoodieNotSupportedException: ['Unexpected type for partition field: java.lang.Byte']"
_FILLED = (0, 1, 3, 4, 5, 6, 7)
ON_ROWS: dict[str, dict[int, str]] = {
    # a timestamp is text in the writer's zone, with all its digits
    "key at": _JAVA_TIMES,
    "partition at": _JAVA_TIMES,
    # the same, where the form for Avro has whole milliseconds
    "key at, consistent": {row: _JAVA_TIMES[row] for row in (0, 3, 7)},
    # one key alone, without its name
    "global delete": {
        0: "abc",
        3: "a/b c:d=e%f#g'h\"i*j?k\\l{m}[n]^o",
        4: "ünï|çø 北京",
        5: "x,y:z",
        6: "__null__",
        7: "  ",
    },
    "type GLOBAL_DELETE": {row: f"k{row}" for row in range(8)},
    # times before 1970 are rounded down, and not toward it
    "timestamps, consistent": {3: "1969-12-31 23:59:59.999"},
    "timestamps, consistent text": {3: "1969-12-31 23"},
    # refused: one of several keys is null or empty
    "not partitioned, two keys": dict.fromkeys((3, 4), _NO_KEY),
    "inferred, none": dict.fromkeys((1, 2), _NO_KEY),
    # refused: types of which no times are made
    "every letter of days": dict.fromkeys(_FILLED, _NO_DATE),
    "seconds in day": dict.fromkeys(_FILLED, _NO_DATE),
    "seconds in at": dict.fromkeys(_FILLED, _NO_TIME),
    "timestamps as millis": dict.fromkeys(_FILLED, _NO_TIME),
    "seconds in tiny": dict.fromkeys(_FILLED, _NO_BYTE),
}
"""What Hudi makes of a row of Spark where that is not what it makes of the same row in Avro, which is also ours."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_the_answer_for_rows_of_spark(name: str) -> None:
    """Hudi's bulk_insert asks for it. A row has to have one key in a table, however it came: the one of all other
    operations is ours.
    """
    answered, rows = ANSWERS[name].get("rows") or [], table()
    good = [row for row, one in enumerate(answered) if "error" not in one and (name, row) not in REFUSED_ROWS]
    ours = both(rows.take(pa.array(good, pa.int64())), CASES[name]) if good else []
    other: dict[int, str] = {}
    for row, (key, path) in zip(good, ours, strict=True):
        key_of_row, path_of_row = (answered[row].get(f"row_{part}", answered[row][part]) for part in ("key", "path"))
        if (key_of_row, path_of_row) != (key, path):
            other[row] = (path_of_row if path_of_row != path else key_of_row).split(" <- ")[-1].removeprefix("error: ")
    assert other == ON_ROWS.get(name, {})


def both(rows: pa.Table, options: Mapping[str, str]) -> list[tuple[str, str]]:
    """Key and path of each row."""
    spec = spec_of(options)
    return list(zip(record_keys(rows, spec).to_pylist(), partition_paths(rows, spec).to_pylist(), strict=True))


def test_every_question_has_an_answer() -> None:
    assert list(ANSWERS) == list(CASES)
