"""Real Hudi's key generators asked anew, and tables of each generator written in turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.keygen.spec import PACKAGE, Generator
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.ingest import ingest
from tests.interop.flights import sample
from tests.interop.lines import ServerError
from tests.interop.our_reader import read
from tests.interop.ours import Ours
from tests.interop.real_hudi import ROOT, RealHudi
from tests.interop.tending import tended_by_hudi
from tests.unit.core.keygen.questions import CASES, ZONE, table

DAY = 86_400_000
TIME = "hoodie.keygen.timebased."
CLASS = "hoodie.datasource.write.keygenerator.class"
POPULATE = "hoodie.populate.meta.fields"
KEY, PATH = "hoodie.datasource.write.recordkey.field", "hoodie.datasource.write.partitionpath.field"
MILLIS = {
    TIME + "timestamp.type": "EPOCHMILLISECONDS",
    TIME + "output.dateformat": "yyyy/MM/dd",
    TIME + "timezone": "GMT+8:00",
}
DAYS = {**MILLIS, TIME + "output.dateformat": "yyyyMMdd"}
"""Without slashes: Hudi can't read a table of several partition columns whose values have some."""

GENERATORS: dict[str, dict[str, str]] = {
    "simple": {KEY: "id", PATH: "city"},
    "complex": {KEY: "id,city", PATH: "city,flag", "hoodie.datasource.write.hive_style_partitioning": "true"},
    "not partitioned": {KEY: "id", PATH: "", CLASS: PACKAGE + Generator.NON_PARTITIONED},
    "time-based": {KEY: "id", PATH: "at", CLASS: PACKAGE + Generator.TIMESTAMP, **MILLIS},
    "custom": {KEY: "id", PATH: "city:SIMPLE,at:TIMESTAMP", CLASS: PACKAGE + Generator.CUSTOM, **DAYS},
    "url-encoded": {KEY: "id", PATH: "place", "hoodie.datasource.write.partitionpath.urlencode": "true"},
}


def cities(count: int = 60, revision: int = 0) -> pa.Table:
    """Rows with partition values that need escapes, and some without any."""
    names, places = ["Rio", "a b", None, "100 percent"], ["x:y/z", "", None, "100%"]
    return pa.table(
        {
            "id": [f"k{number}" for number in range(count)],
            "city": [names[number % len(names)] for number in range(count)],
            "place": [places[number % len(places)] for number in range(count)],
            "flag": [number % 2 == 0 for number in range(count)],
            "at": pa.array([18_000 * DAY + (number % 3) * DAY for number in range(count)]),
            "revision": pa.array([revision] * count, pa.int64()),
        }
    )


def options(path: Path, generator: Mapping[str, str], table_type: str = "COPY_ON_WRITE") -> dict[str, str]:
    return {
        "hoodie.table.name": path.name,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.precombine.field": "revision",
        **generator,
    }


def by_us(spark: SparkSession, path: Path, rows: pa.Table, operation: str, given: Mapping[str, str]) -> None:
    """Our write by Hudi's own keys alone."""
    source = path.parent / f"{uuid4()}.parquet"
    pq.write_table(rows, source)
    options = IngestOptions(
        base_path=str(path),
        source_format="parquet",
        source=(str(source),),
        op=Operation(operation),
        hoodie_conf=tuple(given.items()),
    )
    ingest(spark, options)


def rows_of(found: pa.Table, *, meta: bool) -> list[dict[str, Any]]:
    names = ["id", "city", "place", "flag", "at", "revision", *([RECORD_KEY, PARTITION_PATH] if meta else [])]
    return sorted(found.select(names).to_pylist(), key=lambda row: str(row["id"]))


def test_hudis_answers_are_still_these(
    another_hudi: Callable[[str | None], RealHudi], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", ZONE)
    hudi = another_hudi(None)
    found = hudi.ask("keys", source=str(hudi.stage(table())), cases=list(CASES.values()))
    kept = json.loads((ROOT / "tests" / "fixtures" / "key_generator_answers.json").read_text(encoding="utf-8"))
    assert dict(zip(CASES, found, strict=True)) == kept


@pytest.mark.parametrize("first", ["ours", "hudi"])
@pytest.mark.parametrize("name", GENERATORS)
def test_tables_in_turn(tmp_path: Path, real_hudi: RealHudi, spark: SparkSession, name: str, first: str) -> None:
    """Both write the table in turn, then Hudi tends it: keys, paths and rows stay one."""
    path = tmp_path / "cities"
    given = options(path, GENERATORS[name], "MERGE_ON_READ" if first == "ours" else "COPY_ON_WRITE")
    rows, more = cities(), cities(80)
    second = sample(cities(80, 1), 0, 3)
    if first == "ours":
        by_us(spark, path, rows, "bulk_insert", given)
        real_hudi.write(path, second, "upsert", given)
        by_us(spark, path, sample(cities(80, 2), 0, 6), "upsert", given)
    else:
        real_hudi.write(path, rows, "bulk_insert", given)
        by_us(spark, path, second, "upsert", given)
        real_hudi.write(path, sample(cities(80, 2), 0, 6), "upsert", given)
    expected = {row["id"]: row for row in rows.to_pylist()}
    for change in (second, sample(cities(80, 2), 0, 6)):
        expected |= {row["id"]: row for row in change.to_pylist()}
    assert set(expected) <= set(more.column("id").to_pylist())
    ours_now = rows_of(read(path), meta=True)
    assert [{key: row[key] for key in rows.column_names} for row in ours_now] == [
        expected[key] for key in sorted(expected)
    ]
    # Hudi's reader gives the folder's name for the value of the partition column: a time's text, null for empty text
    shown = ("id", "flag", "revision", RECORD_KEY, PARTITION_PATH)
    theirs = rows_of(real_hudi.read(path), meta=True)
    assert [[row[name] for name in shown] for row in theirs] == [[row[name] for name in shown] for row in ours_now]
    tended_by_hudi(real_hudi, path)
    assert rows_of(read(path), meta=True) == ours_now
    assert rows_of(real_hudi.read(path), meta=True) == theirs


@pytest.mark.parametrize("name", GENERATORS)
def test_a_table_of_ours_says_what_hudis_says(
    tmp_path: Path, real_hudi: RealHudi, spark: SparkSession, name: str
) -> None:
    """``hoodie.properties`` of a new table, but for what each writer does otherwise (the metadata table)."""
    stored = []
    for writer in ("ours", "hudi"):
        path = tmp_path / writer / "cities"
        path.parent.mkdir()
        given = options(path, GENERATORS[name])
        if writer == "ours":
            by_us(spark, path, cities(), "insert", given)
        else:
            real_hudi.write(path, cities(), "insert", given)
        properties = HudiTable.open(str(path)).config.properties
        stored.append({key: value for key, value in properties.items() if "metadata" not in key})
    assert stored[0] == stored[1]


@pytest.mark.parametrize(
    ("name", "table_type"),
    [
        ("simple", "COPY_ON_WRITE"),
        ("simple", "MERGE_ON_READ"),
        ("complex", "COPY_ON_WRITE"),
        ("not partitioned", "COPY_ON_WRITE"),
    ],
)
def test_virtual_keys_in_turn(
    tmp_path: Path, real_hudi: RealHudi, ours: Ours, spark: SparkSession, name: str, table_type: str
) -> None:
    """Hudi upserts our table, we upsert Hudi's and compact it, and cluster ours."""
    expected: dict[str, dict[str, Any]] = {}
    for first in ("ours", "hudi"):
        path = tmp_path / first / "cities"
        path.parent.mkdir()
        generator = {CLASS: PACKAGE + Generator.COMPLEX if name == "complex" else PACKAGE + Generator.SIMPLE}
        given = options(path, {**generator, **GENERATORS[name], POPULATE: "false"}, table_type)
        turns = ["ours", "hudi"] if first == "ours" else ["hudi", "ours"]
        expected = {}
        for number in range(3):
            changes = sample(cities(80, number), 0, number + 1)
            if turns[number % 2] == "ours":
                by_us(spark, path, changes, "upsert", given)
            else:
                real_hudi.write(path, changes, "upsert", given)
            expected |= {row["id"]: row for row in changes.to_pylist()}
        _check(path, real_hudi, expected)
        if table_type == "MERGE_ON_READ":
            ours.compact(path)  # Hudi's own procedure fails on such a table: it doesn't tell its writer of the key
        elif first == "ours":
            ours.cluster(path, "id")
        _check(path, real_hudi, expected)
        last = sample(cities(80, 9), 1, 5)
        real_hudi.write(path, last, "upsert", given)
        by_us(spark, path, sample(last, 0, 2), "delete", given)
        expected |= {row["id"]: row for row in last.to_pylist()}
        for key in sample(last, 0, 2).column("id").to_pylist():
            del expected[key]
        _check(path, real_hudi, expected)
        tended_by_hudi(real_hudi, path, compacts=False)
        _check(path, real_hudi, expected)


def _check(path: Path, hudi: RealHudi, expected: Mapping[str, Mapping[str, Any]]) -> None:
    wanted = [dict(expected[key]) for key in sorted(expected)]
    assert rows_of(read(path), meta=False) == wanted
    assert rows_of(hudi.read(path), meta=False) == wanted


def test_what_hudi_refuses_of_virtual_keys(tmp_path: Path, real_hudi: RealHudi, spark: SparkSession) -> None:
    """The restrictions that ours copy."""
    path = tmp_path / "cities"
    given = options(path, GENERATORS["simple"])
    by_us(spark, path, cities(), "insert", {**given, POPULATE: "false"})
    with pytest.raises(ServerError):
        real_hudi.write(path, cities(), "upsert", {**given, POPULATE: "true"})
    with pytest.raises(ServerError, match="Incremental queries are not supported when meta fields are disabled"):
        real_hudi.read(path, "incremental", begin="000")
    time_based = options(tmp_path / "times", {**GENERATORS["time-based"], POPULATE: "false"})
    with pytest.raises(ServerError, match="Only simple, non-partitioned or complex key generator are supported"):
        real_hudi.write(tmp_path / "times", cities(), "upsert", time_based)


def test_hudi_can_not_read_logs_with_virtual_keys_of_several_columns(tmp_path: Path, real_hudi: RealHudi) -> None:
    """Why no such table is made here."""
    path = tmp_path / "cities"
    given = options(path, {**GENERATORS["complex"], POPULATE: "false"}, "MERGE_ON_READ")
    for revision in range(2):
        real_hudi.write(path, cities(20, revision), "upsert", given)
    with pytest.raises(ServerError, match="IllegalStateException"):
        real_hudi.read(path)
