"""Which payload a write goes by: what was given, what the table says, and where the two must agree."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError, UnsupportedTableError
from spark_jobs.core.merge.payload import OVERWRITE, payload_of
from spark_jobs.core.merge.payloads.fields import OverwriteNonDefaults
from spark_jobs.core.table import HudiTable
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import WriteConfig, resolve
from tests.support.folder import Folder
from tests.unit.core.support import new_table

pytestmark = pytest.mark.unit

MODEL = "org.apache.hudi.common.model."
PARTIAL, NON_DEFAULTS = MODEL + "PartialUpdateAvroPayload", MODEL + "OverwriteNonDefaultsWithLatestAvroPayload"


def resolved(path: Folder, table: HudiTable, **conf: str) -> WriteConfig:
    given = {name.replace("_", "."): value for name, value in conf.items()}
    return resolve(IngestOptions(base_path=str(path), hoodie_conf=tuple(given.items())), table, table.lake)


def test_a_table_with_logs_says_which(root: Folder) -> None:
    table = new_table(root / "t", payload_class=PARTIAL)
    assert resolved(root / "t", table).payload == payload_of(PARTIAL)
    assert resolved(root / "t", table, hoodie_datasource_write_payload_class=PARTIAL).payload == payload_of(PARTIAL)
    with pytest.raises(ConfigError, match=r"payload\.class.*OverwriteNonDefaults"):
        resolved(root / "t", table, hoodie_datasource_write_payload_class=NON_DEFAULTS)
    with pytest.raises(ConfigError, match="COPY_ON_WRITE tables alone"):
        resolved(root / "t", table, pyhudi_payload_function="json:loads")


def test_of_a_table_without_logs_every_write_says_its_own(root: Folder) -> None:
    table = new_table(root / "t", merge_on_read=False)
    assert resolved(root / "t", table).payload is OVERWRITE
    config = resolved(root / "t", table, hoodie_datasource_write_payload_class=NON_DEFAULTS)
    avro = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int", "default": 7}]}
    assert config.payload_with(avro) == OverwriteNonDefaults(defaults={"n": 7})
    with pytest.raises(UnsupportedTableError, match="MySqlDebeziumAvroPayload is not supported"):
        resolved(
            root / "t",
            table,
            hoodie_datasource_write_payload_class=MODEL + "debezium.MySqlDebeziumAvroPayload",
        )


def test_a_table_with_a_merger_of_its_own_is_not_read(root: Folder) -> None:
    properties = {"hoodie.compaction.record.merger.strategy": "00000000-0000-0000-0000-000000000000"}
    schema = pa.schema([("id", pa.string()), ("p", pa.string()), ("ts", pa.int64())])
    table = new_table(root / "t", properties=properties, schema=schema)
    with pytest.raises(ConfigError, match="is the id of a record merger that this release does not have"):
        table.scan().to_arrow()
    with pytest.raises(ConfigError, match="is the id of a record merger that this release does not have"):
        resolved(root / "t", table)
