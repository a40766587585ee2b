"""Every payload class beside real Hudi 0.15.0: the same changes by both sides, in both orders, rows compared.

All tables of one type start as copies of one that we wrote; a MERGE_ON_READ copy gets its payload class by a line of
``hoodie.properties``.
"""

from __future__ import annotations

import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation, TableType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.ingest import ingest
from tests.interop.our_reader import read
from tests.interop.ours import COMPACT_AT_ONCE, Ours
from tests.interop.real_hudi import RealHudi

MODEL = "org.apache.hudi.common.model."
PAYLOADS = (
    "OverwriteWithLatestAvroPayload",
    "DefaultHoodieRecordPayload",
    "EventTimeAvroPayload",
    "FirstValueAvroPayload",
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "PartialUpdateAvroPayload",
    "AWSDmsAvroPayload",
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("p", pa.string()),
        ("ts", pa.int64()),
        ("a", pa.string()),
        ("b", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("Op", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
KINDS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.parquet.small.file.limit": "0",  # changes of stored keys go to logs, not to a base file that takes inserts
    "hoodie.datasource.compaction.async.enable": "true",  # no compaction on the way
}
Change = tuple[int | None, str | None, int | None, str]
"""Ordering value, two fields, and what it is: ``.`` a record, ``X`` marked as a delete, else the value of Op."""

BASE: dict[str, Change] = {f"k{number:02}": (5, "a0", 0, ".") for number in range(22)} | {
    "k04": (5, None, 0, "."),
    "k15": (None, "a0", 0, "."),
    "k16": (None, "a0", 0, "."),
}
FIRST: dict[str, list[Change]] = {
    "k01": [(6, "a1", None, ".")],
    "k02": [(5, "a1", None, ".")],
    "k03": [(4, "late", None, ".")],
    "k04": [(4, "fills", 1, ".")],
    "k05": [(6, None, None, "X")],
    "k06": [(4, None, None, "X")],
    "k07": [(5, None, None, "X")],
    "k08": [(7, "x", None, "."), (6, None, 8, ".")],
    "k09": [(7, "first", None, "."), (7, None, 9, ".")],
    "k10": [(7, "x", 1, "."), (8, None, None, "X")],
    "k11": [(8, None, None, "X"), (7, "x", 1, ".")],
    "k12": [(7, None, None, "X"), (8, "x", 1, ".")],
    "k13": [(6, "a1", 1, "D")],
    "k14": [(4, "a1", 1, "d")],
    "k15": [(1, "a1", None, ".")],
    "k16": [(1, None, None, "X")],
    "k17": [(6, "one", None, "."), (8, None, 2, "."), (7, "late", 3, "U")],
    "k18": [(6, "a1", 1, "I")],
    "k19": [(7, "a1", None, ".")],
    "n01": [(1, "new", None, ".")],
    "n02": [(1, "new", None, "X")],
    "n03": [(2, "two", None, "."), (1, None, 1, ".")],
}
SECOND: dict[str, list[Change]] = {
    "k01": [(6, None, 1, ".")],
    "k02": [(4, "late", None, ".")],
    "k03": [(5, None, None, ".")],
    "k04": [(5, None, 2, ".")],
    "k06": [(6, "a2", None, ".")],
    "k08": [(5, None, None, "X")],
    "k09": [(9, None, None, "X")],
    "k12": [(7, "late", 7, "."), (7, None, 8, ".")],
    "k17": [(7, None, None, "."), (8, None, 5, ".")],
    "k18": [(9, "a2", 2, "D")],
    "k19": [(6, "late", 7, "U")],
    "k20": [(6, None, 3, ".")],
    "n01": [(1, None, 1, ".")],
    "n03": [(1, "late", 9, ".")],
}

A0, LATE, A1 = ("a0", 0), ("late", None), ("a1", None)
TELLING: dict[str, tuple[tuple[str, int | None] | None, ...]] = {
    # k02: equal value, k03: late, k06: late delete, k13: Op says D
    "OverwriteWithLatestAvroPayload": (A1, LATE, None, ("a1", 1)),
    "DefaultHoodieRecordPayload": (A1, A0, A0, ("a1", 1)),
    "EventTimeAvroPayload": (A1, A0, None, ("a1", 1)),
    "FirstValueAvroPayload": (A0, A0, A0, ("a1", 1)),
    "OverwriteNonDefaultsWithLatestAvroPayload": (("a1", 0), ("late", 0), None, ("a1", 1)),
    "PartialUpdateAvroPayload": (("a1", 0), A0, None, ("a1", 1)),
    "AWSDmsAvroPayload": (A1, LATE, None, None),
}


def rows_of(changes: dict[str, list[Change]]) -> pa.Table:
    rows = [
        {
            "id": key,
            "p": "p1",
            "ts": ts,
            "a": a,
            "b": b,
            "tags": None if a is None else [a, "t"],
            "Op": kind if kind not in ".X" else None,
            "_hoodie_is_deleted": True if kind == "X" else None,
        }
        for key, some in changes.items()
        for ts, a, b, kind in some
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def found(table: pa.Table) -> dict[str, dict[str, Any]]:
    rows = table.select(SCHEMA.names).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


class Sides:
    """Who writes: us or Hudi, one of each for all tables."""

    def __init__(self, spark: SparkSession, hudi: RealHudi, scratch: Path) -> None:
        self._spark, self._hudi, self._scratch = spark, hudi, scratch

    def by_us(
        self, path: Path, rows: pa.Table, payload: str, operation: str = "upsert", kind: str = "", ordering: str = "ts"
    ) -> None:
        source = self._scratch / "rows.parquet"
        pq.write_table(rows, source)
        options = IngestOptions(
            base_path=str(path),
            table_name="payloads",
            source_format="parquet",
            source=(str(source),),
            op=Operation(operation),
            table_type=TableType(kind) if kind else None,
            hoodie_conf=tuple(
                {
                    **KINDS,
                    "hoodie.datasource.write.precombine.field": ordering,
                    "hoodie.datasource.write.payload.class": MODEL + payload,
                }.items()
            ),
        )
        ingest(self._spark, options)

    def by_hudi(self, path: Path, rows: pa.Table, payload: str, *, ordering: str = "ts") -> None:
        kind = "MERGE_ON_READ" if "merge" in path.name else "COPY_ON_WRITE"
        options = {
            **KINDS,
            "hoodie.table.name": "payloads",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.precombine.field": ordering,
            "hoodie.datasource.write.payload.class": MODEL + payload,
        }
        self._hudi.write(path, rows, "upsert", options)


@pytest.fixture(scope="module")
def sides(spark: SparkSession, real_hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    return Sides(spark, real_hudi, tmp_path_factory.mktemp("payloads"))


@pytest.fixture(scope="module")
def base(sides: Sides, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A table of each type with the rows that the changes meet."""
    folder = tmp_path_factory.mktemp("base")
    rows = rows_of({key: [change] for key, change in BASE.items()})
    made = {}
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        made[kind] = folder / kind
        sides.by_us(made[kind], rows, PAYLOADS[0], "bulk_insert", kind)
    return made


def copy_of(base: Path, path: Path, payload: str) -> Path:
    shutil.copytree(base, path)
    properties = path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace(MODEL + PAYLOADS[0], MODEL + payload))
    return path


@pytest.mark.parametrize("payload", PAYLOADS)
def test_incoming_records_over_base_files(payload: str, tmp_path: Path, base: dict[str, Path], sides: Sides) -> None:
    one = copy_of(base["COPY_ON_WRITE"], tmp_path / "copy-one", payload)
    other = copy_of(base["COPY_ON_WRITE"], tmp_path / "copy-other", payload)
    sides.by_us(one, rows_of(FIRST), payload)
    sides.by_hudi(other, rows_of(FIRST), payload)
    told = found(read(other))
    assert found(read(one)) == told
    kept = [told.get(key) for key in ("k02", "k03", "k06", "k13")]
    assert tuple(each and (each["a"], each["b"]) for each in kept) == TELLING[payload]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_logs_over_logs_and_base_files(
    payload: str, tmp_path: Path, base: dict[str, Path], sides: Sides, real_hudi: RealHudi, ours: Ours
) -> None:
    one = copy_of(base["MERGE_ON_READ"], tmp_path / "merge-one", payload)
    other = copy_of(base["MERGE_ON_READ"], tmp_path / "merge-other", payload)
    sides.by_us(one, rows_of(FIRST), payload)
    sides.by_hudi(other, rows_of(FIRST), payload)
    sides.by_hudi(one, rows_of(SECOND), payload)
    sides.by_us(other, rows_of(SECOND), payload)
    told = found(real_hudi.read(other))
    assert found(read(other)) == told
    assert found(read(one)) == told
    assert found(real_hudi.read(one)) == told
    some = read(other).select(["id", "a"])
    assert found_columns(other, ["id", "a"]) == some.sort_by("id").to_pylist()
    ours.compact(one)
    real_hudi.compact(other, options=COMPACT_AT_ONCE)
    assert found(read(one, "read_optimized")) == told
    assert found(read(other, "read_optimized")) == told


ORDERINGS: dict[str, tuple[Any, Any, dict[str, str]]] = {
    # column: a lesser and a greater value, and what is left of the changes below
    "text": ("a", "b", {"k0": "base", "late record": "first", "later record": "second"}),
    "day": (date(1960, 1, 1), date(2024, 5, 1), {"k0": "base", "late record": "first", "later record": "second"}),
    "amount": (Decimal("-1.5"), Decimal("2.5"), {"k0": "base", "late record": "second", "later record": "first"}),
}
"""A late delete wins in all of them, and Hudi compares decimals in logs as if they had no sign."""
WITH_ORDERINGS = pa.schema(
    [
        ("id", pa.string()),
        ("p", pa.string()),
        ("v", pa.string()),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("amount", pa.decimal128(12, 2)),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)


def ordered_rows(v: str, greater: dict[str, bool], deleted: tuple[str, ...] = ()) -> pa.Table:
    rows = [
        {
            "id": key,
            "p": "p1",
            "v": v,
            **{name: pair[1 if high else 0] for name, pair in ORDERINGS.items()},
            "_hoodie_is_deleted": key in deleted,
        }
        for key, high in greater.items()
    ]
    return pa.Table.from_pylist(rows, schema=WITH_ORDERINGS)


def test_orderings_that_logs_compare_in_their_own_way(tmp_path: Path, sides: Sides, real_hudi: RealHudi) -> None:
    base = tmp_path / "base"
    changed = ("late delete", "late record", "later record", "later delete")
    rows = ordered_rows("base", dict.fromkeys(("k0", *changed), False))
    sides.by_us(base, rows, PAYLOADS[0], "bulk_insert", "MERGE_ON_READ", "text")
    first = dict(zip(changed, (True, True, False, True), strict=True))
    sides.by_us(base, ordered_rows("first", first), PAYLOADS[0], ordering="text")
    second = dict(zip(changed, (False, False, True, True), strict=True))
    late = ordered_rows("second", second, ("late delete", "later delete"))
    for column, (_, _, left) in ORDERINGS.items():
        path = tmp_path / f"merge-{column}"
        shutil.copytree(base, path)
        properties = path / ".hoodie" / "hoodie.properties"
        properties.write_text(properties.read_text().replace("precombine.field=text", f"precombine.field={column}"))
        sides.by_hudi(path, late, PAYLOADS[0], ordering=column)
        for table in (real_hudi.read(path), read(path)):
            assert {row["id"]: row["v"] for row in table.select(["id", "v"]).to_pylist()} == left, column


def found_columns(path: Path, columns: list[str]) -> list[dict[str, Any]]:
    """What a query of some columns gives, which merges these and those that decide."""
    rows: list[dict[str, Any]] = HudiTable.open(str(path)).scan(columns=columns).to_arrow().sort_by("id").to_pylist()
    return rows
