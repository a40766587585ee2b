"""Tables that we or real Hudi bootstrapped, read, updated and tended by both in turn."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.table import HudiTable
from spark_jobs.options import IngestOptions
from spark_jobs.services.validation.run import validate
from spark_jobs.write.ingest import ingest
from tests.interop.our_reader import read
from tests.interop.ours import Ours
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates, tended_by_hudi
from tests.unit.services.bootstrap.sources import CONF, NORTH_STAYS, SCHEMA, all_rows, bootstrap, make_source, rows

pytestmark = pytest.mark.interop


def given(path: Path) -> dict[str, str]:
    """What Hudi is told at a write: what the table has."""
    config = HudiTable.open(str(path)).config
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": config.table_type.value,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.datasource.write.precombine.field": "revision",
        "hoodie.datasource.write.keygenerator.class": config.key_generator_class,
        "hoodie.datasource.write.hive_style_partitioning": str(config.hive_style).lower(),
    }


def plain(table: pa.Table) -> pa.Table:
    """The table's own columns, sorted by key."""
    return table.select(SCHEMA.names).cast(SCHEMA).sort_by("id").combine_chunks().replace_schema_metadata(None)


def meta(table: pa.Table) -> list[dict[str, object]]:
    """The meta columns, sorted by key."""
    names = [name for name in table.schema.names if name.startswith("_hoodie_")]
    found: list[dict[str, object]] = table.select(names).sort_by("_hoodie_record_key").to_pylist()
    return found


def revised(*tables: pa.Table, revision: int) -> pa.Table:
    found = pa.concat_tables(tables)
    return found.set_column(1, "revision", pa.array([revision] * found.num_rows, pa.int64()))


def after(before: pa.Table, changed: pa.Table) -> pa.Table:
    """All rows, of which some were upserted."""
    kept = before.filter(pc.invert(pc.is_in(before["id"], changed["id"].combine_chunks())))
    return plain(pa.concat_tables([kept.select(SCHEMA.names).cast(SCHEMA), changed]))


def upsert(spark: SparkSession, path: Path, changed: pa.Table, scratch: Path) -> None:
    """By our job, as a person runs it who knows the table's path alone."""
    source = scratch / f"{uuid4()}.parquet"
    pq.write_table(changed, source)
    ingest(spark, IngestOptions(base_path=str(path), source_format="parquet", source=(str(source),), hoodie_conf=CONF))


@pytest.mark.parametrize(
    ("table_type", "hive"), [("COPY_ON_WRITE", True), ("MERGE_ON_READ", False)], ids=["cow-hive", "mor-plain"]
)
def test_hudi_and_we_go_on_with_what_we_bootstrapped(
    tmp_path: Path, real_hudi: RealHudi, spark: SparkSession, ours: Ours, table_type: str, hive: bool
) -> None:
    path, source = tmp_path / "t", make_source(tmp_path / "source", hive=hive)
    bootstrap(path, source, NORTH_STAYS, table_type=table_type)
    theirs = real_hudi.read(path)
    assert plain(theirs).equals(plain(all_rows()))
    assert meta(theirs) == meta(read(path))

    mine = revised(rows("north", 1, 2), rows("south", 101, 2), rows("north", 60, 1), revision=1)
    upsert(spark, path, mine, tmp_path)
    expected = after(all_rows(), mine)
    assert plain(read(path)).equals(expected)
    assert plain(real_hudi.read(path)).equals(expected)

    changed = revised(rows("north", 0, 2), rows("south", 100, 2), rows("north", 50, 1), revision=2)
    real_hudi.write(path, changed, "upsert", given(path))
    expected = after(expected, changed)
    assert plain(real_hudi.read(path)).equals(expected)
    assert plain(read(path)).equals(expected)
    assert validate(str(path), deep=True) == []

    tended_by_hudi(real_hudi, path)
    assert plain(real_hudi.read(path)).equals(expected)
    assert plain(read(path)).equals(expected)
    assert validate(str(path), deep=True) == []

    ours.cluster(path)
    ours.clean(path)
    assert plain(real_hudi.read(path)).equals(expected)
    assert validate(str(path), deep=True) == []
    assert_hudi_validates(real_hudi, path, "after our clustering and cleaning")


@pytest.mark.parametrize(("table_type", "mode"), [("MERGE_ON_READ", "METADATA_ONLY"), ("COPY_ON_WRITE", "FULL_RECORD")])
def test_we_go_on_with_what_hudi_bootstrapped(
    tmp_path: Path, real_hudi: RealHudi, spark: SparkSession, ours: Ours, table_type: str, mode: str
) -> None:
    path, source = tmp_path / "t", make_source(tmp_path / "source", hive=False)
    shutil.rmtree(source / ".hidden")  # which Hudi takes too
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.datasource.write.precombine.field": "revision",
        "hoodie.bootstrap.base.path": str(source),
        "hoodie.bootstrap.parallelism": "2",
        "hoodie.bootstrap.mode.selector": "org.apache.hudi.client.bootstrap.selector."
        + ("MetadataOnlyBootstrapModeSelector" if mode == "METADATA_ONLY" else "FullRecordBootstrapModeSelector"),
        "hoodie.bootstrap.full.input.provider": "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider",
    }
    real_hudi.write(path, rows("north", 0, 0), "bootstrap", options, mode="overwrite")
    assert plain(read(path)).to_pylist() == plain(all_rows()).to_pylist()
    mine = revised(rows("north", 1, 2), rows("south", 101, 2), rows("north", 60, 1), revision=1)
    upsert(spark, path, mine, tmp_path)
    expected = after(all_rows(), mine)
    assert plain(read(path)).equals(expected)
    assert plain(real_hudi.read(path)).equals(expected)
    (ours.compact if table_type == "MERGE_ON_READ" else ours.cluster)(path)
    ours.clean(path)
    assert plain(real_hudi.read(path)).equals(expected)
    changed = revised(rows("north", 0, 3), rows("south", 100, 3), revision=2)
    real_hudi.write(path, changed, "upsert", given(path))
    expected = after(expected, changed)
    assert plain(real_hudi.read(path)).equals(expected)
    assert plain(read(path)).equals(expected)
    assert validate(str(path), deep=True) == []
    assert_hudi_validates(real_hudi, path, "after both wrote")
