"""Tables that we bootstrapped, read and updated by real Hudi."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate
from tests.interop.our_reader import read
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import tended_by_hudi
from tests.unit.services.bootstrap.sources import NORTH_STAYS, SCHEMA, all_rows, bootstrap, make_source, rows

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


@pytest.mark.parametrize(
    ("table_type", "hive"), [("COPY_ON_WRITE", True), ("MERGE_ON_READ", False)], ids=["cow-hive", "mor-plain"]
)
def test_hudi_reads_and_updates_what_we_bootstrapped(
    tmp_path: Path, real_hudi: RealHudi, table_type: str, hive: bool
) -> None:
    path, source = tmp_path / "t", make_source(tmp_path / "source", hive=hive)
    bootstrap(path, source, NORTH_STAYS, table_type=table_type)
    theirs = real_hudi.read(path)
    assert plain(theirs).equals(plain(all_rows()))
    assert meta(theirs) == meta(read(path))

    changed = pa.concat_tables([rows("north", 0, 2), rows("south", 100, 2), rows("north", 50, 1)])
    changed = changed.set_column(1, "revision", pa.array([1] * changed.num_rows, pa.int64()))
    real_hudi.write(path, changed, "upsert", given(path))
    kept = all_rows().filter(pc.invert(pc.is_in(all_rows()["id"], changed["id"].combine_chunks())))
    expected = plain(pa.concat_tables([kept, changed]))
    assert plain(real_hudi.read(path)).equals(expected)
    assert plain(read(path)).equals(expected)
    assert validate(str(path), deep=True) == []

    tended_by_hudi(real_hudi, path)
    assert plain(real_hudi.read(path)).equals(expected)
    assert plain(read(path)).equals(expected)
    assert validate(str(path), deep=True) == []
