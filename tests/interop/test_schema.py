"""Tables of all types, and tables whose schema changes, written in turn by us and by real Hudi at its defaults.

After every write both must read the same rows (invariant 13 of docs/architecture.md).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.alter import alter_schema
from spark_jobs.core.schema.changes import add_column, drop_column, rename_column, widen_column
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.spark import SparkEngine
from spark_jobs.options.choices import Operation, TableType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.service import CompactionOptions
from spark_jobs.query.read import read as read_by_our_spark
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.write.ingest import ingest
from tests.interop.our_reader import read
from tests.interop.real_hudi import RealHudi
from tests.interop.schema_rows import KEY, PARTITION, PRECOMBINE, STEPS, TYPED, stepped, typed
from tests.interop.tending import assert_hudi_validates, tended_by_hudi
from tests.support.jobs import job_context

META_PREFIX = "_hoodie_"
AT_ONCE = {"hoodie.compact.inline.max.delta.commits": "1"}
ON_READ = {"hoodie.schema.on.read.enable": "true"}
INDEXED = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
ROW_BY_ROW = "spark.sql.parquet.enableVectorizedReader"
TABLES = Path(__file__).resolve().parents[1] / "fixtures" / "schema_tables"
NULLS_IN_LISTS: dict[str, Any] = {
    "words": ["a", None],
    "grid": [None, [None, 1]],
    "stops": [None, {"name": None}],
    "prices": [None],
}
KINDS = pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])


@pytest.fixture
def hudi(real_hudi: RealHudi) -> Iterator[RealHudi]:
    """Real Hudi, its vectorised Parquet reader turned off, which can't read nested types that changed."""
    real_hudi.sql(f"set {ROW_BY_ROW}=false")
    yield real_hudi
    real_hudi.sql(f"reset {ROW_BY_ROW}")


class Table:
    """One table, whoever writes it."""

    def __init__(self, path: Path, table_type: str, hudi: RealHudi, spark: SparkSession) -> None:
        self.path, self.table_type, self.hudi, self.spark = path, table_type, hudi, spark
        self.reading: Mapping[str, str] = {}
        self._sources = 0

    def by_us(self, rows: pa.Table, operation: str = "upsert", options: Mapping[str, str] | None = None) -> None:
        self._sources += 1
        source = self.path.parent / f"source-{self._sources}.parquet"
        pq.write_table(rows, source)
        asked = IngestOptions(
            base_path=str(self.path),
            table_name=self.path.name,
            source_format="parquet",
            source=(str(source),),
            op=Operation(operation),
            table_type=TableType(self.table_type),
            record_key_fields=(KEY,),
            partition_path_fields=(PARTITION,),
            precombine_field=PRECOMBINE,
            hoodie_conf=tuple((options or {}).items()),
        )
        assert ingest(self.spark, asked).instant

    def by_hudi(self, rows: pa.Table, operation: str = "upsert", options: Mapping[str, str] | None = None) -> None:
        given = {
            "hoodie.table.name": self.path.name,
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.datasource.write.recordkey.field": KEY,
            "hoodie.datasource.write.partitionpath.field": PARTITION,
            "hoodie.datasource.write.precombine.field": PRECOMBINE,
            "hoodie.datasource.compaction.async.enable": "true",  # else it compacts whenever it is due
        }
        self.hudi.write(self.path, rows, operation, {**given, **self.reading, **(options or {})})

    def compacted_by_us(self) -> None:
        options = CompactionOptions(base_path=str(self.path), hoodie_conf=tuple(AT_ONCE.items()))
        assert run_compaction(options, job_context(engine=SparkEngine(self.spark))).instant

    def compacted_by_hudi(self) -> None:
        assert self.hudi.compact(self.path, options={**AT_ONCE, **self.reading})

    def check(self, when: str, expected: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
        """The rows of a snapshot by key, read three ways."""
        ours = by_key(read(self.path))
        assert_same(by_key(self.hudi.read(self.path, options=self.reading)), ours, f"Hudi {when}")
        assert_same(by_key(read_by_our_spark(self.spark, str(self.path)).toArrow()), ours, f"our Spark {when}")
        if self.table_type == "MERGE_ON_READ":
            theirs = by_key(self.hudi.read(self.path, "read_optimized", options=self.reading))
            assert_same(theirs, by_key(read(self.path, "read_optimized")), f"Hudi's read_optimized {when}")
        if expected is not None:
            assert_same(ours, expected, f"we {when}")
        return ours


def by_key(rows: pa.Table) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows.to_pylist():
        data = {name: _plain(value) for name, value in row.items() if not name.startswith(META_PREFIX)}
        assert found.setdefault(data[KEY], data) is data, f"{data[KEY]} comes twice"
    return found


def _plain(value: Any) -> Any:
    """A map as a dict: Hudi keeps no order of its entries."""
    is_map = isinstance(value, list) and value and isinstance(value[0], tuple)
    return dict(value) if is_map else value


def assert_same(found: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Mapping[str, Any]], who: str) -> None:
    assert found.keys() == wanted.keys(), who
    for key, row in wanted.items():
        assert found[key].keys() == row.keys(), f"{who}: columns of {key}"
        differing = {name: (found[key][name], value) for name, value in row.items() if found[key][name] != value}
        assert not differing, f"{who}: {key} has (found, wanted) {differing}"


@KINDS
def test_all_types_that_we_wrote(table_type: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path) -> None:
    table = Table(tmp_path / "all", table_type, hudi, spark)
    nulls = pa.Table.from_pylist([{KEY: "k200", PARTITION: 1, PRECOMBINE: 0, **NULLS_IN_LISTS}], schema=TYPED)
    first, second = (
        rows.drop_columns(["huge"])  # Hudi can't keep statistics of more than 30 digits with 15 after the point
        for rows in (pa.concat_tables([typed(range(40)), nulls]), typed(range(0, 50, 3), 1))
    )
    table.by_us(first, "insert", INDEXED)
    assert_hudi_validates(hudi, table.path, "after our insert")
    table.by_us(second, options=INDEXED)
    assert_hudi_validates(hudi, table.path, "after our upsert")
    assert set(HudiTable.open(str(table.path)).config.metadata_partitions) == {"files", "column_stats", "bloom_filters"}
    table.check("after our upsert", by_key(first) | by_key(second))


@KINDS
def test_all_types_in_turn(table_type: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path) -> None:
    """Of the lists only one whose items have a name in Avro: Hudi can't merge a file with two, whoever wrote it."""
    table = Table(tmp_path / "types", table_type, hudi, spark)
    first, second, third, fourth = (
        typed(numbers, revision).drop_columns(["grid", "prices"])
        for revision, numbers in enumerate((range(40), range(0, 50, 3), range(1, 40, 4), range(2, 40, 5)))
    )
    table.by_us(first, "insert")
    expected = by_key(first)
    table.check("after our insert", expected)
    table.by_us(second)
    expected |= by_key(second)
    table.check("after our upsert", expected)
    table.by_hudi(third)  # updates alone, which go to logs: inserts would fill up base files
    expected |= by_key(third)
    table.check("after Hudi's upsert", expected)
    if table_type == "MERGE_ON_READ":
        table.compacted_by_hudi()
        table.check("after Hudi's compaction", expected)
    table.by_us(fourth)
    expected |= by_key(fourth)
    table.check("after our second upsert", expected)
    if table_type == "MERGE_ON_READ":
        table.compacted_by_us()
        table.check("after our compaction", expected)
        fifth = typed(range(3, 40, 6), 4).drop_columns(["grid", "prices"])
        table.by_us(fifth)
        expected |= by_key(fifth)
    tended_by_hudi(hudi, table.path)
    table.check("after Hudi tended it", expected)


@KINDS
def test_schemas_that_change_on_write_in_turn(
    table_type: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(tmp_path / "evolved", table_type, hudi, spark)
    table.by_us(stepped(0, range(24)), "insert")
    table.check("after our insert")
    for step in range(1, len(STEPS)):
        rows = stepped(step, range(step, 24 + step, 4))
        if step % 2:
            table.by_us(rows)
        else:
            table.by_hudi(rows)
        found = table.check(f"after step {step}")
        assert set(found["k003"]) == set(STEPS[step].names)
    if table_type == "MERGE_ON_READ":
        before = table.check("before compaction")
        table.compacted_by_hudi()
        table.check("after Hudi's compaction", before)
    fewer = stepped(0, range(4)).drop_columns(["b"])
    table.by_us(fewer, options={"hoodie.write.set.null.for.missing.columns": "true"})
    assert table.check("after fewer columns")["k001"]["b"] is None
    tended_by_hudi(hudi, table.path)
    table.check("after Hudi tended it")  # its compaction makes 5.1 of a float 5.1 where readers make 5.099999904632568


@pytest.mark.parametrize("name", ["altered_cow", "altered_mor"])
def test_schemas_that_change_on_read_in_turn(name: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path) -> None:
    """Hudi altered the table, we go on: write, alter, compact; then Hudi writes and compacts again."""
    with zipfile.ZipFile(TABLES / f"{name}.zip") as packed:
        packed.extractall(tmp_path)
    table = Table(tmp_path / name, "COPY_ON_WRITE" if name.endswith("cow") else "MERGE_ON_READ", hudi, spark)
    table.reading = ON_READ
    before = table.check("as Hudi left it")
    rows = read(table.path)
    data = rows.select([column for column in rows.column_names if not column.startswith(META_PREFIX)])
    newer = _at(data.slice(0, 2), 100)
    table.by_us(newer)
    expected = before | by_key(newer)
    table.check("after our upsert", expected)

    def change(schema: Any) -> Any:
        schema = rename_column(widen_column(schema, "a", "double"), "a", "a2")
        schema = add_column(drop_column(rename_column(schema, "d.z", "x"), "c2"), "c2", "long", after="id")
        return add_column(schema, "d.z", "string")

    alter_schema(HudiTable.open(str(table.path)), change)
    altered = table.check("after our alteration")
    assert altered["k1"]["c2"] is None
    assert {key: row["a2"] for key, row in altered.items()} == {key: row["a"] for key, row in expected.items()}
    if table.table_type == "MERGE_ON_READ":
        table.compacted_by_us()
        table.check("after our compaction", altered)
    rows = read(table.path)
    data = rows.select([column for column in rows.column_names if not column.startswith(META_PREFIX)])
    theirs = _at(data.slice(1, 3), 200)
    table.by_hudi(theirs)
    expected = altered | by_key(theirs)
    table.check("after Hudi's upsert", expected)
    if table.table_type == "MERGE_ON_READ":
        table.compacted_by_hudi()
        table.check("after Hudi's compaction", expected)
    ours = _at(data.slice(3, 2), 300)
    table.by_us(ours)
    table.check("after our last upsert", expected | by_key(ours))
    tended_by_hudi(hudi, table.path, ON_READ)
    table.check("after Hudi tended it", expected | by_key(ours))


def _at(rows: pa.Table, revision: int) -> pa.Table:
    return rows.set_column(
        rows.column_names.index(PRECOMBINE), PRECOMBINE, pa.repeat(pa.scalar(revision, pa.int64()), rows.num_rows)
    )
