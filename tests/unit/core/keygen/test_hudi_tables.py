"""Keys and partition paths of tables that Hudi wrote, computed anew from their columns."""

from __future__ import annotations

import pytest

from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.keygen.virtual import virtual_keys_of
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from tests.hudi_tables import OF_HUDI_RS, OTHERS, unpack
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

TYPE = {"hoodie.keygen.timebased.timestamp.type": "DATE_STRING"}


VIRTUAL = "mor-parquet-v6_simplekeygen_hivestyle_no_metafields"


@pytest.mark.parametrize("name", [one for one in OF_HUDI_RS if one not in ("cow-v6_empty", VIRTUAL)])
def test_keys_are_what_hudi_stored(root: Folder, name: str) -> None:
    table = unpack(f"{OTHERS}/{name}", root).table()
    config, rows = table.config, table.scan().to_arrow()
    spec = KeySpec.of(
        config.record_key_fields,
        config.partition_fields,
        hive_style=config.hive_style,
        url_encode=config.url_encode,
        class_name=config.key_generator_class,
        properties={**config.properties, **TYPE},
    )
    assert rows.num_rows > 0
    assert record_keys(rows, spec).to_pylist() == rows.column(RECORD_KEY).to_pylist()
    assert partition_paths(rows, spec).to_pylist() == rows.column(PARTITION_PATH).to_pylist()


def test_virtual_keys(root: Folder) -> None:
    table = unpack(f"{OTHERS}/{VIRTUAL}", root).table()
    spec = virtual_keys_of(table.config)
    assert spec is not None
    rows = table.scan().to_arrow()
    assert rows.column(RECORD_KEY).null_count == rows.num_rows
    assert sorted(record_keys(rows, spec).to_pylist()) == ["1", "2", "3", "4"]
    assert sorted(set(partition_paths(rows, spec).to_pylist())) == table.partitions()
