"""Tables that Hudi 0.15.0 made, with the properties that older releases would have left: they read the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.java_properties import format_properties, parse_properties
from spark_jobs.core.errors import UnsupportedTableError
from tests.hudi_tables import unpack
from tests.support.folder import Folder, read_parquet

pytestmark = pytest.mark.unit

TABLES = Path(__file__).parents[2] / "fixtures" / "tables"
SINCE = {
    1: ("hoodie.table.version", "hoodie.archivelog.folder"),
    2: ("hoodie.table.recordkey.fields", "hoodie.table.partition.fields", "hoodie.table.base.file.format"),
    3: ("hoodie.table.keygenerator.class", "hoodie.populate.meta.fields"),
    4: ("hoodie.table.checksum", "hoodie.database.name", "hoodie.table.metadata.partitions"),
}
"""Keys by the version that brought them; an older table does not have them."""


@pytest.mark.parametrize("name", ["cow_upserts", "mor_logs", "mor_pending_compaction"])
@pytest.mark.parametrize("version", range(6))
def test_a_table_reads_the_same_with_the_properties_of_its_time(name: str, version: int, root: Folder) -> None:
    path = unpack(f"tables/{name}", root)
    file = path / ".hoodie" / "hoodie.properties"
    newer = {key for since, keys in SINCE.items() if since > version for key in keys}
    properties = {"hoodie.table.version": str(version), **parse_properties(file.read_bytes())}
    properties["hoodie.table.version"] = str(version)
    file.write_bytes(format_properties({key: text for key, text in properties.items() if key not in newer}))

    table = path.table()
    assert table.config.format.version == version
    for query in ("snapshot", "read_optimized"):
        found = table.scan(query=query).to_arrow().sort_by("_hoodie_record_key")
        wanted = read_parquet(TABLES / f"{name}.{query}.parquet").sort_by("_hoodie_record_key")
        assert found.select(wanted.column_names).to_pylist() == wanted.to_pylist()
    with pytest.raises(UnsupportedTableError, match=f"has table version {version}"):
        refuse_unwritable(table.config)
