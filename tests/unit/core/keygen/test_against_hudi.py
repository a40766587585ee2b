"""Every answer of real Hudi 0.15.0's key generators (``tests/fixtures/key_generator_answers.json``), row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.config.table_keys import HIVE_STYLE, URL_ENCODE
from spark_jobs.core.errors import HudiError
from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import KeySpec, class_of_type
from spark_jobs.core.keygen.zones import local_zone
from tests.unit.core.keygen.questions import CASES, CLASS, KEY_FIELD, PARTITION_FIELD, TYPE, ZONE, table

pytestmark = pytest.mark.unit

ANSWERS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "key_generator_answers.json").read_text(encoding="utf-8")
)
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


def both(rows: pa.Table, options: Mapping[str, str]) -> list[tuple[str, str]]:
    """Key and path of each row."""
    spec = spec_of(options)
    return list(zip(record_keys(rows, spec).to_pylist(), partition_paths(rows, spec).to_pylist(), strict=True))


def test_every_question_has_an_answer() -> None:
    assert list(ANSWERS) == list(CASES)
