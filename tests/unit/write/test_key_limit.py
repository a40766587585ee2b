"""Record keys that are too long for where a write puts them are refused as the keys are made."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.files.hfile.format import MAX_ROW_BYTES
from spark_jobs.core.files.hfile.row_limits import LOG_BLOCK_LIMIT, RECORD_INDEX_LIMIT
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_format import LogFormat
from spark_jobs.core.files.log_writer import data_blocks
from spark_jobs.core.keygen.key_limit import KeyLimit
from spark_jobs.core.keygen.keys import record_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.options.choices import Operation
from spark_jobs.write.key_limit import key_limit
from tests.unit.core.support import AVRO_WITH_META, SCHEMA

pytestmark = pytest.mark.unit

INDEXED = {"hoodie.metadata.record.index.enable": "true"}
HFILE = {"hoodie.logfile.data.block.format": "hfile"}
BUCKET = {"hoodie.index.type": "BUCKET"}


@pytest.mark.parametrize(
    ("operation", "merge_on_read", "conf", "limit"),
    [
        (Operation.UPSERT, False, {}, None),
        (Operation.UPSERT, True, {}, None),
        (Operation.UPSERT, False, INDEXED, RECORD_INDEX_LIMIT),
        (Operation.BULK_INSERT, True, INDEXED, RECORD_INDEX_LIMIT),
        (Operation.UPSERT, False, {**INDEXED, "hoodie.metadata.enable": "false"}, None),
        (Operation.UPSERT, False, HFILE, None),
        (Operation.UPSERT, True, HFILE, LOG_BLOCK_LIMIT),
        (Operation.INSERT, True, HFILE, None),  # new records go to base files
        (Operation.INSERT, True, {**HFILE, **BUCKET}, LOG_BLOCK_LIMIT),
        (Operation.DELETE, True, {**HFILE, **INDEXED}, None),
    ],
)
def test_which_writes_have_a_limit(
    operation: Operation, merge_on_read: bool, conf: dict[str, str], limit: KeyLimit | None
) -> None:
    assert key_limit(conf, operation, merge_on_read=merge_on_read) == limit


def test_keys_are_measured_in_bytes() -> None:
    spec = KeySpec.of(["id"], [], hive_style=False, url_encode=False)
    limited = pickle.loads(pickle.dumps(replace(spec, limit=LOG_BLOCK_LIMIT)))
    longest = "é" * (MAX_ROW_BYTES // 2) + "x"
    fits = pa.table({"id": ["a", longest]})
    assert record_keys(fits, limited).to_pylist() == ["a", longest]
    too_long = pa.table({"id": ["a", f"{longest}x"]})
    assert record_keys(too_long, spec).to_pylist() == ["a", f"{longest}x"]
    with pytest.raises(BadRecordError) as raised:
        record_keys(too_long, limited)
    assert str(raised.value) == (
        "a record key has 32768 bytes, and an HFile log block (hoodie.logfile.data.block.format) takes 32767 at most: "
        "make the key shorter, or write with hoodie.logfile.data.block.format=avro"
    )


def test_a_rewrite_of_logs_says_the_same() -> None:
    """Of a log compaction, whose keys no write looks at."""
    row = {**dict.fromkeys(SCHEMA.names), RECORD_KEY: "k" * 40_000, PARTITION_PATH: "a", "id": "k", "ts": 1}
    rows = pa.Table.from_pylist([row], schema=SCHEMA)
    hfile = LogFormat(data_block=BlockType.HFILE_DATA_BLOCK)
    with pytest.raises(BadRecordError, match="a record key has 40000 bytes, and an HFile log block"):
        list(data_blocks(rows, AVRO_WITH_META, "1", hfile))
    assert len(list(data_blocks(rows, AVRO_WITH_META, "1", LogFormat()))) == 1
